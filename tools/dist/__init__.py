"""Releases: the source distribution, the wheels, the Debian packages, and `make install`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

GLIBC = "2.28"
"""The oldest glibc on which the built programs run; numpy and polars need it, too."""

DEBIAN_PYTHON = "3.11"
"""The Python of the Debian release that the Debian packages are for (12, bookworm)."""


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """A kind of processor, by the name of the kernel and by that of Debian."""

    machine: str
    debian: str

    @property
    def triple(self) -> str:
        """The target of rustc."""
        return f"{self.machine}-unknown-linux-gnu"


ARCHITECTURES = (
    Architecture(machine="x86_64", debian="amd64"),
    Architecture(machine="aarch64", debian="arm64"),
)


class Missing(Exception):
    """This machine lacks something that a build needs."""


def call(command: Sequence[str | Path], cwd: Path, env: Mapping[str, str] | None = None) -> None:
    """Run a program and show its output; one that fails ends the build."""
    shown = " ".join(str(word) for word in command)
    click.echo(f"$ {shown if len(shown) < 200 else shown[:200] + ' ...'}", err=True)
    try:
        subprocess.run(command, cwd=cwd, env={**os.environ, **(env or {})}, check=True)
    except FileNotFoundError:
        raise Missing(str(command[0])) from None
    except subprocess.CalledProcessError as error:
        raise click.ClickException(f"`{shown}` failed with status {error.returncode}") from error


def text_of(command: Sequence[str | Path], cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """The standard output of a program."""
    full = {**os.environ, **(env or {})}
    done = subprocess.run(command, cwd=cwd, env=full, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout

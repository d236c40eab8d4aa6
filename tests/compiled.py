"""What tests compile.

eBPF objects from tests/objects, the crate of a controller in Rust, and programs of the project.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from fairhaul.scenario.template import library_of, new_controller
from tools import ROOT

OBJECTS = ROOT / "tests" / "objects"
BUILT = ROOT / "target" / "test-objects"
FLAGS = ("-O2", "-g", "-target", "bpf", "-mcpu=v3", "-ffreestanding", "-Wall", "-Wextra", "-Werror")
# What the build gives to the sources of ports.
PORT = '-DFAIRHAUL_VERSION="test"'


@cache
def documented_object(page: str = "idea") -> Path:
    """Compile the object that a page of the documentation shows."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    BUILT.mkdir(parents=True, exist_ok=True)
    source = BUILT / f"{page}.{os.getpid()}.bpf.c"
    source.write_text(text.partition("```c\n")[2].partition("```")[0])
    return compiled_by_clang(source, page)


@cache
def bpf_object(name: str) -> Path:
    """Compile tests/objects/NAME.bpf.c."""
    return compiled_by_clang(OBJECTS / f"{name}.bpf.c", name)


def compiled_by_clang(source: Path, name: str) -> Path:
    """Compile an object; without clang the test is skipped, and fails as root."""
    clang = shutil.which("clang")
    if clang is None:
        assert os.geteuid() != 0, "the scripts install clang where they may"
        pytest.skip("clang is not installed")
    BUILT.mkdir(parents=True, exist_ok=True)
    target = BUILT / f"{name}.{os.getpid()}.bpf.o"
    command = [clang, *FLAGS, PORT, "-c", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@cache
def crate(name: str, place: str = "shared", old: str = "", new: str = "") -> Path:
    """Make the crate of a controller, compile it, and give the path of the library.

    In its source `new` stands instead of `old`. The folder `place` stays for the next tests: cargo
    compiles what has changed, as for a user.
    """
    kept = BUILT / "crates" / place / name
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, alone(kept.parent):
        made = new_controller(name, Path(folder))
        source = made / "src" / "lib.rs"
        source.write_text(source.read_text().replace(old or new, new))
        for file in filter(Path.is_file, made.rglob("*")):
            target = kept / file.relative_to(made)
            if not target.exists() or target.read_bytes() != file.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
        build(kept)
    return kept / library_of(name)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Exclude other processes with tests from a folder."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def build(crate: Path) -> None:
    """Compile a crate, as a user does."""
    command = [_cargo(), "build", "--release", "--quiet"]
    done = subprocess.run(command, cwd=crate, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def example(name: str) -> Path:
    """Build an example of the project."""
    return _built("--example", name) / "examples" / name


def program(name: str) -> Path:
    """Build a program of the project."""
    return _built("--bin", name) / name


@cache
def _built(kind: str, name: str) -> Path:
    """Build a target with the crates and the profile of `scripts/suite`, which has built it before.

    Give the folder of what is built. An example beside it lets cargo enable the features that tests
    need, so that no library is built twice.
    """
    excluded = subprocess.run(
        [ROOT / "scripts" / "host", "excluded"], capture_output=True, text=True, check=True
    ).stdout.split()
    crates = ["--workspace", "--exclude", "fairhaul-py", *excluded]
    options = ["--quiet", "--locked", "--profile", "test", "--example", "objects"]
    subprocess.run([_cargo(), "build", *options, *crates, kind, name], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"


def _cargo() -> str:
    return shutil.which("cargo") or str(Path.home() / ".cargo" / "bin" / "cargo")

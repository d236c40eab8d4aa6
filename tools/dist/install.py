"""`make install` and `make uninstall`: the layout of the Debian package below another prefix."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import click

from tools import ROOT
from tools.bench.cost import with_rust
from tools.dist import call
from tools.dist.layout import Installation, lay_out
from tools.dist.private import make, seal

LIST = "lib/fairhaul/installed-files"
"""The names of the files outside of `lib/fairhaul`, which `uninstall` removes."""


def install(prefix: Path, destination: Path) -> None:
    """Install the wheel of this checkout, with the Python of its environment.

    Args:
        prefix: the folder in which it will be.
        destination: what stands for `/` now.
    """
    there = _installation(prefix, destination)
    if there.at("lib/fairhaul").exists():
        remove(prefix, destination)
    with tempfile.TemporaryDirectory() as folder:
        options = ("--release", "--locked", "--interpreter", sys.executable)
        call(
            [sys.executable, "-m", "maturin", "build", *options, "--out", folder], ROOT, with_rust()
        )
        (wheel,) = Path(folder).glob("*.whl")
        make(there.site, wheel, None)
    # Here and not by maturin, for which the extension would be linked once more without names, for a minute.
    call(["strip", *there.site.glob("fairhaul/_core*.so")], ROOT)
    seal(there.site)
    licences = ("LICENSE-APACHE", "LICENSE-MIT")
    names = lay_out(there, {name: (ROOT / name).read_bytes() for name in licences})
    call([sys.executable, "-m", "compileall", "-q", "-j", "0", there.site], ROOT)
    there.at(LIST).write_text("\n".join(names) + "\n")


def remove(prefix: Path, destination: Path) -> None:
    """Remove what `install` has written, and the folders that are empty then."""
    there = _installation(prefix, destination)
    if not there.at(LIST).is_file():
        raise click.UsageError(f"{there.at('')} has no installation by `make install`: no {LIST}")
    for name in there.at(LIST).read_text().splitlines():
        there.at(name).unlink(missing_ok=True)
        _remove_empty(there.at(name).parent, there.at(""))
    shutil.rmtree(there.at("lib/fairhaul"))
    _remove_empty(there.at("lib"), there.at(""))


def _installation(prefix: Path, destination: Path) -> Installation:
    if not prefix.is_absolute():
        raise click.UsageError(f"PREFIX={prefix}: an absolute path is needed, as /opt/fairhaul")
    base = Path(getattr(sys, "_base_executable", sys.executable))
    number = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Installation(root=destination, prefix=prefix, python=base, python_version=number)


def _remove_empty(folder: Path, last: Path) -> None:
    """Remove a folder and those above it, up to the prefix, as far as they are empty."""
    while folder.is_relative_to(last) and folder.is_dir() and not os.listdir(folder):
        folder.rmdir()
        folder = folder.parent

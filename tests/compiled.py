"""What tests compile.

eBPF objects from tests/objects, the crate of a controller in Rust, and programs of the project.
"""

from __future__ import annotations

import os
import shutil
import subprocess
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
def crate(folder: Path, name: str) -> Path:
    """Make the crate of a controller, compile it, and give the path of the library."""
    made = new_controller(name, folder)
    build(made)
    return made / library_of(name)


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

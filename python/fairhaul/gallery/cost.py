"""What a packet costs a flow counter, in instructions: the same on every run, unlike time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from fairhaul.gallery import ROOT

MISSING = "valgrind is not installed (Debian: valgrind)"


def valgrind() -> str | None:
    """Give the path of the program that counts instructions; nothing where it is not installed."""
    return shutil.which("valgrind")


@cache
def built() -> Path:
    """Build the example `counting` and give its path.

    Raises:
        RuntimeError: It could not be built; with what the compiler said.
    """
    rust = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "bin"
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}{os.pathsep}{rust}"}
    command = ["cargo", "build", "--release", "--locked", "-p", "fairhaul-path"]
    done = subprocess.run(
        [*command, "--example", "counting"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the example `counting` could not be built:\n{done.stderr}")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "counting"


def per_packet(counter: str, size: int, flows: int, packets: int = 10_000) -> float:
    """Count the instructions that `counter` takes for a packet.

    Args:
        counter: `exact`, `sred` or `nred`.
        size: Its first parameter; as many packets fill it before it is measured.
        flows: How many flows send, all equally.
        packets: Over how many packets the mean is taken.

    Returns:
        Instructions per packet, without those that draw the packet. Two runs that differ in
        `packets` alone are subtracted, so that the start of the program and of the counter cancel.

    Raises:
        RuntimeError: There is no valgrind, or the example cannot be built or run.
    """
    whole, drawing = (
        _executed(name, size, flows, 2 * packets) - _executed(name, size, flows, packets)
        for name in (counter, "none")
    )
    return (whole - drawing) / packets


@cache
def _executed(name: str, size: int, flows: int, packets: int) -> int:
    tool = valgrind()
    if tool is None:
        raise RuntimeError(MISSING)
    command = [tool, "--tool=callgrind", "--callgrind-out-file=/dev/null", str(built()), name]
    numbers = [str(number) for number in (size, flows, packets)]
    done = subprocess.run([*command, *numbers], capture_output=True, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise RuntimeError(f"the example `counting` failed under valgrind:\n{done.stderr}")
    return int(found[1])

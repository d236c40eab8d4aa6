"""What a packet costs, in instructions: the same on every run, unlike time."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from fairhaul.gallery import ROOT

MISSING = "valgrind is not installed (Debian: valgrind)"


def valgrind() -> str | None:
    """Give the path of the program that counts instructions; nothing where it is not installed."""
    return shutil.which("valgrind")


@cache
def built(room: str, example: str) -> Path:
    """Build an example of a room of the engine and give its path.

    Raises:
        RuntimeError: It could not be built; with what the compiler said.
    """
    rust = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "bin"
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}{os.pathsep}{rust}"}
    command = ["cargo", "build", "--release", "--locked", "-p", f"fairhaul-{room}"]
    done = subprocess.run(
        [*command, "--example", example],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the example `{example}` could not be built:\n{done.stderr}")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / example


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

    def executed(name: str, packets: int) -> int:
        numbers = (str(number) for number in (size, flows, packets))
        return _executed("path", "counting", (name, *numbers))[0]

    whole, drawing = (
        executed(name, 2 * packets) - executed(name, packets) for name in (counter, "none")
    )
    return (whole - drawing) / packets


def per_delivery(scenario: str, first: str, second: str) -> float:
    """Count the instructions of a run for each data packet that it delivers.

    Args:
        scenario: A scenario as TOML in which `DURATION` stands for its length.
        first: A length after which the run is in its steady state, such as `"2 s"`.
        second: A longer one.

    Returns:
        Instructions per delivered packet between the two, so that the start cancels.

    Raises:
        RuntimeError: There is no valgrind, or the example cannot be built or run.
    """
    counted = []
    with tempfile.TemporaryDirectory() as folder:
        for number, length in enumerate((first, second)):
            path = Path(folder) / f"{number}.toml"
            path.write_text(scenario.replace("DURATION", length), encoding="utf-8")
            counted.append(_executed("sim", "packets", (str(path),)))
    (few, early), (many, late) = counted
    return (many - few) / (int(late) - int(early))


@cache
def _executed(room: str, example: str, arguments: tuple[str, ...]) -> tuple[int, str]:
    """Give how many instructions an example took, and what it printed."""
    tool = valgrind()
    if tool is None:
        raise RuntimeError(MISSING)
    command = [tool, "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(
        [*command, str(built(room, example)), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        raise RuntimeError(f"the example `{example}` failed under valgrind:\n{done.stderr}")
    return int(found[1]), done.stdout

"""The cost of a packet in instructions, which are the same in every run, unlike times."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from tools import ROOT

# How lines of a profile begin that name a source file.
FILES = ("fl", "fi", "fe", "cfi", "cfl")

MISSING = "valgrind is not installed (Debian: valgrind)"


def valgrind() -> str | None:
    """Give the path of the program that counts instructions; nothing where it is not installed."""
    return shutil.which("valgrind")


@cache
def rust_flags() -> str:
    """Give the flags of every build of the release profile; others rebuild everything."""
    done = subprocess.run(ROOT / "scripts/rustflags", capture_output=True, text=True, check=True)
    return done.stdout.strip()


def with_rust() -> dict[str, str]:
    """Give the environment in which the Rust of this user is found, for the release profile."""
    rust = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "bin"
    path = f"{os.environ['PATH']}{os.pathsep}{rust}"
    return {**os.environ, "PATH": path, "RUSTFLAGS": rust_flags()}


@cache
def built(crate: str, example: str) -> Path:
    """Build an example of a crate of the engine, and give its path.

    Raises:
        RuntimeError: It could not be built; with what the compiler said.
    """
    command = ["cargo", "build", "--release", "--locked", "-p", f"fairhaul-{crate}"]
    done = subprocess.run(
        [*command, "--example", example],
        cwd=ROOT,
        env=with_rust(),
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
        Instructions per packet, without those for drawing the packet. Two runs that differ in
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
            counted.append(of_run((str(path),)))
    (few, early), (many, late) = counted
    return (many - few) / (late - early)


def of_run(arguments: tuple[str, ...]) -> tuple[int, int]:
    """Count the instructions of a run, and the data packets that it delivers.

    Args:
        arguments: A file, and `key=value` for what is set otherwise.

    Raises:
        RuntimeError: There is no valgrind, or the example cannot be built or run.
    """
    executed, printed = _executed("sim", "bench", arguments)
    return executed, int(printed.split()[0])


def share_of_module(crate: str, example: str, arguments: tuple[str, ...], module: str) -> float:
    """Give the share of a run's instructions on source lines of one module and its submodules.

    What the compiler inlined into the module's callers counts, too.

    Args:
        crate: The crate of the example.
        example: The program that runs.
        arguments: Its arguments.
        module: The path of the module without `.rs`, such as `experiment/src/record/ledger`.

    Raises:
        RuntimeError: There is no valgrind, or the example cannot be built or run.
    """
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        _under_valgrind(crate, example, arguments, profile)
        counted = per_file(profile.read_text(encoding="utf-8"))
    inside = sum(count for path, count in counted.items() if in_module(path, module))
    return inside / sum(counted.values())


def in_module(path: str, module: str) -> bool:
    """Whether a source file is that of a module, or of one of its submodules."""
    return f"/{path}".endswith(f"/{module}.rs") or f"/{module}/" in f"/{path}"


def per_file(profile: str) -> dict[str, int]:
    """Add up the instructions of a profile by source file, those of calls where they are made."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    file, of_call = "", False
    for line in profile.splitlines():
        kind, equals, rest = line.partition("=")
        if equals and kind in FILES:
            # A name is written once, behind its number; with `c` it is that of what is called.
            number, _, name = rest.partition(" ")
            names.setdefault(number, name)
            file = file if kind.startswith("c") else names[number]
        elif line.startswith("calls="):
            of_call = True
        elif line[:1] in "0123456789+-*" and line:
            # The line behind a call tells what was called took, which is counted there.
            if not of_call:
                counts[file] = counts.get(file, 0) + int(line.split()[1])
            of_call = False
    return counts


@cache
def _executed(crate: str, example: str, arguments: tuple[str, ...]) -> tuple[int, str]:
    """Give how many instructions an example took, and what it printed."""
    done = _under_valgrind(crate, example, arguments, Path(os.devnull))
    match = re.search(r"Collected : (\d+)", done.stderr)
    if match is None:
        raise RuntimeError(f"valgrind did not say what `{example}` took:\n{done.stderr}")
    return int(match[1]), done.stdout


def _under_valgrind(
    crate: str, example: str, arguments: tuple[str, ...], profile: Path
) -> subprocess.CompletedProcess[str]:
    """Run an example while its instructions are counted."""
    tool = valgrind()
    if tool is None:
        raise RuntimeError(MISSING)
    command = [tool, "--tool=callgrind", f"--callgrind-out-file={profile}"]
    done = subprocess.run(
        [*command, str(built(crate, example)), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the example `{example}` failed under valgrind:\n{done.stderr}")
    return done

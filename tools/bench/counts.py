"""Instructions of small workloads, compared with recorded values in `tests/instructions.toml`.

Times vary with the machine; instructions do not, so a test detects a change that makes the engine
slower. They depend on the compiler, so its version is recorded, too.
"""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Mapping

from fairhaul.files.files import replace
from tools import ROOT
from tools.bench import cost
from tools.bench.loads import COUNTED, Load

FILE = ROOT / "tests" / "instructions.toml"
COMMAND = "make instructions"

# The test fails above the first bound. Below the second, the faster engine has to be recorded,
# because an outdated record would hide the next slowdown; compilers differ, so it is wider.
MOST_ABOVE, MOST_BELOW = 0.05, 0.10


def of_packet(load: Load) -> float:
    """Count the instructions of a delivered packet, the start of the program included.

    Raises:
        RuntimeError: There is no valgrind, or the engine could not be built or run.
    """
    instructions, packets = cost.of_run(tuple(load.arguments))
    return instructions / packets


def rustc() -> str:
    """Give the version of the compiler that builds the engine."""
    done = subprocess.run(
        ["rustc", "--version"],
        cwd=ROOT,
        env=cost.with_rust(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()[1]


def recorded_counts() -> tuple[str, Mapping[str, float]]:
    """Read the compiler's version and the instructions of a packet of each workload."""
    recorded = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return recorded["rustc"], recorded["instructions"]


def record() -> str:
    """Count the instructions of all workloads, and record them.

    Returns:
        The text of the file.

    Raises:
        RuntimeError: There is no valgrind, or the engine could not be built or run.
    """
    counted = [f"{load.name} = {of_packet(load):.1f}  # {load.what}" for load in COUNTED]
    text = "\n".join(
        [
            "# Instructions of a delivered packet in small workloads, as callgrind counts them.",
            f"# Written by `{COMMAND}`, read by tests/test_instructions.py.",
            "",
            f'rustc = "{rustc()}"',
            "",
            "[instructions]",
            *counted,
            "",
        ]
    )
    replace(FILE, text.encode())
    return text


def judge(name: str, now: float) -> str | None:
    """Compare `now` instructions per packet with the record of `name`; describe a mismatch."""
    compiler, recorded = recorded_counts()
    before = recorded[name]
    change = now / before - 1
    if -MOST_BELOW <= change <= MOST_ABOVE:
        return None
    what = (
        f"more than {MOST_ABOVE:.0%} above the record: reduce them, or, if justified,"
        if change > 0
        else f"more than {MOST_BELOW:.0%} below the record, which would hide a slowdown:"
    )
    installed = rustc()
    because = (
        ""
        if installed == compiler
        else f" (recorded with rustc {compiler}, built with {installed})"
    )
    return (
        f"{name}: a packet takes {now:.1f} instructions, {before:.1f} on record ({change:+.1%})"
        f"{because}: {what} record them with `{COMMAND}`"
    )

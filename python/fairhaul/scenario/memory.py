"""How much memory runs may use, and how much a run is estimated to need."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairhaul._core import ScenarioError

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine
    from fairhaul.scenario.read import Scenario

# The rest is for the rest of the process: tables, figures, the interpreter.
FOR_RUNS = 0.8

# What the program of a kernel takes, and a packet that is in it: at the sender, in the router and
# at the receiver.
PROGRAM_BYTES, KERNEL_PACKET_BYTES = 150e6, 3 * 4352.0

# Fewer packets in flight are not worth a word.
LARGE = 1e6

CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def available_bytes() -> int | None:
    """Give the memory that this process can still allocate, or None if it is unknown.

    It is the minimum of the machine's available memory, what the control group may still use, and
    what the limits of the process (`ulimit -v`, `ulimit -d`) leave.
    """
    return min([*_machine(), *_group(), *_process()], default=None)


def needed_bytes(estimate: Mapping[str, float], engine: Engine) -> float:
    """Estimate the memory of a run; in Linux also that of the kernel and of its packets."""
    kernel = PROGRAM_BYTES + estimate["in_flight"] * KERNEL_PACKET_BYTES
    return estimate["bytes"] + (kernel if engine == "linux" else 0.0)


def per_run(scenarios: Sequence[Scenario], jobs: int, engine: Engine = "sim") -> int | None:
    """Give the memory that each of `jobs` concurrent runs may use for outstanding work.

    Raises:
        ScenarioError: one of `scenarios` needs more than that, by an estimate: flows, transfers,
            rows, packets in flight when bulk flows use their bottlenecks, and queued packets of
            constant-rate flows.
    """
    left = available_bytes()
    if left is None:
        return None
    at_once = max(1, min(jobs, len(scenarios)))
    most = int(left * FOR_RUNS / at_once)
    mistakes: dict[str, None] = {}
    for scenario in scenarios:
        needed = dict(scenario.estimate())
        needed["bytes"] = needed_bytes(needed, engine)
        if needed["bytes"] > most:
            mistakes[_refusal(scenario, needed, most, at_once)] = None
    if mistakes:
        raise ScenarioError(*mistakes)
    return most


def _refusal(scenario: Scenario, needed: dict[str, float], most: int, at_once: int) -> str:
    parts = [
        f"{needed['flows']:,.0f} flows",
        f"{needed['transfers']:,.0f} transfers",
        f"{needed['rows']:,.0f} rows of series",
    ]
    if needed["in_flight"] > LARGE:
        parts.append(f"{needed['in_flight']:.2g} packets in flight")
    if needed["waiting"]:
        parts.append(f"{needed['waiting']:.2g} queued packets of constant-rate flows")
    shared = f" for each of {at_once} concurrent runs (see --jobs)" if at_once > 1 else ""
    return (
        f"{scenario.title}: a run needs about {memory_text(needed['bytes'])} of memory "
        f"({', '.join(parts)}), and {memory_text(most)} are available{shared}; use fewer flows, a "
        "lower rate, larger packets or a shorter run"
    )


def memory_text(size: float) -> str:
    """Write an amount of memory."""
    if size < 1e9:
        return f"{size / 1e6:.2g} MB" if size < 1e8 else f"{size / 1e6:.0f} MB"
    return f"{size / 1e9:.2g} GB" if size < 1e14 else f"{size / 1e9:.0e} GB"


def _machine() -> Iterator[int]:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _group() -> Iterator[int]:
    for most, current in CGROUPS:
        lines = [line for file in (most, current) for line in _lines(file)]
        if len(lines) == 2 and all(line.strip().isdigit() for line in lines):
            yield max(0, int(lines[0]) - int(lines[1]))


def _process() -> Iterator[int]:
    used = {
        line.split(":")[0]: int(line.split()[1]) * 1024
        for line in _lines("/proc/self/status")
        if line.startswith(("VmSize:", "VmData:"))
    }
    limits = (("VmSize", resource.RLIMIT_AS), ("VmData", resource.RLIMIT_DATA))
    for name, which in limits:
        most, _ = resource.getrlimit(which)
        if most != resource.RLIM_INFINITY and name in used:
            yield max(0, most - used[name])


def _lines(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []

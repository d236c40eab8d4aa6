"""The engines: what runs a scenario, and what the rest of the package has to know of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from fairhaul._core import ScenarioError
from fairhaul.text.nearest import hint

Engine = Literal["sim", "linux", "lab"]


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What distinguishes an engine from the others."""

    engine: Engine
    help: str
    """What it is, for the help of `--engine`."""
    title: str
    """What it is called in sentences."""
    kernel: bool
    """Whether the hosts are those of a kernel, so that some scenarios cannot be run."""
    real_time: bool
    """Whether a run takes as long as its scenario says, and should have the machine alone."""
    deterministic: bool
    """Whether the same scenario and seed give the same record."""
    repeats: int
    """Runs of a scenario if their number is not given."""
    packets_per_cpu_s: float
    """What a second of processor time counts as in an estimate and in a budget."""
    start_s: float
    """The processor time of a run beside its packets."""


# Of the simulator: less than half of what it simulates on a machine of today. A budget is a number
# of packets, so that the same question has the same answer on every machine.
FACTS: Mapping[Engine, Facts] = {
    facts.engine: facts
    for facts in (
        Facts(
            engine="sim",
            help="the simulator",
            title="the simulator",
            kernel=False,
            real_time=False,
            deterministic=True,
            repeats=1,
            packets_per_cpu_s=2_500_000,
            start_s=0.004,
        ),
        Facts(
            engine="linux",
            help="Linux's own code in simulated time (`fairhaul linux build`)",
            title="Linux in simulated time",
            kernel=True,
            real_time=False,
            deterministic=True,
            repeats=1,
            # 20 us per data packet with its acknowledgement.
            packets_per_cpu_s=50_000,
            start_s=1.0,
        ),
        Facts(
            engine="lab",
            help="this machine's kernel over emulated links, in real time",
            title="the lab",
            kernel=True,
            real_time=True,
            deterministic=False,
            # No two runs in the lab are the same.
            repeats=5,
            # Its time is that of the scenario; this is what its router needs.
            packets_per_cpu_s=50_000,
            start_s=0.1,
        ),
    )
}
ENGINES: tuple[Engine, ...] = tuple(FACTS)
# Why there is no packet trace where time is real.
NO_TRACE = (
    "the lab traces no packets; the simulator and Linux in simulated time do (--engine sim,linux)"
)


def repeats(engine: Engine, seeds: int | None) -> int:
    """Give the number of runs of a scenario: `seeds`, or what is usual for the engine."""
    return seeds or FACTS[engine].repeats


def read_engines(text: str) -> tuple[Engine, ...]:
    """Read a list of engines such as `sim,linux`; they are given in the order of the table.

    Raises:
        ScenarioError: one of them is not known.
    """
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in FACTS:
            raise ScenarioError(f"unknown engine {word!r}; {hint(word, ENGINES)}")
    return in_order(words)


def in_order(words: Iterable[str]) -> tuple[Engine, ...]:
    """Give engines in the order of the table, each once."""
    words = set(words)
    return tuple(engine for engine in ENGINES if engine in words)

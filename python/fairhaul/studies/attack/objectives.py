"""The objectives of an attack: each a number of which larger is worse, from the figures of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairhaul.scenario.engines import Engine
from fairhaul.statistics.estimate import ANY, FRACTION, Bounds
from fairhaul.studies.attack.differences import largest
from fairhaul.studies.attack.figures import ATTACKED, REFERENCE, Runs
from fairhaul.studies.attack.place import DECLARED, RIVAL, Place


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run at a place: its engine, and how much larger its seed is than that of the trial."""

    engine: Engine = "sim"
    later: int = 0


# As many seeds later, so that no other trial has the same.
AGAIN = 1_000_000
CASES: Mapping[str, Case] = {
    ATTACKED: Case(),
    REFERENCE: Case(),
    "again": Case(later=AGAIN),
    "linux": Case(engine="linux"),
    "linux again": Case(engine="linux", later=AGAIN),
}


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What a search maximises, as `attack.toml` declares it.

    `weak` is the value from which a place counts as a weakness, which `sentence` explains in the
    words of `words`. `box` are the keys of the box that are by default other than those of all
    objectives.
    """

    name: str
    question: str
    meaning: str
    value: Callable[[Place, Runs], float]
    weak: float
    sentence: str
    cases: Sequence[str] = (ATTACKED,)
    fraction: bool = False
    unit: str = ""
    shorten: bool = True
    """Whether a shorter run means the same."""
    box: Mapping[str, Any] = field(default_factory=dict)

    @property
    def engines(self) -> frozenset[Engine]:
        """The engines that it needs."""
        return frozenset(CASES[case].engine for case in self.cases)

    @property
    def bounds(self) -> Bounds:
        """What a value can be."""
        return FRACTION if self.fraction else ANY

    def text(self, value: float) -> str:
        """Write a value."""
        return f"{value:.2f}{self.unit}"


def shares(runs: Runs) -> dict[str, float]:
    """Give the mean goodput of a flow of each group over the mean goodput of all flows."""
    groups = runs[ATTACKED]["flows"]
    goodputs = [bps for group in groups.values() for bps in group["goodputs_bps"]]
    mean = sum(goodputs) / len(goodputs)
    return {name: group["goodput_bps"] / mean if mean else 1.0 for name, group in groups.items()}


def _harm(_: Place, runs: Runs) -> float:
    """How much less the rivals have than beside flows of their own controller [WARE 2019]."""
    if RIVAL not in runs[ATTACKED]["flows"]:
        return 0.0
    beside = runs[ATTACKED]["flows"][RIVAL]["goodput_bps"]
    without = runs[REFERENCE]["flows"][RIVAL]["goodput_bps"]
    return float(1 - beside / without) if without else 0.0


_VALUES: Mapping[str, Callable[[Place, Runs], float]] = {
    "starve": lambda _, runs: 1 - min(shares(runs).values()),
    "waste": lambda _, runs: max(1.0 - float(runs[ATTACKED]["utilization"]), 0.0),
    "queue": lambda place, runs: float(runs[ATTACKED]["standing_s"]) / place.longest_rtt_s,
    "stall": lambda _, runs: (
        float(runs[ATTACKED]["stalled_s"]) / float(runs[ATTACKED]["present_s"])
    ),
    "harm": _harm,
    "disagree": lambda place, runs: largest(place, runs).value,
}
OBJECTIVES = {
    name: Objective(name=name, value=_VALUES[name], **keys)
    for name, keys in DECLARED["objective"].items()
}
SIMULATED = [name for name, of in OBJECTIVES.items() if of.engines == {"sim"}]
"""The objectives that need no kernel."""

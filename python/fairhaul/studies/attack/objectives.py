"""The objectives of an attack: each a number of which larger is worse, from the figures of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fairhaul.statistics.estimate import ANY, FRACTION, Bounds
from fairhaul.studies.attack.box import between
from fairhaul.studies.attack.figures import Figures
from fairhaul.studies.attack.place import RIVAL, Place

# The runs at a place: with the attacked flows, and with flows of the rivals' controller instead.
ATTACKED, REFERENCE = "attacked", "reference"

Runs = Mapping[str, Figures]


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What a search maximises.

    `weak` is the value from which a place counts as a weakness. `box` are the keys of the box that
    are by default other than those of all objectives.
    """

    name: str
    meaning: str
    value: Callable[[Place, Runs], float]
    weak: float
    cases: tuple[str, ...] = (ATTACKED,)
    bounds: Bounds = ANY
    unit: str = ""
    shorten: bool = True
    """Whether a shorter run means the same."""
    box: Mapping[str, Any] = field(default_factory=dict)

    def text(self, value: float) -> str:
        """Write a value."""
        return f"{value:.2f}{self.unit}"


def shares(runs: Runs) -> dict[str, float]:
    """Give the mean goodput of a flow of each group over the mean goodput of all flows."""
    groups = runs[ATTACKED]["flows"]
    goodputs = [bps for group in groups.values() for bps in group["goodputs_bps"]]
    mean = sum(goodputs) / len(goodputs)
    return {name: group["goodput_bps"] / mean if mean else 1.0 for name, group in groups.items()}


def _starve(_: Place, runs: Runs) -> float:
    return 1 - min(shares(runs).values())


def _waste(_: Place, runs: Runs) -> float:
    return max(1.0 - float(runs[ATTACKED]["utilization"]), 0.0)


def _queue(place: Place, runs: Runs) -> float:
    return float(runs[ATTACKED]["standing_s"]) / place.longest_rtt_s


def _stall(_: Place, runs: Runs) -> float:
    return float(runs[ATTACKED]["stalled_s"]) / float(runs[ATTACKED]["present_s"])


def _harm(_: Place, runs: Runs) -> float:
    """How much less the rivals have than beside flows of their own controller [WARE 2019]."""
    if RIVAL not in runs[ATTACKED]["flows"]:
        return 0.0
    beside = runs[ATTACKED]["flows"][RIVAL]["goodput_bps"]
    without = runs[REFERENCE]["flows"][RIVAL]["goodput_bps"]
    return float(1 - beside / without) if without else 0.0


OBJECTIVES = {
    of.name: of
    for of in (
        Objective(
            name="starve",
            meaning="part of its fair share that the worse-off group of flows lacks",
            value=_starve,
            weak=0.5,
            bounds=FRACTION,
        ),
        Objective(
            name="waste",
            meaning="part of the link's capacity that is not used",
            value=_waste,
            weak=0.2,
            bounds=FRACTION,
            box={
                **{"loss": between(0, 0.001), "dip": between(0.1, 1), "rivals": 0, "rivals_rtt": 1},
                **{"rivals_start": 0, "rival": "self"},
            },
        ),
        Objective(
            name="queue",
            meaning="standing queue, in bandwidth-delay products",
            value=_queue,
            weak=0.5,
            unit=" BDP",
            box={"rivals": between(0, 4), "rivals_rtt": between(1, 4), "rival": "self"},
        ),
        Objective(
            name="stall",
            meaning="longest part of its time in which a flow has less than half of its fair share",
            value=_stall,
            weak=0.25,
            bounds=FRACTION,
            # A start takes more of the time of a shorter run.
            shorten=False,
            box={
                **{"loss": between(0, 0.001), "dip": between(0.1, 1), "flows": between(1, 2)},
                **{
                    "rivals": between(0, 2),
                    "rivals_rtt": 1,
                    "rivals_start": between(0, 0.25),
                    "rival": "self",
                },
            },
        ),
        Objective(
            name="harm",
            meaning="part of their goodput that rivals lose, compared with flows of their own kind",
            value=_harm,
            weak=0.5,
            cases=(ATTACKED, REFERENCE),
            box={"rival": {"any": ["cubic", "reno"]}},
        ),
    )
}

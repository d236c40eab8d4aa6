"""A scenario simulated by trains and by single packets, with the same seeds: what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from fairhaul.losses import REDUCTIONS, not_undone
from fairhaul.runs import run
from tools.grain.cases import Case

if TYPE_CHECKING:
    from fairhaul.record import Record
    from fairhaul.results import RunFigures

# What is allowed to differ: a share or the rate of loss events by that part, or by so many
# standard errors of the differences between runs of one seed; Jain's index by that much.
PART = 0.02
ERRORS = 1.5
JAIN = 0.01


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How a figure differs: its mean of single packets, the mean difference, its standard error."""

    of: str
    packets: float
    more: float
    error: float

    @property
    def part(self) -> float:
        """The difference as a part of the figure."""
        return self.more / self.packets if self.packets else 0.0

    @property
    def fits(self) -> bool:
        """Whether it is within the allowed part, or within the noise between seeds."""
        return abs(self.part) <= PART or abs(self.more) <= ERRORS * self.error


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What differs in one case."""

    name: str
    shares: Sequence[Difference]
    events: Difference
    jain: Difference
    faster: float
    """Processor time of single packets over that of trains."""

    @property
    def worst(self) -> Difference:
        """The share that differs most, first of the shares that differ by more than the noise."""
        return max(self.shares, key=lambda share: (not share.fits, abs(share.part)))

    @property
    def fits(self) -> bool:
        """Whether all of it is within the bounds."""
        jain = abs(self.jain.more) <= JAIN or abs(self.jain.more) <= ERRORS * self.jain.error
        return jain and self.events.fits and all(share.fits for share in self.shares)

    def to_dict(self) -> Mapping[str, Any]:
        """Give it as JSON has it."""
        return asdict(self)


def compare(case: Case, jobs: int | None) -> Outcome:
    """Run a case both ways."""
    answers = [
        run({**case.scenario, "grain": grain}, seeds=case.seeds, jobs=jobs)
        for grain in ("packet", "auto")
    ]
    packets, trains = (answer.measures for answer in answers)
    events = [[_events_per_s(record) for record in answer.records] for answer in answers]
    names = [flow["name"] for flow in packets[0]["flows"]]
    shares = [
        _difference(name, [_share(r, i) for r in packets], [_share(r, i) for r in trains])
        for i, name in enumerate(names)
    ]
    return Outcome(
        name=case.name,
        shares=shares,
        events=_difference("loss events per s", *events),
        jain=_difference("Jain's index", [_jain(r) for r in packets], [_jain(r) for r in trains]),
        faster=sum(r["cpu_s"] for r in packets) / sum(r["cpu_s"] for r in trains),
    )


def _difference(of: str, packets: Sequence[float], trains: Sequence[float]) -> Difference:
    pairs = [b - a for a, b in zip(packets, trains, strict=True)]
    error = stdev(pairs) / sqrt(len(pairs)) if len(pairs) > 1 else 0.0
    return Difference(of=of, packets=fmean(packets), more=fmean(pairs), error=error)


def _share(figures: RunFigures, flow: int) -> float:
    everything = sum(flow["goodput_bps"] for flow in figures["flows"])
    return figures["flows"][flow]["goodput_bps"] / everything


def _events_per_s(record: Record) -> float:
    """The rate of loss events of all flows, by the mean time between two events of a flow.

    Their number would depend on whether the last one is just before the end or just after it.
    """
    scenario = record.meta["scenario"]
    since_s = scenario["warmup_s"]
    times: dict[str, list[float]] = {}
    for loss in not_undone(record):
        if loss.kind in REDUCTIONS and loss.t_s >= since_s:
            times.setdefault(loss.flow, []).append(loss.t_s)
    return sum(
        (len(each) - 1) / (max(each) - min(each))
        if len(each) > 1
        else 1 / (scenario["duration_s"] - since_s)
        for each in times.values()
    )


def _jain(figures: RunFigures) -> float:
    return float(figures["fairness"]["jain"] or 1.0)

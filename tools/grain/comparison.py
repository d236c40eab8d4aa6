"""A scenario simulated by bursts and by single packets, with the same seeds: what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from fairhaul.measures.losses import REDUCTIONS, not_undone
from fairhaul.runs.runs import run
from fairhaul.statistics.distributions import student_tail
from fairhaul.statistics.evidence import Evidence, judge
from tools.grain.cases import Case

if TYPE_CHECKING:
    from fairhaul.measures.types import RunFigures
    from fairhaul.record.record import Record

# What is allowed to differ: a part of a share and of the rate of loss events, and so much of Jain's
# index.
PART = 0.02
JAIN = 0.01


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How a figure differs: its mean of single packets, the mean difference, its standard error.

    The difference is a mean over pairs of runs of one seed. `allowed` is what it may be.
    """

    of: str
    packets: float
    more: float
    error: float
    runs: int
    allowed: float

    @property
    def part(self) -> float:
        """The difference as a part of the figure."""
        return self.more / self.packets if self.packets else 0.0

    @property
    def evidence(self) -> Evidence:
        """The evidence for "the difference is within what is allowed", by Student's test."""
        over, under = abs(self.more) - self.allowed, self.allowed - abs(self.more)
        if self.error == 0:
            return Evidence(if_false=float(over > 0), if_true=float(under >= 0))
        freedom = self.runs - 1
        return Evidence(
            if_false=student_tail(freedom, under / self.error),
            if_true=student_tail(freedom, over / self.error),
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What differs in one case."""

    name: str
    shares: Sequence[Difference]
    events: Difference
    jain: Difference
    faster: float
    """Processor time of single packets over that of bursts."""

    @property
    def differences(self) -> list[Difference]:
        """All of its differences."""
        return [*self.shares, self.events, self.jain]

    @property
    def worst(self) -> Difference:
        """The share that speaks most against bursts, else the one that differs most."""
        return min(
            self.shares, key=lambda share: (min(share.evidence.if_true, 0.5), -abs(share.part))
        )

    def to_dict(self) -> Mapping[str, Any]:
        """Give it as JSON has it."""
        return asdict(self)


def judged(outcomes: Sequence[Outcome]) -> list[list[bool | None]]:
    """Judge all differences of all cases together.

    Each is within what is allowed (true), outside (false), or the noise between seeds is too large
    to say (None). The probability that any of them is judged wrongly is at most 5 %.
    """
    verdicts = iter(judge([each.evidence for of in outcomes for each in of.differences]))
    return [[next(verdicts) for _ in of.differences] for of in outcomes]


def compare(case: Case, seed: int, seeds: int, jobs: int | None) -> Outcome:
    """Run a case both ways, with that many seeds, counted up from `seed`."""
    answers = [
        run({**case.scenario, "grain": grain, "seed": seed}, seeds=seeds, jobs=jobs)
        for grain in ("packet", "auto")
    ]
    packets, bursts = (answer.measures for answer in answers)
    events = [[_events_per_s(record) for record in answer.records] for answer in answers]
    names = [flow["name"] for flow in packets[0]["flows"]]
    shares = [
        _difference(name, [_share(r, i) for r in packets], [_share(r, i) for r in bursts])
        for i, name in enumerate(names)
    ]
    jain = _difference(
        "Jain's index", [_jain(r) for r in packets], [_jain(r) for r in bursts], allowed=JAIN
    )
    return Outcome(
        name=case.name,
        shares=shares,
        events=_difference("loss events per s", events[0], events[1]),
        jain=jain,
        faster=sum(r["cpu_s"] or 0.0 for r in packets) / sum(r["cpu_s"] or 0.0 for r in bursts),
    )


def _difference(
    of: str, packets: Sequence[float], bursts: Sequence[float], allowed: float | None = None
) -> Difference:
    pairs = [b - a for a, b in zip(packets, bursts, strict=True)]
    mean = fmean(packets)
    return Difference(
        of=of,
        packets=mean,
        more=fmean(pairs),
        error=stdev(pairs) / sqrt(len(pairs)),
        runs=len(pairs),
        allowed=PART * mean if allowed is None else allowed,
    )


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

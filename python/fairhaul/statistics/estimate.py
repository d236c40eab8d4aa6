"""Estimates: a mean over runs, and an interval for it that never leaves what a figure can be.

The method is described in `docs/statistics.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairhaul.statistics.distributions import student_quantile
from fairhaul.text.digits import Form

LEVEL = 0.95
# The level of a second look with more runs at what a first one left undecided: it adds only a
# fifth to the probability of an error.
STRICT_LEVEL = 0.99

# With fewer runs the spread is hardly known, and their range is given instead of an interval.
LEAST_RUNS = 5

Interval = Literal["95 %", "99 %", "range"]


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The smallest and the largest value that a figure can have.

    They define a scale without ends, on which an interval is computed: the figure itself without
    bounds, its logarithm with one bound, its log-odds with two.
    """

    low: float = -math.inf
    high: float = math.inf

    def scaled(self, value: float) -> float:
        """Put `value` on the scale; the bounds themselves are at infinity."""
        above, below = value - self.low, self.high - value
        if above <= 0 or below <= 0:
            return -math.inf if above <= 0 else math.inf
        if math.isinf(above):
            return value if math.isinf(below) else -math.log(below)
        return math.log(above) if math.isinf(below) else math.log(above / below)

    def slope(self, value: float) -> float:
        """How much the scale changes with the figure, at `value`."""
        if math.isinf(self.low) and math.isinf(self.high):
            return 1.0
        return 1 / (value - self.low) + 1 / (self.high - value)

    def unscaled(self, scaled: float) -> float:
        """Give the figure at a place of the scale."""
        if math.isinf(self.low):
            return scaled if math.isinf(self.high) else self.high - math.exp(-scaled)
        if math.isinf(self.high):
            return self.low + math.exp(scaled)
        return self.low + (self.high - self.low) / (1 + math.exp(-scaled))


ANY = Bounds()
AT_LEAST_0 = Bounds(low=0.0)
AT_LEAST_1 = Bounds(low=1.0)
AT_MOST_1 = Bounds(high=1.0)
FRACTION = Bounds(low=0.0, high=1.0)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean over runs.

    `low` and `high` are the ends of its interval at `level`, with fewer than five runs the smallest
    and the largest value, and None after a single run. `error` is the standard error of the mean,
    on the scale of `bounds`.
    """

    mean: float
    low: float | None
    high: float | None
    runs: int = 1
    error: float = 0.0
    bounds: Bounds = ANY
    level: float = LEVEL

    @property
    def interval(self) -> Interval | None:
        """What `low` and `high` are; None after a single run."""
        if self.low is None:
            return None
        if self.runs < LEAST_RUNS:
            return "range"
        return "95 %" if self.level == LEVEL else "99 %"

    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval; None if there is none."""
        if self.low is None or self.high is None or self.interval == "range":
            return None
        return self.low, self.high

    def holds(self, value: float) -> bool | None:
        """Whether `value` lies within the interval; None if there is no interval."""
        ends = self.ends()
        return None if ends is None else ends[0] <= value <= ends[1]

    def to_dict(self) -> dict[str, Any]:
        """Give the estimate as it is printed in JSON."""
        return {"mean": self.mean, "low": self.low, "high": self.high, "interval": self.interval}


def estimate(values: Sequence[float], bounds: Bounds = ANY, level: float = LEVEL) -> Estimate:
    """Estimate the mean of the distribution of `values`, of which at least one is required.

    The interval is Student's on the scale of `bounds`, with the standard error of the mean carried
    over by the slope of the scale (the delta method). `values` are assumed to be independent.

    Source: [STUDENT], [CASELLA 2002, 5.5.4].
    """
    count = len(values)
    mean = min(max(math.fsum(values) / count, bounds.low), bounds.high)
    if count == 1:
        return Estimate(mean=mean, low=None, high=None)
    if count < LEAST_RUNS:
        return Estimate(mean=mean, low=min(values), high=max(values), runs=count, bounds=bounds)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    place = bounds.scaled(mean)
    if variance == 0 or math.isinf(place):
        return Estimate(mean=mean, low=mean, high=mean, runs=count, bounds=bounds, level=level)
    error = bounds.slope(mean) * math.sqrt(variance / count)
    half = student_quantile(count - 1, (1 - level) / 2) * error
    low, high = bounds.unscaled(place - half), bounds.unscaled(place + half)
    return Estimate(
        mean=mean, low=low, high=high, runs=count, error=error, bounds=bounds, level=level
    )


def text(of: Estimate | Mapping[str, Any], form: Form) -> str:
    """Write an estimate, or its object in JSON: `0.97 [0.94, 0.98]`, or a constant: `0.97`.

    The mean and both ends have the unit and the digits that the wider half of the interval
    justifies. `legend` says what the ends are.
    """
    value = of.to_dict() if isinstance(of, Estimate) else of
    mean, low, high = value["mean"], value["low"], value["high"]
    if low is None or low == high:
        return form(mean)
    known = form.within(max(mean - low, high - mean), mean)
    written, *ends = map(known, (mean, low, high))
    if {*ends} == {written}:
        return written
    unit = getattr(known, "unit", "")
    return f"{written} [{', '.join(end.removesuffix(unit) for end in ends)}]"


def legend(runs: int) -> str:
    """Say what `text` writes for means over `runs` runs."""
    if runs == 1:
        return f"Values are those of one run; an interval requires at least {LEAST_RUNS}."
    if runs < LEAST_RUNS:
        return (
            f"Values are means, with the smallest and the largest of {runs} runs in brackets; "
            f"an interval requires at least {LEAST_RUNS}."
        )
    return "Values are means with their 95 % intervals."

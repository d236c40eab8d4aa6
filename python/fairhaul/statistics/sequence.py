"""Confidence sequences: intervals for a mean that hold at every number of values at once.

So a trial may be looked at after every transfer, and may end when the interval says enough. The
formulas are asymptotic: they require some tens of values, and no more of their distribution than
a variance.

Source: [WAUDBY-SMITH 2024, Theorem 2.2 and Appendix B.1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# The number of values at which the interval is as narrow as it can be made: 1.55 times the fixed
# interval of as many values. It has to be chosen before the first value; at a tenth of it the
# interval is 1.97 times the fixed one, at ten times 1.65 times.
TIGHTEST = 500
# The part of trials that find a difference by the number of transfers that `needed` gives, and the
# quantile of the normal distribution that belongs to it.
FOUND = 0.8
FOUND_QUANTILE = 0.8416
MOST_NEEDED = 10**9


@dataclass(kw_only=True)
class Sequence:
    """The mean of values that come one after the other, and its confidence sequence."""

    count: int = 0
    mean: float = 0.0
    _squares: float = 0.0

    def add(self, value: float) -> None:
        """Take a value; the sums of squares are those of the mean so far [WELFORD]."""
        self.count += 1
        before = value - self.mean
        self.mean += before / self.count
        self._squares += before * (value - self.mean)

    @property
    def deviation(self) -> float:
        """The standard deviation of the values."""
        return math.sqrt(self._squares / (self.count - 1)) if self.count > 1 else math.inf

    def interval(self, alpha: float) -> tuple[float, float]:
        """Give the ends of an interval that misses the mean with probability `alpha`, ever."""
        half = self.deviation * half_width(self.count, alpha)
        return self.mean - half, self.mean + half

    def at_least(self, alpha: float) -> float:
        """Give a bound that the mean is below with probability `alpha`, ever."""
        return self.mean - self.deviation * bound_width(self.count, alpha)

    def at_most(self, alpha: float) -> float:
        """Give a bound that the mean is above with probability `alpha`, ever."""
        return self.mean + self.deviation * bound_width(self.count, alpha)


def half_width(count: int, alpha: float) -> float:
    """Give the half width of the interval of `count` values, in standard deviations."""
    factor, root = _parts(count, alpha)
    return math.sqrt(factor * math.log(root / alpha))


def bound_width(count: int, alpha: float) -> float:
    """Give the distance of a one-sided bound from the mean, in standard deviations."""
    factor, root = _parts(count, 2 * alpha)
    return math.sqrt(factor * math.log1p(root / (2 * alpha)))


def _parts(count: int, alpha: float) -> tuple[float, float]:
    # The value of rho that minimizes the width at TIGHTEST values.
    square = (-2 * math.log(alpha) + math.log1p(-2 * math.log(alpha))) / TIGHTEST
    product = count * square + 1
    return 2 * product / (count**2 * square), math.sqrt(product)


def needed(deviation: float, difference: float, alpha: float) -> int:
    """Give a number of values by which a trial finds a difference with probability `FOUND`.

    Args:
        deviation: the standard deviation of the values.
        difference: their mean.
        alpha: that of the interval.
    """

    def is_found(count: int) -> bool:
        reach = half_width(count, alpha) + FOUND_QUANTILE / math.sqrt(count)
        return deviation * reach <= difference

    high = 2
    while not is_found(high):
        high *= 2
        if high > MOST_NEEDED:
            return MOST_NEEDED
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_found(middle) else (middle, high)
    return high

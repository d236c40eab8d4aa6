"""A number of a path with the interval in which it lies."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value, and the interval from `low` to `high`; `high` is None where only a bound is known.

    Then `value` and `low` are the same, and the true value is at least that.
    """

    value: float
    low: float
    high: float | None

    @classmethod
    def at_least(cls, low: float) -> Estimate:
        """Give what is known to be at least `low`."""
        return cls(value=low, low=low, high=None)

    def values(self) -> dict[str, float | None]:
        """Give the object of JSON."""
        return {"value": self.value, "low": self.low, "high": self.high}


def share(count: float, total: float) -> Estimate:
    """Estimate a probability by `count` of `total` cases, with Wilson's interval of 95 %.

    Source: [WILSON].
    """
    z2, part = 1.96**2, count / total
    centre = (part + z2 / (2 * total)) / (1 + z2 / total)
    half = math.sqrt(part * (1 - part) * z2 / total + z2**2 / (4 * total**2)) / (1 + z2 / total)
    # Rounding may leave a little where the end of the interval is 0.
    low = 0.0 if count == 0 else max(0.0, centre - half)
    return Estimate(value=part, low=low, high=min(1.0, centre + half))

"""The summary of several runs: means and their 95 % intervals by Student's t."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The 97.5 % point of Student's distribution for 1 to 30 degrees of freedom.
T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
Z_975 = 1.959964

# Keys that distinguish runs, and have no mean.
NOT_SUMMARISED = frozenset(
    {"title", "variant", "seed", "kernel", "trust", "tries", "grain", "warnings"}
)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean over runs and its 95 % interval, which a single run does not have."""

    mean: float
    low: float | None
    high: float | None

    def holds(self, value: float) -> bool:
        """Whether `value` lies within the interval."""
        return self.low is not None and self.high is not None and self.low <= value <= self.high

    def to_dict(self) -> dict[str, float | None]:
        """Give the three numbers as they are printed in JSON."""
        return {"mean": self.mean, "low": self.low, "high": self.high}


def estimate(values: Sequence[float]) -> Estimate:
    """Estimate the mean of the distribution of `values`, of which at least one is required.

    The interval is Student's: `values` are assumed to be independent and nearly normal.
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return Estimate(mean=mean, low=None, high=None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    half = t_975(count - 1) * math.sqrt(variance / count)
    return Estimate(mean=mean, low=mean - half, high=mean + half)


def t_975(freedom: int) -> float:
    """Give the 97.5 % point of Student's distribution.

    Beyond the table, it is given by the first two terms of the expansion around the normal
    distribution, which have four correct digits there.
    """
    if freedom <= len(T_975):
        return T_975[freedom - 1]
    z = Z_975
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Replace each number of `runs`, which have the same shape, by its mean over the runs.

    A number that some runs do not have is averaged over the others; a verdict is true if it is true
    in every run.

    Raises:
        ValueError: their flows or links are not the same.
    """
    keys = [key for key in runs[0] if key not in NOT_SUMMARISED]
    return {key: _summary([run.get(key) for run in runs]) for key in keys}


def _summary(values: Sequence[Any]) -> Any:
    known = [value for value in values if value is not None]
    if not known:
        return None
    first = known[0]
    if isinstance(first, bool):
        return all(known)
    if isinstance(first, int | float):
        return estimate(known).to_dict()
    if isinstance(first, Mapping):
        return {key: _summary([value.get(key) for value in known]) for key in first}
    if isinstance(first, list):
        return [_summary(column) for column in _alike(known)]
    return first


def _alike(lists: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Group the items at the same place of every list: flows or links of one name."""
    columns = list(zip(*lists, strict=True))
    for column in columns:
        names = {item.get("name") for item in column if isinstance(item, Mapping)}
        if len(names) > 1:
            raise ValueError(
                f"{' and '.join(sorted(map(str, names)))} are not the same flow or link"
            )
    return columns

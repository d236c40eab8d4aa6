"""Long series made short enough to be drawn, without hiding their peaks.

Neighbouring bins of a record are put together, the same number everywhere: their mean weighted by
length, the smallest and the largest. A bin without a value counts in none of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.record.series import Series, series

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# About as many as a figure has room for at two pixels each.
MOST_BINS = 300


@dataclass(frozen=True, kw_only=True)
class Bins:
    """Bins put together: their middles, and for each part a row of values.

    `width_s` is the usual length of one, and `tick_s` that of the bins it was made of.
    """

    middle_s: Floats
    mean: Floats
    low: Floats
    high: Floats
    width_s: float
    tick_s: float

    def has_gaps(self, part: int) -> bool:
        """Whether the mean of some bin is not known."""
        return any(map(math.isnan, self.mean[part].tolist()))


def whole_run(table: pl.DataFrame, parts: int, scenario: Mapping[str, Any]) -> Series:
    """Turn a series table into arrays, the warm-up included."""
    return series(table, parts, {**scenario, "warmup_s": 0.0})


def level(rows: Series, name: str, most: int = MOST_BINS) -> Bins:
    """Put the bins of a level together."""
    return _together(rows, rows.columns[name], most)


def rate(rows: Series, name: str, most: int = MOST_BINS) -> Bins:
    """Put the bins of a counter together, as a rate per second."""
    return _together(rows, rows.columns[name] / rows.lengths_s, most)


def _together(rows: Series, values: Floats, most: int) -> Bins:
    import numpy as np

    count = len(rows.starts_s)
    each = -(-count // most)
    firsts = np.arange(0, count, each)
    lengths = np.add.reduceat(rows.lengths_s, firsts)
    known = ~np.isnan(values)
    known_s = np.add.reduceat(known * rows.lengths_s, firsts, axis=1)
    sums = np.add.reduceat(np.where(known, values, 0.0) * rows.lengths_s, firsts, axis=1)
    tick = float(np.median(rows.lengths_s))
    return Bins(
        middle_s=rows.starts_s[firsts] + lengths / 2,
        mean=np.divide(sums, known_s, out=np.full_like(sums, np.nan), where=known_s > 0),
        low=np.fmin.reduceat(values, firsts, axis=1),
        high=np.fmax.reduceat(values, firsts, axis=1),
        width_s=tick * each,
        tick_s=tick,
    )


def points(bins: Bins, part: int) -> list[dict[str, float]]:
    """Give the bins of a part as rows of a chart: `t`, `mean`, `low` and `high`."""
    return [
        {"t": tidy(t), "mean": tidy(mean), "low": tidy(low), "high": tidy(high)}
        for t, mean, low, high in zip(
            bins.middle_s, bins.mean[part], bins.low[part], bins.high[part], strict=True
        )
    ]


def tidy(value: float) -> float:
    """Round to four digits, more than a figure shows, so that the page stays small."""
    return float(f"{value:.4g}")

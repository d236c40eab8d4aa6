"""Batch means: how sure the figures of one long run are, from parts of that run.

The measured time of a run is divided into batches of equal length. If these are long enough, their
means are nearly independent, and the usual statistics of independent samples apply to them. It is a
second look beside several seeds: an interval from one run, and a warning where the run is too short
for one.

Source: [LAW 2015, 9.5.3]; the test of independence is that of von Neumann's ratio [VON NEUMANN].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from fairhaul.record.series import Series, series
from fairhaul.statistics.estimate import AT_LEAST_0, FRACTION, Bounds, Estimate, estimate

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.record.series import Floats

# Fewer batches leave the spread unknown; more are hardly better [SCHMEISER].
BATCHES = 20

# The 95 % point of the normal distribution.
ONE_SIDED = 1.645


@dataclass(frozen=True, kw_only=True)
class BatchMeans:
    """A figure of a run as the mean over its batches.

    `dependent` is whether neighbouring batches are alike (at 5 %, one-sided); the interval is then
    too narrow, and the run too short for this number of batches.
    """

    name: str
    estimate: Estimate
    correlation: float
    dependent: bool


def batch_means(record: Record, batches: int = BATCHES) -> list[BatchMeans]:
    """Give the goodput (bit/s) and the share of every flow as means over batches of a run.

    Jain's index is not among them: it is not a mean over time, and is smaller in shorter times.

    Raises:
        ValueError: fewer than three batches, or fewer bins of the record than batches.
    """
    scenario = record.meta["scenario"]
    rows = series(record.raw("flow_series"), len(scenario["flows"]), scenario)
    edges = _edges(rows, batches)
    goodput = _sums(rows.columns["goodput_bytes"], edges)
    lengths_s = _sums(rows.lengths_s[None, :], edges)[0]
    everything = goodput.sum(axis=0)
    found = []
    for flow, own in zip(scenario["flows"], goodput, strict=True):
        name = flow["name"]
        found.append(_of(f"{name}.goodput_bps", (own * 8 / lengths_s).tolist(), AT_LEAST_0))
        if everything.all():
            found.append(_of(f"{name}.share", (own / everything).tolist(), FRACTION))
    return found


def _edges(rows: Series, batches: int) -> list[int]:
    """Give the first bin of each batch, and the number of bins."""
    import numpy as np

    bins = len(rows.lengths_s)
    if not 3 <= batches <= bins:
        raise ValueError(f"{batches} batches of {bins} bins; wanted from 3 to {bins}")
    ends_s = np.cumsum(rows.lengths_s)
    wanted_s = ends_s[-1] * np.arange(1, batches) / batches
    inner = np.searchsorted(ends_s, wanted_s - 1e-9) + 1
    return [0, *inner.tolist(), bins]


def _sums(values: Floats, edges: Sequence[int]) -> Floats:
    """Add up columns from each edge to the next."""
    import numpy as np

    sums: Floats = np.add.reduceat(values, edges[:-1], axis=1)
    return sums


def _of(name: str, values: Sequence[float], bounds: Bounds) -> BatchMeans:
    correlation = neighbours_correlation(values)
    count = len(values)
    # The standard deviation of the ratio under independence, halved as the ratio is.
    spread = math.sqrt((count - 2) / (count**2 - 1))
    return BatchMeans(
        name=name,
        estimate=estimate(values, bounds),
        correlation=correlation,
        dependent=correlation > ONE_SIDED * spread,
    )


def neighbours_correlation(values: Sequence[float]) -> float:
    """Give how alike neighbours are: 1 less half of von Neumann's ratio; about 0 if they are not.

    Source: [VON NEUMANN].
    """
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values)
    steps = math.fsum((b - a) ** 2 for a, b in pairwise(values))
    return 1 - steps / (2 * variance) if variance > 0 else 0.0

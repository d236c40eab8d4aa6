"""Batch means: intervals from one run, and whether its batches are independent."""

from __future__ import annotations

import random
from statistics import fmean

import numpy as np
import pytest

import fairhaul
from fairhaul.measures.batches import _edges, batch_means, neighbours_correlation
from fairhaul.record.series import Series
from fairhaul.results.precision import Precision
from fairhaul.statistics.estimate import FRACTION, estimate

RUN = """
duration = "60 s"
warmup = "10 s"
profile = "plain"
[bottleneck]
rate = "20 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", capacity = "1 bdp" }
[[flow]]
name = "ours"
controller = "cubic"
rtt = "20 ms"
[[flow]]
name = "theirs"
controller = "reno"
rtt = "30 ms"
"""


def test_the_mean_over_batches_is_that_of_the_run() -> None:
    answer = fairhaul.run(RUN)
    found = {each.name: each for each in batch_means(answer.records[0], batches=10)}
    assert list(found) == ["ours.goodput_bps", "ours.share", "theirs.goodput_bps", "theirs.share"]
    for flow in answer.measures[0]["flows"]:
        each = found[f"{flow['name']}.goodput_bps"].estimate
        assert each.mean == pytest.approx(flow["goodput_bps"], rel=1e-3)
        assert each.runs == 10
        assert each.low is not None
        assert each.low < each.mean


def test_batches_cover_the_measured_time_in_equal_parts() -> None:
    lengths = np.full(50, 0.2, dtype=np.float64)
    rows = Series(columns={}, starts_s=np.cumsum(lengths) - 0.2, lengths_s=lengths)
    assert _edges(rows, 5) == [0, 10, 20, 30, 40, 50]
    assert _edges(rows, 4) == [0, 13, 25, 38, 50]
    for batches in (2, 51):
        with pytest.raises(ValueError, match="wanted from 3 to 50"):
            _edges(rows, batches)


def test_neighbours_that_are_alike_are_found() -> None:
    # Steps of 1 and a variance sum of 2: 1 - 2 / 4.
    assert neighbours_correlation([1.0, 2.0, 3.0]) == 0.5
    assert neighbours_correlation([1.0, 1.0, 1.0]) == 0.0
    assert neighbours_correlation([1.0, -1.0] * 10) < -0.8


def test_the_interval_covers_the_mean_where_batches_are_independent() -> None:
    chance = random.Random(7)
    held = alike = 0
    for _ in range(2000):
        values = [chance.betavariate(20, 3) for _ in range(20)]
        held += bool(estimate(values, FRACTION).holds(20 / 23))
        alike += neighbours_correlation(values) > 1.645 * (18 / 399) ** 0.5
    assert 0.93 <= held / 2000 <= 0.97
    assert 0.03 <= alike / 2000 <= 0.07


def test_stopping_at_a_width_costs_little_coverage() -> None:
    chance, precise, held, counts = random.Random(8), Precision(figure="x", within=0.02), 0, []
    for _ in range(1000):
        values: list[float] = []
        wanted = 5
        while len(values) < wanted:
            values += [chance.betavariate(20, 3) for _ in range(wanted - len(values))]
            wanted = precise.runs({"x": estimate(values, FRACTION).to_dict()}, len(values))
        counts.append(len(values))
        held += bool(estimate(values, FRACTION).holds(20 / 23))
    # (1.96 0.0687 / 0.02)^2 = 45 runs, if the spread were known.
    assert 40 <= fmean(counts) <= 60
    assert 0.91 <= held / 1000 <= 0.96

"""Estimates by hand and on synthetic data, and the summary of runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairhaul.results.summary import summary
from fairhaul.statistics.estimate import (
    ANY,
    AT_LEAST_0,
    AT_LEAST_1,
    AT_MOST_1,
    FRACTION,
    Bounds,
    Estimate,
    estimate,
    legend,
    text,
)
from fairhaul.text.digits import Decimals, form_of, percent
from fairhaul.text.durations import DURATION
from fairhaul.text.phrases import RATE, count_of


def test_five_values_give_a_mean_and_its_interval() -> None:
    # 1, 2, 3, 6, 8: mean 4, variance (9+4+1+4+16)/4 = 8.5, half width 2.776 sqrt(8.5/5) = 3.620.
    found = estimate([1.0, 2.0, 3.0, 6.0, 8.0])
    assert (found.mean, found.interval) == (4, "95 %")
    assert found.low == pytest.approx(0.380, abs=1e-3)
    assert found.high == pytest.approx(7.620, abs=1e-3)
    assert found.holds(1.0)
    assert found.holds(8.0) is False


def test_with_two_bounds_the_interval_is_that_of_the_log_odds() -> None:
    # Mean 0.9, variance 4 x 0.0025 / 4, standard error 0.02236; log-odds ln 9 = 2.1972 with the
    # error 0.02236 / (0.9 x 0.1) = 0.24845, half width 2.7764 x 0.24845 = 0.6898.
    found = estimate([0.85, 0.85, 0.90, 0.95, 0.95], FRACTION)
    assert found.error == pytest.approx(0.24845, abs=1e-5)
    assert found.low == pytest.approx(1 / (1 + math.exp(-1.5074)), abs=1e-4)
    assert found.high == pytest.approx(1 / (1 + math.exp(-2.8870)), abs=1e-4)


def test_with_one_bound_the_interval_is_that_of_the_logarithm() -> None:
    # Mean 2, variance (1+1+0+1+1)/4 = 1, standard error of the logarithm sqrt(1/5) / 2 = 0.2236.
    factor = math.exp(2.7764 * 0.2236)
    above, below = estimate([1, 1, 2, 3, 3], AT_LEAST_0), estimate([0, 0, -1, -2, -2], AT_MOST_1)
    assert (above.low, above.high) == pytest.approx((2 / factor, 2 * factor), rel=1e-4)
    assert (below.low, below.high) == pytest.approx((1 - 2 * factor, 1 - 2 / factor), abs=1e-3)
    one = estimate([2, 2, 3, 4, 4], AT_LEAST_1)
    assert (one.low, one.high) == pytest.approx((1 + 2 / factor, 1 + 2 * factor), rel=1e-4)


def test_fewer_than_five_runs_have_a_range_and_one_has_nothing() -> None:
    found = estimate([3.0, 1.0, 2.0])
    assert found.to_dict() == {"mean": 2, "low": 1, "high": 3, "interval": "range"}
    assert found.holds(2.0) is None
    alone = estimate([5.0])
    assert alone.to_dict() == {"mean": 5.0, "low": None, "high": None, "interval": None}
    assert alone.holds(5.0) is None


@pytest.mark.parametrize("bounds", [ANY, AT_LEAST_0, AT_MOST_1, FRACTION, Bounds(low=0.5, high=1)])
def test_values_at_a_bound_and_equal_ones_have_an_interval_without_width(bounds: Bounds) -> None:
    for value in (0.75, 1.0):
        found = estimate([value] * 6, bounds)
        assert (found.mean, found.low, found.high) == (value, value, value)
    # The sum of six is not exactly six times the value.
    rounded = estimate([1 + 1e-16, 1, 1, 1, 1, 1], FRACTION)
    assert (rounded.low, rounded.high) == (1, 1)


# A distribution of each kind of figure: how its runs are drawn, its mean, its bounds.
Draw = tuple[object, float, Bounds]
RANDOM = np.random.default_rng(20260101)


def _share(shape: tuple[int, int]) -> np.ndarray:
    return RANDOM.beta(20, 3, shape)


def _small_share(shape: tuple[int, int]) -> np.ndarray:
    return RANDOM.beta(2, 30, shape)


def _jain_of_four(shape: tuple[int, int]) -> np.ndarray:
    goodputs = RANDOM.gamma(10, 1, (*shape, 4))
    indices: np.ndarray = goodputs.sum(-1) ** 2 / (4 * (goodputs**2).sum(-1))
    return indices


def _goodput(shape: tuple[int, int]) -> np.ndarray:
    return RANDOM.normal(480, 20, shape)


def _completion(shape: tuple[int, int]) -> np.ndarray:
    return RANDOM.lognormal(0, 0.3, shape)


def _loss_events(shape: tuple[int, int]) -> np.ndarray:
    return RANDOM.poisson(20, shape).astype(float)


def _timeouts(shape: tuple[int, int]) -> np.ndarray:
    return RANDOM.poisson(3, shape).astype(float)


@pytest.mark.parametrize("runs", [5, 10, 30])
@pytest.mark.parametrize(
    ("draw", "mean", "bounds"),
    [
        (_share, 20 / 23, FRACTION),
        (_small_share, 2 / 32, FRACTION),
        (_jain_of_four, None, Bounds(low=0.25, high=1)),
        (_goodput, 480, AT_LEAST_0),
        (_completion, math.exp(0.045), AT_LEAST_0),
        (_loss_events, 20, AT_LEAST_0),
        (_timeouts, 3, AT_LEAST_0),
    ],
)
def test_intervals_hold_the_true_mean_in_93_to_97_of_100_cases(
    draw: object, mean: float | None, bounds: Bounds, runs: int
) -> None:
    assert callable(draw)
    true = float(draw((1000, 400)).mean()) if mean is None else mean
    # The standard error of a coverage of 95 % over 4000 cases is 0.34 %.
    found = [estimate(list(row), bounds) for row in draw((4000, runs))]
    covered = sum(bool(one.holds(true)) for one in found) / len(found)
    assert 0.93 <= covered <= 0.97
    inside = [bounds.low <= (one.low or 0) and (one.high or 0) <= bounds.high for one in found]
    assert all(inside)


def test_an_estimate_is_written_with_the_ends_of_its_interval_or_its_range() -> None:
    form = Decimals(digits=2)
    even = Estimate(mean=0.5, low=0.4, high=0.6, runs=9)
    odd = Estimate(mean=0.9, low=0.8, high=0.95, runs=9)
    few = Estimate(mean=0.9, low=0.8, high=0.95, runs=3)
    written = [text(each, form) for each in (even, odd, few, estimate([0.5]))]
    assert written == ["0.50 [0.40, 0.60]", *["0.90 [0.80, 0.95]"] * 2, "0.50"]
    assert text(odd.to_dict(), form) == "0.90 [0.80, 0.95]"
    # What prints as a constant has no interval.
    assert text(Estimate(mean=0.5, low=0.4999, high=0.5001, runs=9), form) == "0.50"
    assert text(estimate([500.0] * 3), Decimals(digits=0)) == "500"
    assert "smallest and the largest of 3 runs" in legend(3)
    assert "95 % intervals" in legend(5)
    assert "those of one run" in legend(1)
    assert [count_of(count, "seed") for count in (1, 5)] == ["one seed", "5 seeds"]


def test_an_interval_has_one_unit_that_stands_behind_the_mean() -> None:
    days = Estimate(mean=417_300, low=328_000, high=527_000, runs=9)
    assert text(days, DURATION) == "4.8 d [3.8, 6.1]"
    assert text(Estimate(mean=20e6, low=14.7e6, high=25.3e6, runs=9), RATE) == (
        "20.0 Mbit/s [14.7, 25.3]"
    )
    assert text(Estimate(mean=-0.001, low=-0.1, high=0.12, runs=9), percent(0)) == "0 % [-10, 12]"
    assert text(estimate([0.25] * 6), percent(0)) == "25 %"


@pytest.mark.parametrize(
    ("spec", "shown"), [(".2f", "0.13"), (".3g", "0.125"), (".1e", "1.3e-1"), (",.0%", "13 %")]
)
def test_a_papers_format_gives_the_form_of_its_numbers(spec: str, shown: str) -> None:
    assert form_of(spec)(0.125001) == shown


def test_a_summary_has_the_shape_of_its_runs() -> None:
    runs = [
        {"seed": 1, "title": "t", "flows": [{"name": "a", "x": 1, "done": None}], "ok": True},
        {"seed": 2, "title": "t", "flows": [{"name": "a", "x": 3, "done": None}], "ok": False},
    ]
    found = summary(runs)
    assert found["flows"][0]["name"] == "a"
    assert found["flows"][0]["x"]["mean"] == 2
    assert found["flows"][0]["done"] is None
    assert found["ok"] is False
    assert "seed" not in found
    assert "title" not in found


def test_intervals_of_a_summary_stay_within_what_a_figure_can_be() -> None:
    def run(jain: float, share: float) -> dict[str, object]:
        flows = [{"name": name, "group": name, "role": "measured", "share": share} for name in "ab"]
        return {"flows": flows, "fairness": {"jain": jain, "jain_by_window": {"1": jain}}}

    # Student's interval of these indices would be 0.86 to 1.04, that of the shares -0.03 to 0.08.
    indices, shares = [0.8, 1, 1, 0.97, 0.98], [0.001, 0.001, 0.001, 0.02, 0.1]
    found = summary([run(*pair) for pair in zip(indices, shares, strict=True)])
    for index in (found["fairness"]["jain"], found["fairness"]["jain_by_window"]["1"]):
        assert 0.5 < index["low"] < 0.95 < index["high"] < 1
    assert 0 < found["flows"][0]["share"]["low"] < found["flows"][0]["share"]["high"] < 1


def test_a_number_that_some_runs_lack_is_the_mean_of_the_others() -> None:
    found = summary([{"x": None}, {"x": 4.0}, {"x": 6.0}])
    assert found["x"]["mean"] == 5


def test_flows_of_different_names_are_not_put_together() -> None:
    def run(*names: str) -> dict[str, object]:
        return {"flows": [{"name": name, "x": 1.0} for name in names]}

    with pytest.raises(ValueError, match="b and c are not the same"):
        summary([run("a", "b"), run("a", "c")])
    with pytest.raises(ValueError, match="shorter"):
        summary([run("a", "b"), run("a")])

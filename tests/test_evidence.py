"""Statements about means: evidence by hand, and how often families of them are judged wrongly."""

from __future__ import annotations

import numpy as np
import pytest

from fairhaul.statistics.estimate import FRACTION, Estimate, estimate
from fairhaul.statistics.evidence import Evidence, Judgement, all_of, below, judge, less, within

# Mean 4, standard error sqrt(8.5/5) = 1.3038, 4 degrees of freedom.
FIVE = estimate([1.0, 2.0, 3.0, 6.0, 8.0])


def test_the_evidence_is_that_of_students_distribution() -> None:
    # (4 - 1.2206) / 1.3038 = 2.1318 is the 95 % point of the printed table.
    found = below(FIVE, 1.2206)
    assert found is not None
    assert found.if_true == pytest.approx(0.05, abs=1e-4)
    assert found.if_false == pytest.approx(0.95, abs=1e-4)
    assert found.opposite == Evidence(if_false=found.if_true, if_true=found.if_false)


def test_on_a_scale_with_bounds_no_mean_is_beyond_them() -> None:
    shares = estimate([0.85, 0.85, 0.90, 0.95, 0.95], FRACTION)
    certain, impossible = below(shares, 1.0), below(shares, 0.0)
    assert (certain, impossible) == (
        Evidence(if_false=0, if_true=1),
        Evidence(if_false=1, if_true=0),
    )


def test_equal_runs_are_certain_and_a_tie_is_not() -> None:
    same = estimate([2.0] * 5)
    answers = judge([below(same, value) for value in (3.0, 1.0, 2.0)])
    assert answers == [True, False, None]


def test_too_few_runs_say_nothing() -> None:
    assert below(estimate([1.0, 1.1, 1.2, 1.3]), 9.0) is None
    assert below(None, 9.0) is None
    assert within(estimate([1.0]), 0.0, 9.0) is None


def test_a_band_needs_evidence_on_both_sides_and_is_refuted_on_one() -> None:
    assert judge([within(FIVE, -4, 12)]) == [True]
    assert judge([within(FIVE, 0, 5)]) == [None]
    assert judge([within(FIVE, 10, 20)]) == [False]


def test_runs_are_paired_by_their_seed() -> None:
    found = less({1: 1.0, 2: 3.0, 9: 5.0}, {9: 2.0, 1: 0.5, 3: 7.0}, factor=2.0)
    assert found == Estimate(mean=0.5, low=0.0, high=1.0, runs=2)
    assert less({1: 1.0}, {2: 1.0}) is None


def test_all_of_several_is_as_sure_as_its_weakest_part() -> None:
    sure, unsure = Evidence(if_false=0.001, if_true=0.999), Evidence(if_false=0.3, if_true=0.7)
    against = unsure.opposite
    assert all_of([sure, unsure, True]) == Evidence(if_false=0.3, if_true=1.0)
    assert all_of([sure, against]) == Evidence(if_false=0.7, if_true=0.6)
    assert all_of([sure, None]) == Evidence(if_false=1.0, if_true=0.999)
    assert (all_of([sure, False]), all_of([True, True]), all_of([None])) == (False, True, None)


def test_statements_are_judged_in_the_order_of_their_p_values() -> None:
    # Two-sided: 0.004, 0.03, 0.03 and 1; the bounds are 0.05 / 4, / 3, / 2: the second stops it.
    def at(chance: float) -> Evidence:
        return Evidence(if_false=chance, if_true=1 - chance)

    family: list[Judgement] = [at(0.015), at(0.002), True, None, at(0.015), at(0.5)]
    assert judge(family) == [None, True, True, None, None, None]
    assert judge([at(0.998)]) == [False]
    assert judge([at(0.015)]) == [True]


@pytest.mark.parametrize("cases", [1, 5, 20])
def test_a_family_of_true_equalities_is_judged_wrongly_at_most_in_5_of_100_cases(
    cases: int,
) -> None:
    random = np.random.default_rng(7)
    wrong = 0
    for _ in range(1000):
        runs = random.normal(3, 1, (cases, 8))
        answers = judge([below(estimate(list(row)), 3.0) for row in runs])
        wrong += any(answer is not None for answer in answers)
    # The standard error of 5 % over 1000 families is 0.7 %.
    assert wrong / 1000 <= 0.05 + 3 * 0.007

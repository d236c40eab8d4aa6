"""Fairness indices against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from fairhaul.measures.fairness import entitlement, jain, max_min, max_min_ratio

MANY = math.inf


@pytest.mark.parametrize(
    ("shares", "printed"),
    [
        ([29.79, 16.80, 14.38], 0.90),
        ([32.22, 26.61, 19.36], 0.96),
        ([44.85, 24.69, 19.92], 0.88),
    ],
)
def test_the_index_of_table_1_is_over_its_three_flows(shares: list[float], printed: float) -> None:
    index = jain(shares)  # [FHSTCP, Table 1]
    assert index is not None
    assert round(index, 2) == printed


def test_the_index_is_1_for_equals_and_1_over_n_for_one_that_has_all() -> None:
    assert jain([3.0, 3.0, 3.0]) == 1
    assert jain([5.0, 0.0, 0.0, 0.0]) == 0.25
    assert jain([0.0, 0.0]) is None
    assert jain([]) is None


def test_the_ratio_needs_a_smallest() -> None:
    assert max_min_ratio([2.0, 8.0, 4.0]) == 4
    assert max_min_ratio([2.0, 0.0]) is None
    assert max_min_ratio([]) is None


def test_one_link_is_filled_like_water() -> None:
    # 90 between three; one wants only 10: 10, and 80/2 = 40 for the others.
    assert max_min([90.0], [[0], [0], [0]], [10.0, MANY, MANY], [1, 1, 1]) == [10, 40, 40]


def test_a_full_link_upstream_leaves_capacity_downstream() -> None:
    # Link 0 (10) has flows 0 and 1: 5 each. Link 1 (100) has flows 1 and 2: 5, and 95 are left.
    assert max_min([10.0, 100.0], [[0], [0, 1], [1]], [MANY] * 3, [1, 1, 1]) == [5, 5, 95]


def test_four_connections_of_a_group_weigh_as_one_flow() -> None:
    # 80 between two groups: 40 each, the second in four parts.
    rates = max_min([80.0], [[0]] * 5, [MANY] * 5, [1, 0.25, 0.25, 0.25, 0.25])
    assert rates == pytest.approx([40, 10, 10, 10, 10])


def test_a_flow_with_a_cap_of_zero_gets_nothing() -> None:
    assert max_min([10.0], [[0], [0]], [0.0, MANY], [1, 1]) == [0, 10]


def test_without_a_link_and_a_cap_there_is_no_answer() -> None:
    with pytest.raises(ValueError, match="cap"):
        max_min([], [[]], [MANY], [1])


def test_a_capped_flow_that_gets_its_cap_is_treated_fairly() -> None:
    # 10 of 10 and 80 of 80: Jain's index of (1, 1).
    assert entitlement([10.0, 80.0], [10.0, 80.0]) == 1
    # 10 of 10 and 40 of 80: (1.5)^2 / (2 * 1.25) = 0.9.
    assert entitlement([10.0, 40.0], [10.0, 80.0]) == pytest.approx(0.9)
    assert entitlement([], []) is None

"""The distributions of the statistics, by closed forms and compared with scipy."""

from __future__ import annotations

import math
import random

import pytest
from scipy.special import stdtr, stdtrit
from scipy.stats import hypergeom

from fairhaul.statistics.distributions import (
    hypergeometric_tail,
    student_quantile,
    student_tail,
)

FREEDOMS = (1, 2, 3, 4, 5, 9, 19, 30, 99, 1000, 10_000)


def test_with_one_or_two_degrees_of_freedom_student_has_a_closed_form() -> None:
    for number in (-4.0, 0.0, 1e-9, 0.5, 1.0, 3.0, 40.0):
        one = 0.5 - math.atan(number) / math.pi
        two = 0.5 - number / math.sqrt(2 + number**2) / 2
        assert student_tail(1, number) == pytest.approx(one, rel=1e-13)
        assert student_tail(2, number) == pytest.approx(two, rel=1e-12)
    # tan(0.475 pi), and 0.95 sqrt(2 / (1 - 0.95^2)).
    assert student_quantile(1, 0.025) == pytest.approx(12.706204736174696, rel=1e-14)
    assert student_quantile(2, 0.025) == pytest.approx(4.302652729749462, rel=1e-14)


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_students_distribution_is_that_of_scipy(freedom: int) -> None:
    for step in range(-60, 61):
        number = step / 5 if abs(step) < 50 else step * 10.0
        expected = float(stdtr(freedom, -number))
        assert student_tail(freedom, number) == pytest.approx(expected, rel=1e-11, abs=1e-300)
    for tail in (0.25, 0.025, 0.005, 1e-6):
        expected = float(stdtrit(freedom, 1 - tail))
        assert student_quantile(freedom, tail) == pytest.approx(expected, rel=1e-9)
    for level in (0.95, 0.99):
        expected = float(stdtrit(freedom, (1 + level) / 2))
        assert student_quantile(freedom, (1 - level) / 2) == pytest.approx(expected, rel=1e-13)


def test_a_number_beyond_all_floats_has_no_tail() -> None:
    assert (student_tail(4, 1e200), student_tail(4, -1e200)) == (0.0, 1.0)


def test_the_lady_who_tastes_tea_is_right_by_chance_in_1_of_70_cases() -> None:
    # 4 cups of 8, all 4 recognised: 1 of the 70 choices; at least 3: 1 + 4 x 4 of them.
    assert hypergeometric_tail(8, 4, 4, 4) == 1 / 70
    assert hypergeometric_tail(8, 4, 4, 3) == 17 / 70
    assert hypergeometric_tail(8, 4, 4, 0) == 1


def test_the_hypergeometric_distribution_is_that_of_scipy() -> None:
    draw = random.Random(1)
    for _ in range(300):
        total = draw.choice((2, 8, 40, 400))
        marked, drawn = draw.randint(0, total), draw.randint(0, total)
        least = draw.randint(0, min(marked, drawn))
        expected = float(hypergeom.sf(least - 1, total, marked, drawn))
        found = hypergeometric_tail(total, marked, drawn, least)
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-15)

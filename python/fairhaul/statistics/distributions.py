"""Student's and the hypergeometric distribution, as far as intervals and tests need them."""

from __future__ import annotations

import math
from functools import cache

# More of Newton's steps than a quantile takes: the first double it, the last its digits.
STEPS = 100


@cache
def student_quantile(freedom: int, tail: float) -> float:
    """Give the number that Student's distribution exceeds with probability `tail`, below 0.5.

    The steps are Newton's. From 0 on the probability falls ever more slowly, so none leads too far.
    """
    number = 0.0
    for _ in range(STEPS):
        density = _density_at_0(freedom) * (1 + number**2 / freedom) ** (-(freedom + 1) / 2)
        step = (student_tail(freedom, number) - tail) / density
        if number + step <= number:
            break
        number += step
    return number


def student_tail(freedom: int, number: float) -> float:
    """Give the probability that Student's distribution with `freedom` degrees exceeds `number`.

    Source: [DLMF, 8.17.4, 8.17.22], with the incomplete beta function of freedom / 2 and 1 / 2.
    """
    if number < 0:
        return 1 - student_tail(freedom, -number)
    ratio = number * number / freedom
    if math.isinf(ratio):
        return 0.0
    common = _density_at_0(freedom) * number * math.exp(-freedom / 2 * math.log1p(ratio))
    common /= math.sqrt(1 + ratio)
    # Where one fraction converges slowly, the other is used.
    if ratio * (freedom + 2) < 3:
        return 0.5 - common * _fraction(0.5, freedom / 2, ratio / (1 + ratio))
    return common / freedom * _fraction(freedom / 2, 0.5, 1 / (1 + ratio))


def hypergeometric_tail(total: int, marked: int, drawn: int, least: int) -> float:
    """Give the probability of `least` or more marked items among `drawn` of `total` items.

    `marked` of all items are marked, and `least` is at most `drawn`. The sum is one of integers, so
    that the result is the nearest float.
    """
    first = max(least, drawn + marked - total, 0)
    ways = math.comb(marked, first) * math.comb(total - marked, drawn - first)
    favourable = 0
    for count in range(first, min(marked, drawn) + 1):
        favourable += ways
        ways *= (marked - count) * (drawn - count)
        ways //= (count + 1) * (total - marked - drawn + count + 1)
    return favourable / math.comb(total, drawn)


@cache
def _density_at_0(freedom: int) -> float:
    """Student's density at 0: that of 1 or 2 degrees, times what each two more change."""
    least = 2 - freedom % 2
    start = 1 / math.pi if least == 1 else 1 / math.sqrt(8)
    return start * math.prod((k + 1) / math.sqrt(k * (k + 2)) for k in range(least, freedom, 2))


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, from its last term that counts."""
    below = 1.0
    for m in range(25 + 2 * math.isqrt(int(a + b)), 0, -1):
        below = 1 + m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) / below
        below = 1 - (a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1)) / below
    return 1 / below

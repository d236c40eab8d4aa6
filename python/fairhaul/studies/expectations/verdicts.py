"""Verdicts: whether a number is within its bounds, by its interval over several runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fairhaul.statistics.estimate import ANY, LEAST_RUNS, Bounds, Estimate, estimate

Verdict = Literal["met", "not met", "undecided"]

MET: Verdict = "met"
NOT_MET: Verdict = "not met"
UNDECIDED: Verdict = "undecided"


def verdict(
    values: Sequence[float | None] | Estimate,
    at_least: float | None = None,
    at_most: float | None = None,
    bounds: Bounds = ANY,
) -> Verdict:
    """Judge the numbers of several runs, or their estimate.

    The verdict is `met` if the whole 95 % interval is within the bounds, `not met` if the whole
    interval is outside on one side, and `undecided` otherwise. Fewer than five runs have no
    interval and decide nothing. A run without the number (None) is never within the bounds: if no
    run has it, the verdict is `not met`, and if some lack it, it is not `met`.

    Args:
        values: a number for each run, or their estimate.
        at_least: the smallest number that is expected.
        at_most: the largest number that is expected.
        bounds: the smallest and the largest value that the number can have.
    """
    if isinstance(values, Estimate):
        return _of_estimate(values, at_least, at_most)
    given = [value for value in values if value is not None]
    if len(values) < LEAST_RUNS:
        return UNDECIDED
    if not given:
        return NOT_MET
    found = _of_estimate(estimate(given, bounds), at_least, at_most)
    return found if len(given) == len(values) or found == NOT_MET else UNDECIDED


def _of_estimate(of: Estimate, at_least: float | None, at_most: float | None) -> Verdict:
    if (ends := of.ends()) is None:
        return UNDECIDED
    low, high = ends
    if (at_least is not None and high < at_least) or (at_most is not None and low > at_most):
        return NOT_MET
    above = at_least is None or low >= at_least
    below = at_most is None or high <= at_most
    return MET if above and below else UNDECIDED


def disagree(one: Estimate | None, other: Estimate | None) -> bool | None:
    """Whether two 95 % intervals have no number in common; None if there are not two."""
    ends = [of.ends() for of in (one, other) if of is not None]
    if len(ends) != len((one, other)) or None in ends:
        return None
    (low, high), (other_low, other_high) = (pair for pair in ends if pair is not None)
    return high < other_low or other_high < low

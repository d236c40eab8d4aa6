"""Statements about means, judged together so that a stated error rate holds for all of them.

The method is described in `docs/statistics.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairhaul.statistics.distributions import student_tail
from fairhaul.statistics.estimate import LEAST_RUNS, LEVEL, Estimate, estimate

if TYPE_CHECKING:
    from typing import TypeAlias

# The probability that any statement of a family is judged wrongly is at most this.
FAMILY_ERROR = 1 - LEVEL


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """How probable results like those of the runs are: if a statement is false, and if it is true.

    Both are one-sided p-values: a small `if_false` supports the statement, and a small `if_true`
    speaks against it.
    """

    if_false: float
    if_true: float

    @property
    def opposite(self) -> Evidence:
        """The evidence for the opposite statement."""
        return Evidence(if_false=self.if_true, if_true=self.if_false)


# Evidence, or a statement that is known to be true or false, or about which nothing is known.
Judgement: TypeAlias = "Evidence | bool | None"


def less(
    ours: Mapping[int, float], theirs: Mapping[int, float], factor: float = 1.0
) -> Estimate | None:
    """Estimate a number of a case less `factor` times that of another, from pairs of runs.

    `ours` and `theirs` are the numbers by seed; a pair is two runs of one seed. None without pairs.
    """
    pairs = [(ours[seed], theirs[seed]) for seed in sorted(ours) if seed in theirs]
    return estimate([mine - factor * other for mine, other in pairs]) if pairs else None


def below(mean: Estimate | None, value: float) -> Evidence | None:
    """Give the evidence for "the mean is below `value`"; None with fewer than five runs."""
    if mean is None or mean.runs < LEAST_RUNS:
        return None
    distance = mean.bounds.scaled(value) - mean.bounds.scaled(mean.mean)
    if mean.error == 0 or math.isinf(distance) or math.isnan(distance):
        # All runs have the same number, or none can be on the other side.
        is_below, is_above = mean.mean < value, mean.mean > value
        return Evidence(
            if_false=0.0 if is_below else 1.0 - 0.5 * (not is_above),
            if_true=0.0 if is_above else 1.0 - 0.5 * (not is_below),
        )
    far = distance / mean.error
    freedom = mean.runs - 1
    return Evidence(if_false=student_tail(freedom, far), if_true=student_tail(freedom, -far))


def within(mean: Estimate | None, low: float, high: float) -> Evidence | None:
    """Give the evidence for "the mean is from `low` to `high`"; None with fewer than five runs.

    It takes evidence on both sides to support it, and on one side to refute it.
    """
    too_low, low_enough = below(mean, low), below(mean, high)
    return both(too_low and too_low.opposite, low_enough)


def both(at_least: Evidence | None, at_most: Evidence | None) -> Evidence | None:
    """Give the evidence for "at least and at most", of which only one can be false."""
    if at_least is None or at_most is None:
        return None
    return Evidence(
        if_false=max(at_least.if_false, at_most.if_false),
        if_true=min(at_least.if_true, at_most.if_true),
    )


def all_of(parts: Sequence[Judgement]) -> Judgement:
    """Give the evidence for "all of `parts` are true".

    Its weakest part supports the statement; a single part refutes it, for which the p-value is
    multiplied by the number of parts [BONFERRONI].
    """
    if any(part is False for part in parts):
        return False
    weighed = [part for part in parts if isinstance(part, Evidence)]
    refuted = min((part.if_true for part in weighed), default=1.0) * len(weighed)
    if any(part is None for part in parts):
        return Evidence(if_false=1.0, if_true=min(refuted, 1.0)) if weighed else None
    if not weighed:
        return True
    return Evidence(if_false=max(part.if_false for part in weighed), if_true=min(refuted, 1.0))


def judge(family: Sequence[Judgement]) -> list[bool | None]:
    """Judge statements together: true, false, or None where the evidence does not suffice.

    The step-down procedure of Holm bounds the probability that any of them is judged wrongly by
    `FAMILY_ERROR`, whether or not they are independent.

    Source: [HOLM].
    """
    answers: list[bool | None] = [None if isinstance(j, Evidence) else j for j in family]
    weighed = [
        (min(2 * min(each.if_false, each.if_true), 1.0), place)
        for place, each in enumerate(family)
        if isinstance(each, Evidence)
    ]
    for rank, (chance, place) in enumerate(sorted(weighed)):
        if chance > FAMILY_ERROR / (len(weighed) - rank):
            break
        each = family[place]
        assert isinstance(each, Evidence)
        answers[place] = each.if_false < each.if_true
    return answers

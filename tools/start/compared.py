"""Rules compared with another one, in pairs of runs of one seed, and judged together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from fairhaul.statistics.estimate import Estimate, estimate
from fairhaul.statistics.evidence import below, judge, less
from tools.start.runs import Case

Run = TypeVar("Run")
Number = Callable[[Run], float]
# The runs of each rule, by seed, for each case.
Of = Mapping[Case, Mapping[str, Sequence[Run]]]


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A number with a rule over that with another one: the geometric mean over cases, by seed.

    `less` and `more` are the cases in which the number is smaller or larger beyond chance, of
    `cases`; all cases and rules of a table are judged together.
    """

    ratio: Estimate
    less: Sequence[Case]
    more: Sequence[Case]
    cases: int


def ratios(runs: Of[Run], base: str, number: Number[Run]) -> dict[str, Ratio]:
    """Compare every rule with `base`."""
    rules = [rule for rule in next(iter(runs.values())) if rule != base]
    logs = {rule: _logs(runs, rule, base, number) for rule in rules}
    family = [(rule, case) for rule in rules for case in runs]
    judged = judge([below(estimate(logs[rule][case]), 0.0) for rule, case in family])
    answers = dict(zip(family, judged, strict=True))
    return {
        rule: Ratio(
            ratio=_exp(estimate([fmean(seed) for seed in zip(*logs[rule].values(), strict=True)])),
            less=[case for case in runs if answers[rule, case] is True],
            more=[case for case in runs if answers[rule, case] is False],
            cases=len(runs),
        )
        for rule in rules
    }


def differences(
    runs: Of[Run], base: str, number: Number[Run]
) -> dict[tuple[Case, str], bool | None]:
    """Say for every case and rule whether the number is smaller than with `base`, beyond chance.

    True is smaller, False larger, None neither; all are judged together. The number may be 0.
    """

    def by_seed(of: Sequence[Run]) -> dict[int, float]:
        return dict(enumerate(map(number, of)))

    family = [(case, rule) for case, of in runs.items() for rule in of if rule != base]
    found = [less(by_seed(runs[case][rule]), by_seed(runs[case][base])) for case, rule in family]
    return dict(zip(family, judge([below(of, 0.0) for of in found]), strict=True))


def parts(runs: Of[Run], axis: int) -> Iterator[tuple[str, Of[Run]]]:
    """Divide cases by the value of one of their keys."""
    for value in dict.fromkeys(case[axis] for case in runs):
        yield value, {case: of for case, of in runs.items() if case[axis] == value}


def _logs(runs: Of[Run], rule: str, base: str, number: Number[Run]) -> Mapping[Case, list[float]]:
    """Give the logarithm of the ratio for each seed; what is the same in both has 0."""
    return {
        case: [
            math.log(number(mine) / number(other)) if number(mine) != number(other) else 0.0
            for mine, other in zip(of[rule], of[base], strict=True)
        ]
        for case, of in runs.items()
    }


def _exp(of: Estimate) -> Estimate:
    """Give the estimate of the ratio whose logarithm was estimated."""
    low, high = (None if end is None else math.exp(end) for end in (of.low, of.high))
    return Estimate(mean=math.exp(of.mean), low=low, high=high, runs=of.runs)

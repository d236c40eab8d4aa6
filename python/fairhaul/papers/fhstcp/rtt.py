"""RTT unfairness [FHSTCP, 1]: how throughput falls with the round trip, as a power of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairhaul.estimate import estimate
from fairhaul.papers.experiment import Measured, Results, below, within

if TYPE_CHECKING:
    from fairhaul.estimate import Estimate
    from fairhaul.papers.claims import Answers

# How far the power may be from the paper's 1 to count as such.
NEAR = 0.25


def exponent(results: Results, name: str) -> Estimate | None:
    """Fit how a controller's throughput falls with the round trip: as its power of minus what.

    Least squares over the logarithms of all ratios, for each seed.
    """
    ratios = [ratio for ratio, controller in results.runs if controller == name and ratio != "1"]
    slopes = []
    for runs in zip(*(results.runs[ratio, name] for ratio in ratios), strict=True):
        pairs = [
            (math.log(float(ratio)), math.log(run["ratio"]))
            for ratio, run in zip(ratios, runs, strict=True)
            if run["ratio"]
        ]
        if pairs:
            slopes.append(sum(x * y for x, y in pairs) / sum(x * x for x, _ in pairs))
    return estimate(slopes) if slopes else None


def inverse(results: Results) -> tuple[Answers, list[Measured]]:
    """Whether throughputs under FHSTCP are as the inverse of the round trips."""
    powers = _powers(results)
    return [within(powers["fhstcp"], 1 - NEAR, 1 + NEAR)], _measured(powers)


def less_unfair(results: Results) -> tuple[Answers, list[Measured]]:
    """Whether throughput falls less with the round trip under FHSTCP than under each other."""
    ours, *others = (powers := _powers(results)).values()
    return [below(ours, other) for other in others], _measured(powers)


def _powers(results: Results) -> dict[str, Estimate | None]:
    controllers = dict.fromkeys(controller for _, controller in results.runs)
    return {name: exponent(results, name) for name in controllers}


def _measured(powers: dict[str, Estimate | None]) -> list[Measured]:
    return [Measured(number="power", case=n, ours=power, form=".2f") for n, power in powers.items()]

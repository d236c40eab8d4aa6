"""RTT unfairness [FHSTCP, 1]: how throughput falls with the round trip, as a power of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairhaul.statistics.estimate import estimate
from fairhaul.statistics.evidence import below, less, within
from fairhaul.studies.papers.results import Measured, Results

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.studies.papers.claims import Judgements

# How far the power may be from the paper's 1 to count as such.
NEAR = 0.25


def exponents(results: Results, name: str) -> dict[int, float]:
    """Fit how a controller's throughput falls with the round trip: as its power of minus what.

    Least squares over the logarithms of all ratios, for each seed.
    """
    pairs: dict[int, list[tuple[float, float]]] = {}
    for key in results.runs:
        ratio, controller = key
        if controller == name and ratio != "1":
            for seed, of_goodputs in results.by_seed(key, "ratio").items():
                if of_goodputs:
                    pair = math.log(float(ratio)), math.log(of_goodputs)
                    pairs.setdefault(seed, []).append(pair)
    return {
        seed: sum(x * y for x, y in each) / sum(x * x for x, _ in each)
        for seed, each in pairs.items()
    }


def inverse(results: Results) -> tuple[Judgements, list[Measured]]:
    """Whether throughputs under FHSTCP are as the inverse of the round trips."""
    powers = _powers(results)
    ours = list(powers["fhstcp"].values())
    held = within(estimate(ours), 1 - NEAR, 1 + NEAR) if ours else None
    return [held], _measured(powers)


def less_unfair(results: Results) -> tuple[Judgements, list[Measured]]:
    """Whether throughput falls less with the round trip under FHSTCP than under each other."""
    ours, *others = (powers := _powers(results)).values()
    return [below(less(ours, other), 0.0) for other in others], _measured(powers)


def _powers(results: Results) -> dict[str, Mapping[int, float]]:
    controllers = dict.fromkeys(controller for _, controller in results.runs)
    return {name: exponents(results, name) for name in controllers}


def _measured(powers: Mapping[str, Mapping[int, float]]) -> list[Measured]:
    return [
        Measured(
            number="power",
            case=name,
            ours=estimate(list(power.values())) if power else None,
            form=".2f",
        )
        for name, power in powers.items()
    ]

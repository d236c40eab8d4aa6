"""The smallest place that still shows nearly all of a weakness, and whether it holds over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from fairhaul.statistics.estimate import Estimate, estimate
from fairhaul.studies.attack.box import Box
from fairhaul.studies.attack.impairments import NONE
from fairhaul.studies.attack.place import Place
from fairhaul.studies.attack.trials import Trial, Trials

# What a smaller place has to show of the value.
KEPT = 0.9
PASSES = 4
LEAST_ROUND_TRIPS, LEAST_S = 200.0, 5.0
STEPS = (1.0, 2.0, 5.0, 10.0)
# The mildest value of each property; what a place has without it.
WITHOUT: Mapping[str, Any] = {
    **{"loss": 0.0, "dip": 1.0, "rivals_start": 0.0, "rivals_rtt": 1.0},
    **{"impairment": NONE, "size": 0.0, "offload": "off", "ecn": "off", "buffers": "large"},
}
DROPTAIL = '{"kind" = "droptail"}'


@dataclass(frozen=True, kw_only=True)
class Held:
    """A place with its value over seeds that the search has not used."""

    place: Place
    trials: Sequence[Trial]
    estimate: Estimate

    def holds(self, weak: float) -> bool:
        """Whether the whole interval counts as a weakness."""
        return self.estimate.low is not None and self.estimate.low >= weak

    def to_dict(self) -> dict[str, Any]:
        """Give the place and its value as they are printed in JSON."""
        return {"place": self.place.to_dict(), "value": self.estimate.to_dict()}


def over_seeds(trials: Trials, places: Sequence[Place], seeds: Sequence[int]) -> list[Held]:
    """Run places with several seeds."""
    bounds = trials.objective.bounds
    return [
        Held(
            place=place,
            trials=found,
            estimate=estimate([trial.value for trial in found], bounds),
        )
        for place, found in zip(places, trials.run(places, seeds), strict=True)
    ]


def shrink(
    box: Box, trials: Trials, place: Place, value: float, seeds: Sequence[int], packets: float
) -> list[Place]:
    """Simplify a place as long as its mean over seeds keeps nine tenths of the value.

    It ends when nothing can be simplified any more, or when `packets` are spent. The result are all
    steps, from the place itself to the smallest.
    """
    steps = [_milder, _fewer, _shorter, _rounded, _slower, _tidier]
    if not trials.objective.shorten:
        steps.remove(_shorter)
    chain = [place]
    for _ in range(PASSES):
        before = place
        for step in steps:
            for smaller in step(box, place):
                if smaller == place:
                    continue
                if trials.packets >= packets:
                    return chain
                if _keeps(trials, smaller, seeds, KEPT * value):
                    place = smaller
                    chain.append(place)
                    break
        if place == before:
            break
    return chain


def _keeps(trials: Trials, place: Place, seeds: Sequence[int], least: float) -> bool:
    """Whether the mean over seeds is at least a value, and each seed shows a weakness."""
    weak = trials.objective.weak
    # One seed is often enough to reject a place.
    ((first,),) = trials.run([place], seeds[:1])
    if first.value < weak:
        return False
    (found,) = trials.run([place], seeds)
    values = [trial.value for trial in found]
    return min(values) >= weak and fmean(values) >= least


# Each step gives places that are simpler in one way, the simplest first.


def _milder(box: Box, place: Place) -> Iterator[Place]:
    """Without all impairments, or without one of them."""
    without = _inside(box, WITHOUT)
    every, *each = _all_or_one(place, without)
    yield every
    if DROPTAIL in box.queue:
        yield replace(place, queue=DROPTAIL)
    yield from each


def _fewer(box: Box, place: Place) -> Iterator[Place]:
    """With the fewest flows, or fewer of one group."""
    fewest = {name: int(getattr(box, name).low) for name in ("flows", "rivals")}
    yield _with(place, fewest)
    for name, least in fewest.items():
        for count in range(least, getattr(place, name)):
            yield _with(place, {name: count})


def _shorter(_: Box, place: Place) -> Iterator[Place]:
    for part in (4, 2):
        trips = max(place.round_trips / part, LEAST_ROUND_TRIPS)
        yield replace(
            place,
            round_trips=min(trips, place.round_trips),
            least_s=min(max(place.least_s / part, LEAST_S), place.least_s),
        )


def _rounded(box: Box, place: Place) -> Iterator[Place]:
    """With all numbers rounded to 1, 2, 5 or 10, or to one digit, or one of the numbers."""
    for rounding in (_to_step, lambda value: float(f"{value:.1g}")):
        values = {name: rounding(getattr(place, field)) for name, field in NUMBERS.items()}
        yield from _all_or_one(place, _inside(box, values))


def _slower(box: Box, place: Place) -> Iterator[Place]:
    """At a lower rate, with the smaller buffer that this makes."""
    for rate in (_below(place.rate_mbps / 2.5), _below(place.rate_mbps)):
        if box.rate.holds(rate):
            yield replace(place, rate_mbps=rate)


def _tidier(box: Box, place: Place) -> Iterator[Place]:
    """With two digits of each number, and tenths of the run."""
    values = {name: float(f"{getattr(place, field):.2g}") for name, field in NUMBERS.items()}
    tenths = {name: round(getattr(place, name), 1) for name in ("dip", "rivals_start", "strength")}
    yield from _all_or_one(place, _inside(box, {**values, **tenths}))


# The ranges of the box with the numbers of a place that belong to them.
NUMBERS = {
    "rate": "rate_mbps",
    "rtt": "rtt_ms",
    "buffer": "buffer_bdp",
    "loss": "loss",
    "rivals_rtt": "rivals_rtt",
    "size": "size_bdp",
}


def _with(place: Place, values: Mapping[str, Any]) -> Place:
    if not values.get("rivals", place.rivals):
        values = {**values, "rivals_rtt": 1.0, "rivals_start": 0.0}
    if values.get("impairment", place.impairment) == NONE:
        values = {**values, "strength": 0.0}
    return replace(place, **values)


def _all_or_one(place: Place, values: Mapping[str, Any]) -> Iterator[Place]:
    """Change all values of a place, and then one at a time."""
    yield _with(place, values)
    for name, value in values.items():
        yield _with(place, {name: value})


def _inside(box: Box, values: Mapping[str, Any]) -> dict[str, Any]:
    """Give the values that are in their ranges of the box, by the names that a place has."""
    return {
        NUMBERS.get(name, name): value
        for name, value in values.items()
        if getattr(box, name).holds(value)
    }


def _to_step(value: float) -> float:
    """Give the nearest of 1, 2, 5 and 10 times a power of ten."""
    if value <= 0:
        return value
    power = 10.0 ** math.floor(math.log10(value))
    step = min(STEPS, key=lambda step: abs(math.log(step * power / value)))
    return float(f"{step * power:.3g}")


def _below(value: float) -> float:
    """Give the largest of 1, 2 and 5 times a power of ten that is smaller."""
    power = 10.0 ** math.floor(math.log10(value))
    steps = [step * scale for scale in (power / 10, power) for step in STEPS[:3]]
    return float(f"{max(step for step in steps if step < value * (1 - 1e-9)):.3g}")

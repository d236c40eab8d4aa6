"""The model of a path, corrected until its simulation gives what was measured.

Goodput, the waiting times of packets and the share of losses of the simulation are compared with
the capture. Rate, buffer, burst and random loss are corrected by a pattern search within what the
fit of the trace did not exclude; then each is changed alone, for its interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, variance
from typing import Any, Literal

from fairhaul.jobs.values import Running
from fairhaul.studies.explanation.estimate import Estimate
from fairhaul.studies.explanation.measured import Measured
from fairhaul.studies.explanation.model import Model
from fairhaul.studies.explanation.results import FRAME_BYTES, Path
from fairhaul.studies.explanation.simulated import (
    Simulated,
    Times,
    mean_of,
    simulated,
    times_of,
)

Key = Literal["rate_bps", "buffer_bytes", "burst_bytes", "loss"]
KEYS: Mapping[str, Sequence[Key]] = {
    "queue": ("rate_bps", "buffer_bytes", "loss"),
    "policer": ("rate_bps", "burst_bytes"),
    "shaper": ("rate_bps", "buffer_bytes", "burst_bytes", "loss"),
}

# What counts as one unit of discrepancy beside the spread between seeds: a part of the goodput, of
# the round-trip time (and at least this long), and a factor of the share of losses.
GOODPUT, WAIT, WAIT_S, LOSSES = 0.05, 0.1, 0.002, math.log(1.5)
# Such a discrepancy needs no correction.
SMALL = 1.0
# Values are not excluded if they raise the discrepancy by less: a 90 % quantile of chi squared.
NEAR = 2.71
# Runs of each model, models that are tried at most, the smallest step of a factor, and the steps
# for an interval.
SEEDS, MOST_TRIED, LEAST_STEP, EDGE, EDGES = 3, 30, 0.02, math.log(1.12), 4
# How far a bound, and a buffer that is not known, may be corrected, as a factor; other values stay
# in their intervals.
BEYOND_BOUND, BEYOND_BUFFER = 8.0, 16.0
# A loss of 0 whose interval ends above it is corrected from this part of that end on.
LEAST_LOSS = 1 / 64
# Processor time of one run at most, in seconds of the budget's packets.
RUN_S = 0.1


@dataclass(frozen=True, kw_only=True)
class Refit:
    """A corrected model, what its simulation gives, and how far that is from the capture.

    `intervals` are the values of each key that are not excluded. `tried` is the number of models.
    """

    model: Model
    simulated: Simulated
    discrepancy: float
    intervals: Mapping[Key, tuple[float, float]]
    tried: int
    times: Times

    def values(self) -> dict[str, Any]:
        """Give the object of JSON."""
        corrected = {}
        for key, (low, high) in self.intervals.items():
            corrected[key] = {"value": _value(self.model, key), "low": low, "high": high}
        return {
            "path": corrected,
            "goodput_bps": self.simulated.goodput_bps,
            "waits_s": list(self.simulated.waits_s),
            "loss_rate": self.simulated.loss_rate,
            "discrepancy": self.discrepancy,
            "models": self.tried,
        }

    def goodput_error(self, measured: Measured) -> float:
        """Give the part by which the simulated goodput is above the measured one."""
        return self.simulated.goodput_bps / measured.goodput_bps - 1


def refit(model: Model, path: Path, measured: Measured, running: Running) -> Refit:
    """Correct a model.

    Args:
        model: what was found without a simulation.
        path: the same with its intervals.
        measured: what connections over the path showed.
        running: how the runs are run.
    """
    times = times_of(measured, model, RUN_S)
    ranges = dict(_ranges(model, path))
    tried: dict[tuple[float, ...], tuple[float, Model, Simulated]] = {}

    def judged(of: Model) -> float:
        at = tuple(_value(of, key) for key in ranges)
        if at not in tried:
            (runs,) = simulated([of], times, SEEDS, running)
            tried[at] = (discrepancy(runs, measured, model.rtt_s), of, mean_of(runs))
        return tried[at][0]

    best = _searched(model, ranges, judged, lambda: len(tried))
    intervals = {key: _interval(best, key, ranges[key], judged) for key in ranges}
    least, best, mean = min(tried.values(), key=lambda of: of[0])
    return Refit(
        model=best,
        simulated=mean,
        discrepancy=least,
        intervals=intervals,
        tried=len(tried),
        times=times,
    )


def discrepancy(runs: Sequence[Simulated], measured: Measured, rtt_s: float) -> float:
    """Say how far simulations are from what was measured, as a sum of squares."""
    # A packet more, so that a share of 0 has a logarithm.
    least = 1 / max(measured.sent, 1.0)
    lost = math.log(measured.loss_rate + least)
    total = _square(
        [math.log(max(run.goodput_bps, 1.0) / measured.goodput_bps) for run in runs], GOODPUT
    )
    total += _square([math.log(run.loss_rate + least) - lost for run in runs], LOSSES)
    for at, wait in enumerate(measured.waits_s):
        unit_s = max(WAIT_S, WAIT * (rtt_s + wait))
        total += _square([run.waits_s[at] - wait for run in runs], unit_s)
    return total


def _square(differences: Sequence[float], unit: float) -> float:
    """Give the square of the mean of differences, by the unit and what a single run varies by."""
    varies = variance(differences) if len(differences) > 1 else 0.0
    return fmean(differences) ** 2 / (unit**2 + varies * (1 + 1 / len(differences)))


def _ranges(model: Model, path: Path) -> Iterator[tuple[Key, tuple[float, float]]]:
    """Give the bounds of each value that may be corrected."""
    bucket = path.policer or path.shaper
    found: dict[Key, Estimate | None] = {
        "rate_bps": path.rate_bps if bucket is None else bucket.rate_bps,
        "buffer_bytes": path.buffer_bytes,
        "burst_bytes": None if bucket is None else bucket.burst_bytes,
        "loss": path.loss,
    }
    for key in KEYS[model.kind]:
        value, known = _value(model, key), found[key]
        if value <= 0:
            if key == "loss" and known is not None and known.high:
                yield key, (LEAST_LOSS * known.high, known.high)
            continue
        if known is None:
            low, high = value / BEYOND_BUFFER, value * BEYOND_BUFFER
        elif known.high is None:
            low, high = value, value * BEYOND_BOUND
        else:
            low, high = max(known.low, value / BEYOND_BOUND), known.high
        if key in ("buffer_bytes", "burst_bytes"):
            low = max(low, FRAME_BYTES)
        yield key, (min(low, value), max(high, value))


def _searched(
    model: Model,
    ranges: Mapping[Key, tuple[float, float]],
    judged: Callable[[Model], float],
    count: Callable[[], int],
) -> Model:
    """Search the model with the least discrepancy: one value at a time, in smaller steps."""
    best, least = model, judged(model)
    step = {key: max(0.25 * math.log(high / low), 0.05) for key, (low, high) in ranges.items()}
    while least > SMALL and count() < MOST_TRIED and max(step.values(), default=0) > LEAST_STEP:
        before = least
        for key, bounds in ranges.items():
            for sign in (1, -1):
                other = _changed(best, key, sign * step[key], bounds)
                if (found := judged(other)) < least:
                    best, least = other, found
                    break
        if least >= before:
            step = {key: of / 2 for key, of in step.items()}
    return best


def _interval(
    best: Model, key: Key, bounds: tuple[float, float], judged: Callable[[Model], float]
) -> tuple[float, float]:
    """Give the values that are not excluded, if all others stay."""
    least, ends = judged(best), [_value(best, key)]
    for sign in (-1, 1):
        edge = best
        for _ in range(EDGES):
            other = _changed(edge, key, sign * EDGE, bounds)
            if other == edge or judged(other) > least + NEAR:
                break
            edge = other
        ends.append(_value(edge, key))
    return min(ends), max(ends)


def _value(model: Model, key: Key) -> float:
    value = getattr(model, key)
    return 0.0 if value is None else float(value)


def _changed(model: Model, key: Key, step: float, bounds: tuple[float, float]) -> Model:
    low, high = bounds
    # From 0 the first step leads to the middle.
    value = _value(model, key) * math.exp(step) or math.sqrt(low * high)
    value = min(max(value, low), high)
    return replace(model, **{key: value})  # type: ignore[arg-type]

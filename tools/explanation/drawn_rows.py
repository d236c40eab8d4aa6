"""The rows of the table of simulated captures: how much of each cause was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tools.explanation.drawn_paths import CAUSES, Drawn
from tools.explanation.halves import Halves
from tools.explanation.rows import BURST, PAUSE_S, RATE, RTT, counted, half_rows

Pair = tuple[Drawn, "Found"]
Value = Mapping[str, Any]
# How far a probability of random loss may be from the truth, as a factor.
LOSS = 1.5
# Where nothing is said of it.
NO_LOSS: Value = {"low": 0.0, "high": 0.0}


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was found in a capture.

    `path` is that of JSON, `chunks` says of each whether it was policed, and `pauses` are their
    starts and lengths in seconds.
    """

    path: Value
    chunks: Sequence[bool]
    pauses: Sequence[tuple[float, float]]
    halves: Halves | None

    @classmethod
    def of(cls, kept: Value) -> Found:
        """Read what was kept."""
        split = kept["halves"]
        return cls(**{**kept, "halves": None if split is None else Halves(**split)})

    @property
    def is_policed(self) -> bool:
        """Whether a policer was found."""
        return self.path["policer"] is not None

    @property
    def rate(self) -> Value | None:
        """The rate of the policer, the shaper or the link."""
        bucket = self.path["policer"] or self.path["shaper"]
        rate: Value | None = (bucket or self.path)["rate_bps"]
        return rate


def rows(each: Sequence[Pair]) -> list[list[str]]:
    """Give all rows: what is counted, how many were found, of how many, in percent, the aim."""
    by = {cause: [pair for pair in each if pair[0].cause == cause] for cause in CAUSES}
    policed = [pair for pair in by["policer"] if pair[1].is_policed]
    reached = [pair for pair in policed if pair[1].path["policer"]["rate_bps"]["high"] is not None]
    bound = [pair for pair in policed if pair not in reached]
    shaped = [pair for pair in by["shaper"] if pair[1].path["shaper"] is not None]
    full = [pair for pair in by["overflow"] if _is_known(pair[1].path["buffer_bytes"])]
    lossy = [pair for pair in by["random"] if (pair[1].path["loss"] or NO_LOSS)["low"] > 0]
    paused = [pair for pair in each if pair[0].pause_s is not None]
    others = [cause for cause in CAUSES if cause != "policer"]
    return [
        _row("captures policed", by["policer"], _policed),
        _chunks("policed", by["policer"]),
        _row("policers: rate within 5 %, where reached", reached, _rate),
        _row("policers: rate at least x and true, elsewhere", bound, _bound),
        _row("policers: burst within a factor of 1.5, where reached", reached, _burst),
        _row("captures shaped, found", by["shaper"], lambda pair: pair in shaped),
        _row("shapers: rate within 5 %, where found", shaped, _rate),
        _row("overflow: buffer known", by["overflow"], lambda pair: pair in full),
        _row("overflow: rate within 5 %, where known", full, _rate),
        _row("overflow: buffer within a factor of 1.5, where known", full, _buffer),
        _row("random loss: the interval has it", by["random"], _loss_within),
        _row("random loss: more than 0 for certain", by["random"], lambda pair: pair in lossy),
        _row("random loss: within a factor of 1.5, where it is", lossy, _loss),
        _row("round-trip time within 2 %", each, _rtt),
        _row("pauses: both ends within 50 ms of what the path allows", paused, _pause),
        *(_row(f"false alarms, captures: {cause}", by[cause], _policed) for cause in others),
        _chunks("false alarms, shaper", by["shaper"], "at most 1.5"),
        _chunks("false alarms, random", by["random"], "at most 0.3"),
        _chunks("false alarms, overflow", by["overflow"]),
        _row("false alarms, captures: other traffic", each, _crossed),
        *half_rows([found.halves for _, found in each]),
    ]


def _row(what: str, of: Sequence[Pair], holds: Callable[[Pair], bool], aim: str = "") -> list[str]:
    return counted(what, sum(map(holds, of)), len(of), aim)


def _policed(pair: Pair) -> bool:
    return pair[1].is_policed


def _crossed(pair: Pair) -> bool:
    return pair[1].path["cross_bps"] is not None


def _chunks(what: str, each: Sequence[Pair], aim: str = "") -> list[str]:
    chunks = [chunk for _, found in each for chunk in found.chunks]
    return counted(f"chunks: {what}", sum(chunks), len(chunks), aim)


def _is_known(of: Value | None) -> bool:
    return of is not None and of["high"] is not None


def _near(of: Value | None, truth: float, factor: float) -> bool:
    return of is not None and 1 / factor <= of["value"] / truth <= factor


def _rate(pair: Pair) -> bool:
    of, found = pair
    rate = found.rate
    return rate is not None and abs(rate["value"] / (of.rate_bps * of.frames) - 1) <= RATE


def _bound(pair: Pair) -> bool:
    of, found = pair
    low: float = found.path["policer"]["rate_bps"]["low"]
    return low <= of.rate_bps * of.frames * (1 + RATE)


def _burst(pair: Pair) -> bool:
    of, found = pair
    return _near(found.path["policer"]["burst_bytes"], of.burst_bytes * of.frames, BURST)


def _buffer(pair: Pair) -> bool:
    of, found = pair
    return _near(found.path["buffer_bytes"], of.capacity_bytes * of.frames, BURST)


def _loss(pair: Pair) -> bool:
    of, found = pair
    return _near(found.path["loss"], of.loss, LOSS)


def _loss_within(pair: Pair) -> bool:
    of, found = pair
    loss = found.path["loss"] or NO_LOSS
    return bool(loss["low"] <= of.loss <= loss["high"])


def _rtt(pair: Pair) -> bool:
    of, found = pair
    rtt = found.path["rtt_s"]
    return rtt is not None and abs(rtt["value"] / of.rtt_s - 1) <= RTT


def _pause(pair: Pair) -> bool:
    """Whether the only pause ends when it was to end, and begins when everything has arrived."""
    of, found = pair
    if len(found.pauses) != 1 or of.pause_s is None:
        return False
    (start, took), (wanted, until) = found.pauses[0], of.pause_s
    drained_s = of.rtt_s + 8 * of.capacity_bytes / of.rate_bps
    begins = -PAUSE_S <= start - wanted <= drained_s + PAUSE_S
    return begins and abs(start + took - until) <= PAUSE_S

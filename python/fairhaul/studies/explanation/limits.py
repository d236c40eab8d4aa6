"""What limited a connection, and for which share of its time.

The order of the tests is that of [SIEKKINEN]: what the application limits is cut out first. Between
two acknowledgements the receiver's window is used up or not; the rest is judged by round trips.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    from fairhaul.studies.explanation.token_bucket import Bucket
    from fairhaul.studies.explanation.trace import Column, Index, Mask, Trace

Limit = Literal[
    "application",
    "receive_window",
    "send_buffer",
    "congestion_window",
    "pacing",
    "path",
    "unknown",
]
LIMITS: tuple[Limit, ...] = get_args(Limit)
Shares = Mapping[Limit, float]

# The window limits if less than this many segments are left of it: Linux waits for a whole one.
WINDOW_LEFT = 2.0
# A queue stands at the bottleneck if the round-trip time is this part above the smallest one, and
# at least this long (s).
QUEUE_PART, QUEUE_S = 0.15, 0.002
# A round trip belongs to the reaction to a loss for this many round trips after it.
AFTER_LOSS = 20
# The flight grows if it is this much larger than in as many round trips before.
GROWS = 1.05
# It grows, too, if it is this much larger than a round trip before, as in slow start.
GROWS_FAST = 1.25
# The largest gap between two transmissions of a sender that spaces them evenly, in mean gaps.
EVEN = 3.0
# The shortest round trip that is judged, in seconds.
LEAST_ROUND_S = 0.002
# Rounds that are judged at most; longer connections have longer rounds.
MOST_ROUNDS = 200_000


def unknown() -> Shares:
    """Give the shares of a connection of which nothing is known."""
    return {limit: float(limit == "unknown") for limit in LIMITS}


def shares(seconds: Mapping[Limit, float]) -> Shares:
    """Give the shares of times whose sum is not 0."""
    total = sum(seconds.values())
    return {limit: seconds[limit] / total for limit in LIMITS}


# What a round trip of a capture shows. `lost` and `grows` are those of the congestion window: after
# a loss, and without one. In `few` some segments are not full, in `even` a sender spaces what it
# sends, and in `open` nothing is shown.
Sign = Literal["idle", "window", "path", "lost", "grows", "few", "even", "open"]
# An application and a send buffer can look like either of these.
NOT_SEPARATED: tuple[Sign, ...] = ("few", "open")
LIMIT_OF: Mapping[Sign, Limit] = {
    "idle": "application",
    "window": "receive_window",
    "path": "path",
    "lost": "congestion_window",
    "grows": "congestion_window",
    "few": "application",
    "even": "pacing",
    "open": "unknown",
}


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """The round trips of a connection: their bounds, and for how long each showed what.

    Both are in seconds; there is one bound more than round trips.
    """

    edges_s: Column
    signs_s: Mapping[Sign, Column]

    def between(self, begin_s: float, end_s: float) -> dict[Sign, Column]:
        """Give for how long each round trip showed what in a part of the time, in seconds."""
        ends, starts = np.minimum(self.edges_s[1:], end_s), np.maximum(self.edges_s[:-1], begin_s)
        parts = np.clip(ends - starts, 0, None) / np.diff(self.edges_s)
        return {sign: parts * of for sign, of in self.signs_s.items()}


@dataclass(frozen=True, kw_only=True)
class Held:
    """The round trips of a connection: their bounds, and for how long each limit held in each.

    Both are in seconds; there is one bound more than round trips.
    """

    edges_s: Column
    limits_s: Mapping[Limit, Column]

    def shares(self) -> Shares:
        """Give the shares of time, whose sum is 1."""
        return shares({limit: float(of.sum()) for limit, of in self.limits_s.items()})


def rounds_of(trace: Trace, bucket: Bucket | None) -> Rounds | None:
    """Judge each round trip of a connection; None where the capture does not show them."""
    sent = trace.sent
    if len(sent) < 2 or len(trace.acknowledged) < 2 or trace.rtt_s is None:
        return None
    begin = float(sent.time_s[0])
    end = max(float(sent.time_s[-1]), float(trace.acknowledged.time_s[-1]))
    if end <= begin:
        return None
    size = max(trace.rtt_s, LEAST_ROUND_S, (end - begin) / MOST_ROUNDS)
    count = int(np.ceil((end - begin) / size))
    edges: Column = begin + size * np.arange(count + 1, dtype=np.float64)
    idle = _covered(*_idle(trace), edges)
    window = _covered(*_window(trace), edges) if trace.side != "receiver" else 0 * idle
    busy = np.clip(size - idle - window, 0, None)
    seconds: dict[Sign, Column] = {"idle": idle, "window": window}
    for sign, rounds in _rounds(trace, bucket, edges).items():
        seconds[sign] = busy * rounds
    return Rounds(edges_s=edges, signs_s=seconds)


def limits_of(signs_s: Mapping[Sign, Column]) -> dict[Limit, Column]:
    """Give for how long each limit held, by the signs alone, in seconds."""
    limits = {limit: np.zeros_like(signs_s["idle"]) for limit in LIMITS}
    for sign, of in signs_s.items():
        limits[LIMIT_OF[sign]] += of
    return limits


def placed(times: Column, edges: Column) -> Index:
    """Give the part of the time between two edges that each time is in, or is nearest to."""
    return np.clip(np.searchsorted(edges, times, side="right") - 1, 0, len(edges) - 2)


def carried_of(trace: Trace, held: Held) -> Shares:
    """Give the shares of the data that was sent while each limit held, whose sum is 1.

    The data of a round trip is divided by the time of the limits in it. Where another one held, the
    application has none of it: while it pauses nothing is sent.
    """
    sent, count = trace.sent, len(held.edges_s) - 1
    place = placed(sent.time_s, held.edges_s)
    data = np.bincount(place, sent.payload * ~sent.again, count)
    others_s = {limit: of for limit, of in held.limits_s.items() if limit != "application"}
    busy_s = np.sum(list(others_s.values()), axis=0)
    by_time = np.divide(data, busy_s, out=np.zeros(count), where=busy_s > 0)
    carried = dict.fromkeys(LIMITS, 0.0)
    carried.update((limit, float((of * by_time).sum())) for limit, of in others_s.items())
    carried["application"] = float(data[busy_s <= 0].sum())
    return shares(carried)


def pauses_of(trace: Trace) -> list[tuple[float, float]]:
    """Give the pauses of the application: when each began, and how long it was, both in seconds.

    A pause is a time of more than a round trip in which everything is acknowledged.
    """
    starts, ends = _idle(trace)
    least = 1.05 * (trace.rtt_s or 0.0)
    pauses = [(float(a), float(b - a)) for a, b in zip(starts, ends, strict=True)]
    return [of for of in pauses if of[1] > least]


def _idle(trace: Trace) -> tuple[Column, Column]:
    """Give the times in which everything that was sent is acknowledged."""
    acks, sent = trace.acknowledged, trace.sent
    done = acks.time_s[acks.ahead == 0]
    if not len(done) or not len(sent):
        return np.empty(0), np.empty(0)
    following = np.searchsorted(sent.time_s, done, side="left")
    has = following < len(sent)
    starts, ends = done[has], sent.time_s[following[has]]
    # Of several acknowledgements before the same transmission the first one begins the pause.
    _, first = np.unique(ends, return_index=True)
    return starts[first], ends[first]


def window_of(trace: Trace) -> float | None:
    """Give the window of the receiver in bytes: its median while it limits, else the largest one.

    None without an acknowledgement, and where windows are not shown.
    """
    windows = trace.acknowledged.window * 2.0**trace.scale
    if not len(windows) or np.isinf(windows).any():
        return None
    full = _full(trace)
    return float(np.median(windows[:-1][full]) if full.any() else windows.max())


def _window(trace: Trace) -> tuple[Column, Column]:
    """Give the times in which the receiver's window was used up."""
    times, full = trace.acknowledged.time_s, _full(trace)
    return times[:-1][full], times[1:][full]


def _full(trace: Trace) -> Mask:
    """Say after which acknowledgements, but the last, the window is used up when the next comes."""
    acks = trace.acknowledged
    room = acks.window * 2.0**trace.scale
    # What is ahead of an acknowledgement when the next one comes, counted from the first one.
    ahead = acks.ahead[1:] + np.maximum(0, acks.offset[1:] - acks.offset[:-1])
    full: Mask = (room[:-1] - ahead < WINDOW_LEFT * trace.mss) & (ahead > 0)
    return full


def _covered(starts: Column, ends: Column, edges: Column) -> Column:
    """Give how much of each round disjoint times cover, in seconds."""
    if not len(starts):
        return np.zeros(len(edges) - 1)
    spans = np.maximum(0, ends - starts)
    total = np.concatenate(([0.0], np.cumsum(spans)))
    at = np.searchsorted(starts, edges, side="right")
    last = np.maximum(at - 1, 0)
    within = np.where(at > 0, np.minimum(spans[last], np.maximum(0, edges - starts[last])), 0.0)
    return np.diff(np.where(at > 0, total[last] + within, 0.0))


def _rounds(trace: Trace, bucket: Bucket | None, edges: Column) -> Mapping[Sign, Mask]:
    """Say of each round what limits it, if the application and the window do not."""
    sent, acks, count = trace.sent, trace.acknowledged, len(edges) - 1
    place = placed(sent.time_s, edges)
    bytes_sent = np.bincount(place, sent.payload, count)
    rows = np.bincount(place, minlength=count)
    lost: Mask = np.bincount(place[sent.lost], minlength=count) > 0
    rtt = _least_rtt(trace, edges, count)
    base = trace.rtt_s or 0.0
    queued = rtt > base + max(QUEUE_S, QUEUE_PART * base)
    losses = np.cumsum(lost, dtype=np.float64)
    before = np.concatenate((np.zeros(AFTER_LOSS), losses))[:count]
    reacts: Mask = (losses > before) | (losses > 0) & (bucket is not None)
    flight = np.zeros(count)
    np.maximum.at(flight, placed(acks.time_s, edges), acks.flight)
    later = np.concatenate((flight[1:], flight[-1:]))
    grows = _grows(flight)
    # Few segments in a round, the last one not full: the application writes little at a time.
    partial = sent.payload < sent.packets * 0.9 * trace.mss
    short: Mask = np.bincount(place[partial], minlength=count) > 0
    gaps = np.diff(sent.time_s, append=sent.time_s[-1])
    widest = np.zeros(count)
    np.maximum.at(widest, place, gaps)
    width = float(edges[1] - edges[0])
    even = (rows >= 8) & (widest < EVEN * width / np.maximum(rows, 1))
    trickle = short & ~lost & (bytes_sent < 0.8 * np.maximum(later, flight) + 10 * trace.mss)
    rest = np.ones(count, bool)
    found: dict[Sign, Mask] = {}
    tests: tuple[tuple[Sign, Mask], ...] = (
        ("path", queued),
        ("lost", reacts),
        ("grows", grows),
        ("few", trickle),
        ("even", even),
        ("open", rest.copy()),
    )
    for sign, holds in tests:
        found[sign] = rest & holds
        rest &= ~holds
    return found


def _grows(flight: Column) -> Mask:
    """Say in which rounds, or before which, the flight grows fast, or beyond the last 20 rounds."""
    padded = np.concatenate((np.zeros(AFTER_LOSS), flight))
    most = sliding_window_view(padded, AFTER_LOSS)[:-1].max(axis=1)
    more: Mask = (flight > GROWS * most) | (flight > GROWS_FAST * padded[AFTER_LOSS - 1 : -1])
    return more | np.concatenate((more[1:], more[-1:]))


def _least_rtt(trace: Trace, edges: Column, count: int) -> Column:
    """Give the smallest round-trip time of each round; rounds without one have that before them."""
    times, rtts = trace.sent.time_s, trace.sent.rtt_s
    known = ~np.isnan(rtts)
    least = np.full(count, np.inf)
    np.minimum.at(least, placed(times[known], edges), rtts[known])
    has = np.isfinite(least)
    before = np.maximum.accumulate(np.where(has, np.arange(count), 0))
    filled = least[before]
    return np.where(np.isfinite(filled), filled, trace.rtt_s or 0.0)

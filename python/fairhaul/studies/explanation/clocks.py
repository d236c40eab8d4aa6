"""The kernel's clocks beside a capture: they decide what headers cannot separate.

A look at a socket has counters since the connection began, and how much was acknowledged by then,
which says when it was in the time of the capture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairhaul.studies.explanation.limits import (
    LIMITS,
    NOT_SEPARATED,
    Limit,
    Rounds,
    Shares,
    Sign,
    rounds_of,
    seconds_of,
    shares,
    unknown,
)
from fairhaul.studies.explanation.sockets import after_loss

if TYPE_CHECKING:
    from fairhaul.studies.explanation.token_bucket import Bucket
    from fairhaul.studies.explanation.trace import Trace


# Of these signs the clocks say what they are.
DECIDED: tuple[Sign, ...] = (*NOT_SEPARATED, "even")


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the kernel said of a socket at one time: counters in bytes and seconds, and its state.

    `is_full` says that the send buffer is full although all of its data has been sent.
    """

    acked_bytes: float
    window_s: float
    buffer_s: float
    app_limited: bool
    is_full: bool
    at_pacing_cap: bool
    controller: str | None


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What limited a connection of a capture, as shares of time.

    `not_separated` is the share in which headers do not say whether it was the application or the
    send buffer; None where the kernel's clocks have decided it. `controller` is what the kernel
    said.
    """

    limits: Shares
    is_judged: bool
    not_separated: float | None = None
    controller: str | None = None


def judged_of(trace: Trace, bucket: Bucket | None, looks: Sequence[Look]) -> Judged:
    """Judge what limited a connection, with the looks at its socket if there are any."""
    rounds = rounds_of(trace, bucket)
    if rounds is None:
        return Judged(limits=unknown(), is_judged=False)
    if looks:
        seconds = with_clocks(trace, rounds, looks)
        return Judged(limits=shares(seconds), is_judged=True, controller=looks[-1].controller)
    signs = rounds.between(float(rounds.edges[0]), float(rounds.edges[-1]))
    hidden = sum(signs[sign] for sign in NOT_SEPARATED)
    return Judged(
        limits=shares(seconds_of(signs)),
        is_judged=True,
        not_separated=hidden / sum(signs.values()),
    )


def with_clocks(trace: Trace, rounds: Rounds, looks: Sequence[Look]) -> dict[Limit, float]:
    """Give how long each limit held, by the capture and the looks at its socket.

    Without the beginning of the connection the first look and the last one stand for all of it.
    """
    begin, end = float(rounds.edges[0]), float(rounds.edges[-1])
    times = [_time(trace, of, begin) for of in looks] if trace.has_start else [end]
    used = looks if trace.has_start else looks[-1:]
    before = _START if trace.has_start or len(looks) < 2 else looks[0]
    total = dict.fromkeys(LIMITS, 0.0)
    since = begin
    for time, look in zip(times, used, strict=True):
        for limit, seconds in _judged(rounds.between(since, time), before, look).items():
            total[limit] += seconds
        since, before = max(since, time), look
    rest = rounds.between(since, end)
    for limit, seconds in (_judged(rest, None, used[-1])).items():
        total[limit] += seconds
    return total


_START = Look(
    acked_bytes=0.0,
    window_s=0.0,
    buffer_s=0.0,
    app_limited=False,
    is_full=False,
    at_pacing_cap=False,
    controller=None,
)


def _time(trace: Trace, look: Look, begin: float) -> float:
    """Say when as much was acknowledged as a look has."""
    acks = trace.acknowledged
    acked = np.maximum.accumulate(acks.offset) - float(trace.sent.offset.min())
    # The first packet of a connection takes a number, too, which the kernel counts.
    at = int(np.searchsorted(acked, look.acked_bytes - 1, side="left"))
    return float(acks.time_s[min(at, len(acks) - 1)]) if look.acked_bytes else begin


def _judged(signs: Mapping[Sign, float], before: Look | None, after: Look) -> dict[Limit, float]:
    """Judge the time between two looks; without the first one, the state of the last one counts.

    The clock of the receive window is right. That of the send buffer is a lower bound: where it
    has advanced, the buffer limits for all of the time in which the headers show nothing else.
    """
    kept = dict(signs)
    whole = sum(signs.values())
    if before is not None:
        window_s = min(max(0.0, after.window_s - before.window_s), whole - signs["idle"])
        others = whole - signs["idle"] - signs["window"]
        for sign in kept:
            if sign not in ("idle", "window"):
                kept[sign] *= (whole - signs["idle"] - window_s) / others if others > 0 else 0.0
        if others <= 0:
            kept["open"] = whole - signs["idle"] - window_s
        kept["window"] = window_s
    seconds = seconds_of({**kept, **dict.fromkeys(DECIDED, 0.0)})
    seconds[_other(before, after)] += sum(kept[sign] for sign in DECIDED)
    return seconds


def _other(before: Look | None, after: Look) -> Limit:
    """Say what limits while headers do not tell it."""
    if after.is_full or (before is not None and after.buffer_s > before.buffer_s):
        return "send_buffer"
    if after.at_pacing_cap:
        return "pacing"
    if after.app_limited:
        return "application"
    return after_loss(after.controller)

"""The kernel's clocks beside a capture: they decide what headers cannot separate.

A look at a socket has counters since the connection began, and how much was acknowledged by then,
which says when it was in the time of the capture.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairhaul.studies.explanation.limits import (
    LIMITS,
    NOT_SEPARATED,
    Held,
    Limit,
    Rounds,
    Shares,
    Sign,
    limits_of,
    rounds_of,
    unknown,
)
from fairhaul.studies.explanation.sockets import after_loss

if TYPE_CHECKING:
    from fairhaul.studies.explanation.token_bucket import Bucket
    from fairhaul.studies.explanation.trace import Column, Trace


# Of these signs the clocks say what they are.
DECIDED: tuple[Sign, ...] = (*NOT_SEPARATED, "even")


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the kernel said of a socket at one time: counters in bytes and seconds, and its state.

    `is_full` says that the send buffer is full although all of its data has been sent, `is_empty`
    that all that was written has been sent although the congestion window is not used up.
    """

    acked_bytes: float
    window_s: float
    buffer_s: float
    app_limited: bool
    is_full: bool
    is_empty: bool
    at_pacing_cap: bool
    controller: str | None


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What limited a connection of a capture in each round trip.

    `held` is None if the capture does not show it. `not_separated` is the share in which headers do
    not say whether it was the application or the send buffer; None where the kernel's clocks have
    decided it. `controller` is what the kernel said.
    """

    held: Held | None = None
    not_separated: float | None = None
    controller: str | None = None

    @property
    def limits(self) -> Shares:
        """The shares of time, whose sum is 1."""
        return unknown() if self.held is None else self.held.shares()


def judged_of(trace: Trace, bucket: Bucket | None, looks: Sequence[Look]) -> Judged:
    """Judge what limited a connection, with the looks at its socket if there are any."""
    rounds = rounds_of(trace, bucket)
    if rounds is None:
        return Judged()
    if looks:
        held = Held(edges_s=rounds.edges_s, limits_s=with_clocks(trace, rounds, looks))
        return Judged(held=held, controller=looks[-1].controller)
    held = Held(edges_s=rounds.edges_s, limits_s=limits_of(rounds.signs_s))
    hidden = sum(float(rounds.signs_s[sign].sum()) for sign in NOT_SEPARATED)
    whole = sum(float(of.sum()) for of in rounds.signs_s.values())
    return Judged(held=held, not_separated=hidden / whole)


def with_clocks(trace: Trace, rounds: Rounds, looks: Sequence[Look]) -> Mapping[Limit, Column]:
    """Give how long each limit held in each round trip, by the capture and the looks at its socket.

    Without the beginning of the connection the first look and the last one stand for all of it.
    """
    begin, end = float(rounds.edges_s[0]), float(rounds.edges_s[-1])
    times = [_time(trace, of, begin) for of in looks] if trace.has_start else [end]
    used = looks if trace.has_start else looks[-1:]
    before = _START if trace.has_start or len(looks) < 2 else looks[0]
    parts = []
    since = begin
    for time, look in zip(times, used, strict=True):
        parts.append(_judged(rounds.between(since, time), before, look))
        since, before = max(since, time), look
    parts.append(_judged(rounds.between(since, end), None, used[-1]))
    return {limit: _sum(of[limit] for of in parts) for limit in LIMITS}


_START = Look(
    acked_bytes=0.0,
    window_s=0.0,
    buffer_s=0.0,
    app_limited=False,
    is_full=False,
    is_empty=False,
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


def _judged(
    signs: Mapping[Sign, Column], before: Look | None, after: Look
) -> Mapping[Limit, Column]:
    """Judge the time between two looks; without the first one, the state of the last one counts.

    The clock of the receive window is right. That of the send buffer is a lower bound: where it
    has advanced, the buffer limits for all of the time in which the headers show nothing else.
    """
    kept = dict(signs)
    if before is not None:
        kept = _clocked(signs, max(0.0, after.window_s - before.window_s))
    limits = limits_of({**kept, **{sign: np.zeros_like(kept[sign]) for sign in DECIDED}})
    other = _other(before, after, pauses=bool(signs["idle"].any()))
    limits[other] = limits[other] + _sum(kept[sign] for sign in DECIDED)
    return limits


def _clocked(signs: Mapping[Sign, Column], window_s: float) -> dict[Sign, Column]:
    """Have the receive window limit for as long as its clock says, where the headers show it.

    Where they do not show it at all, it is spread over the round trips in which data moves.
    """
    window = signs["window"]
    others = {sign: of for sign, of in signs.items() if sign not in ("idle", "window")}
    other = _sum(others.values())
    whole = float((window + other).sum())
    if whole == 0:
        return dict(signs)
    window_s = min(window_s, whole)
    if other.any():
        left = (whole - window_s) / float(other.sum())
        others = {sign: left * of for sign, of in others.items()}
    else:
        others["open"] = window * (1 - window_s / whole)
    shown = window if window.any() else other
    return {"idle": signs["idle"], **others, "window": shown * (window_s / float(shown.sum()))}


def _sum(columns: Iterable[Column]) -> Column:
    total: Column = np.sum(list(columns), axis=0)
    return total


def _other(before: Look | None, after: Look, *, pauses: bool) -> Limit:
    """Say what limits while headers do not tell it.

    A pause begins when everything is acknowledged. So where there are pauses, a look between the
    last write and its acknowledgement does not speak for the time before.
    """
    if after.is_full or (before is not None and after.buffer_s > before.buffer_s):
        return "send_buffer"
    if after.at_pacing_cap:
        return "pacing"
    if after.app_limited or (after.is_empty and not pauses):
        return "application"
    return after_loss(after.controller)

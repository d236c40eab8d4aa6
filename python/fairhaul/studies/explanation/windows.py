"""The window of a sender as a capture on its side shows it: by round trips, and at its losses.

The window is what was outstanding right after the sender had sent. A round trip ends when all that
was outstanding at its start is acknowledged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fairhaul.studies.explanation.trace import Column, Trace

# Round trips that are looked at: more do not tell more.
MOST_ROUNDS = 50_000


@dataclass(frozen=True, kw_only=True)
class Windows:
    """The window of a connection over time, in packets.

    `time_s` and `window` have a value for each acknowledgement, `starts_s` and `rounds` for each
    round trip: its start, and the largest window in it.
    """

    time_s: Column
    window: Column
    starts_s: Column
    rounds: Column

    def largest(self, begin_s: float, end_s: float) -> float:
        """Give the largest window in a time, in packets; 0 where none is known."""
        part = self._part(begin_s, end_s)
        return float(part.max()) if len(part) else 0.0

    def middle(self, begin_s: float, end_s: float) -> float:
        """Give the median window in a time, in packets; 0 where none is known."""
        part = self._part(begin_s, end_s)
        return float(np.median(part)) if len(part) else 0.0

    def _part(self, begin_s: float, end_s: float) -> Column:
        first, last = np.searchsorted(self.time_s, (begin_s, end_s))
        return self.window[first:last]


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """A loss: when its first retransmission left, when all before it was acknowledged, in seconds.

    `before` is the window before it and `after` that in the round trip after it, in packets; NaN
    where the next loss came sooner.
    """

    start_s: float
    end_s: float
    before: float
    after: float


@dataclass(frozen=True, kw_only=True)
class Growth:
    """The windows of the round trips from one loss to the next one.

    `since_s` is the time of each round trip since the loss was repaired, `window` in packets.
    `befores` are the windows before that loss and all losses before it.
    """

    since_s: Column
    window: Column
    befores: Sequence[float]


def windows_of(trace: Trace) -> Windows | None:
    """Give the windows of a connection, or None if the capture does not show round trips."""
    sent, acks = trace.sent, trace.acknowledged
    if len(acks) < 2 or len(sent) < 2:
        return None
    new = np.where(sent.again, 0.0, sent.payload)
    total = np.concatenate(([0.0], np.cumsum(new)))
    upto = total[np.searchsorted(sent.time_s, acks.time_s, side="right")]
    later = np.append(upto[1:], total[-1])
    window = (acks.flight + later - upto) / trace.mss
    acked = np.maximum.accumulate(acks.offset)
    ahead = np.maximum.accumulate(acks.offset + acks.ahead) + later - upto
    places = [0]
    while len(places) < MOST_ROUNDS:
        at = int(np.searchsorted(acked, ahead[places[-1]], side="left"))
        at = max(at, places[-1] + 1)
        if at >= len(acked):
            break
        places.append(at)
    if len(places) < 2:
        return None
    return Windows(
        time_s=acks.time_s,
        window=window,
        starts_s=acks.time_s[places],
        rounds=np.maximum.reduceat(window, places),
    )


def recoveries_of(trace: Trace, windows: Windows) -> list[Recovery]:
    """Give the losses of a connection, in the order of time."""
    sent, acks = trace.sent, trace.acknowledged
    times = sent.time_s[sent.again]
    ends = np.maximum.accumulate(sent.offset + sent.payload)
    acked = np.maximum.accumulate(acks.offset)
    bounds: list[tuple[float, float]] = []
    at = 0
    while at < len(times):
        start = float(times[at])
        highest = ends[max(0, int(np.searchsorted(sent.time_s, start, side="left")) - 1)]
        done = int(np.searchsorted(acked, highest, side="left"))
        end = float(acks.time_s[done]) if done < len(acks) else float("inf")
        bounds.append((start, max(end, start)))
        at = int(np.searchsorted(times, max(end, start), side="right"))
    found = []
    for (start, end), (following, _) in pairwise([*bounds, (float("inf"), float("inf"))]):
        round_s = _round_s(windows, start)
        before = windows.largest(start - round_s, start)
        calm = end + round_s <= min(following, windows.time_s[-1])
        after = windows.middle(end, end + round_s) if calm else float("nan")
        found.append(Recovery(start_s=start, end_s=end, before=before, after=after))
    return found


def growths_of(windows: Windows, losses: Sequence[Recovery], least: int) -> list[Growth]:
    """Give the growth after each loss, and that before the first one once it is slow.

    Growth of less than `least` round trips is skipped.
    """
    starts, rounds = windows.starts_s, windows.rounds
    found = []
    begins = [_slow_from(windows, losses), *(of.end_s for of in losses)]
    ends = [*(of.start_s for of in losses), float(windows.time_s[-1])]
    for number, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        first, last = np.searchsorted(starts, (begin, end))
        # The round trip in which the loss was repaired, and that of the next one, are not whole.
        first, last = int(first), int(last) - 1
        if last - first < least:
            continue
        found.append(
            Growth(
                since_s=starts[first:last] - begin,
                window=rounds[first:last],
                befores=[of.before for of in losses[:number]],
            )
        )
    return found


def _slow_from(windows: Windows, losses: Sequence[Recovery]) -> float:
    """Say from when on the window no longer grew by more than a third in a round trip."""
    end = losses[0].start_s if losses else float("inf")
    count = int(np.searchsorted(windows.starts_s, end))
    rounds = windows.rounds[:count]
    fast = np.flatnonzero(rounds[1:] > 4 / 3 * rounds[:-1])
    at = int(fast[-1]) + 2 if len(fast) else 0
    return float(windows.starts_s[min(at, len(windows.starts_s) - 1)])


def _round_s(windows: Windows, time_s: float) -> float:
    """Give how long the round trip took that ended before a time."""
    at = min(max(int(np.searchsorted(windows.starts_s, time_s)) - 1, 1), len(windows.starts_s) - 1)
    return float(windows.starts_s[at] - windows.starts_s[at - 1])

"""A connection over time: what it sent, what was outstanding, and what limited it when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fairhaul.studies.explanation.limits import LIMITS, Held, Limit, placed, shares
from fairhaul.studies.explanation.results import PERIODS, Period

if TYPE_CHECKING:
    from fairhaul.studies.explanation.trace import Column, Index, Trace

# About as many parts of the time as a figure has room for at three pixels each.
MOST_PARTS = 240


@dataclass(frozen=True, kw_only=True)
class Moments:
    """A connection in parts of its time of as many round trips each, or one more.

    `edges_s` are in seconds since the first packet of the capture, one more than there are parts.
    Everything else has a value for each part: `limits_s` is how long each limit held, in seconds,
    `sent_bps` counts bits of Ethernet frames per second, `outstanding_bytes` is the most that was
    outstanding, `window_bytes` the smallest window of the receiver, and `rtt_s` the smallest
    round-trip time in seconds, all three NaN where the capture does not show them; `lost` is the
    number of packets that were lost.
    """

    edges_s: Column
    limits_s: Mapping[Limit, Column]
    sent_bps: Column
    outstanding_bytes: Column
    window_bytes: Column
    rtt_s: Column
    lost: Column

    def held(self) -> Iterator[tuple[Limit, float, float, float]]:
        """Give each limit, from when to when, in seconds, it held, and for which share of that.

        Neighbouring parts with the same share are put together.
        """
        for limit in LIMITS:
            share = np.round(self.limits_s[limit] / np.diff(self.edges_s), 2)
            edges = np.flatnonzero(np.diff(share, prepend=-1.0, append=-1.0))
            for first, behind in pairwise(edges):
                if share[first] > 0:
                    ends_s = self.edges_s[[first, behind]]
                    yield limit, float(ends_s[0]), float(ends_s[1]), float(share[first])


def moments_of(trace: Trace, held: Held) -> Moments:
    """Put the round trips and the packets of a connection into parts of its time."""
    firsts = _firsts(held, MOST_PARTS)
    edges_s = np.append(held.edges_s[firsts], held.edges_s[-1])
    parts = len(firsts)
    sent, acks = trace.sent, trace.acknowledged

    def ends(of: np.ufunc, times: Column, values: Column) -> Column:
        found = np.full(parts, np.nan)
        of.at(found, placed(times, edges_s), values)
        return found

    at = placed(sent.time_s, edges_s)
    return Moments(
        edges_s=edges_s,
        limits_s={limit: np.add.reduceat(of, firsts) for limit, of in held.limits_s.items()},
        sent_bps=8 * np.bincount(at, sent.wire, parts) / np.diff(edges_s),
        outstanding_bytes=ends(np.fmax, acks.time_s, acks.flight),
        window_bytes=ends(np.fmin, acks.time_s, acks.window * 2.0**trace.scale),
        rtt_s=ends(np.fmin, sent.time_s, sent.rtt_s),
        lost=np.bincount(at, sent.packets * sent.lost, parts).astype(np.float64),
    )


def periods_of(held: Held) -> Sequence[Period]:
    """Give the limits in a few periods of the time."""
    firsts = _firsts(held, PERIODS)
    starts_s = held.edges_s[firsts]
    lengths_s = np.diff(starts_s, append=held.edges_s[-1])
    sums = {limit: np.add.reduceat(of, firsts) for limit, of in held.limits_s.items()}
    return [
        Period(
            start_s=float(start_s),
            duration_s=float(length_s),
            limits=shares({limit: float(of[at]) for limit, of in sums.items()}),
        )
        for at, (start_s, length_s) in enumerate(zip(starts_s, lengths_s, strict=True))
    ]


def _firsts(held: Held, most: int) -> Index:
    """Give the first round trip of each of at most `most` parts of equal size."""
    count = len(held.edges_s) - 1
    parts = min(count, most)
    return np.arange(parts) * count // parts

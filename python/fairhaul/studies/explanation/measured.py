"""What connections showed in a time: figures that a simulation of their path must give, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fairhaul.studies.explanation.limits import pauses_of

if TYPE_CHECKING:
    from fairhaul.studies.explanation.trace import Column, Trace

# Quantiles of the time that packets waited, which are compared: the median and the upper end.
WAITS = (0.5, 0.95)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Figures of connections together, over the time in which one of them had data outstanding.

    `goodput_bps` is in bits of data per second of the `busy_s` seconds. `waits_s` are quantiles
    of the round-trip time above the smallest one, in seconds. `sent` and `lost` are numbers of
    packets, `events` that of losses more than a round trip apart. `pauses` is how often the
    application paused, and `has_start` whether the connections began within the capture.
    """

    begin_s: float
    end_s: float
    busy_s: float
    goodput_bps: float
    waits_s: tuple[float, ...]
    sent: float
    lost: float
    events: int
    pauses: int
    has_start: bool

    @property
    def loss_rate(self) -> float:
        """The share of the packets that were lost."""
        return self.lost / self.sent if self.sent else 0.0


def measured(
    traces: Sequence[Trace], begin_s: float | None = None, end_s: float | None = None
) -> Measured | None:
    """Give what connections showed from `begin_s` to `end_s`; None if they delivered nothing.

    Both are in seconds, by default the first and the last packet. Those of the result count from
    the first packet.
    """
    origin_s = min(of.first_s for of in traces)
    begin_s = origin_s if begin_s is None else begin_s
    end_s = max(of.last_s for of in traces) if end_s is None else end_s
    rtts = [of.rtt_s for of in traces if of.rtt_s is not None]
    starts, ends = _busy(traces, begin_s, end_s)
    busy_s = float((ends - starts).sum())
    delivered = sum(_delivered(of, begin_s, end_s) for of in traces)
    if not rtts or busy_s <= 0 or delivered <= 0:
        return None
    parts = [of.sent.part((of.sent.time_s >= begin_s) & (of.sent.time_s < end_s)) for of in traces]
    samples = np.concatenate([of.rtt_s[~np.isnan(of.rtt_s)] for of in parts])
    lost = np.sort(np.concatenate([of.time_s[of.lost] for of in parts]))
    rtt_s = min(rtts)
    waits = np.quantile(samples, WAITS) - rtt_s if len(samples) else np.zeros(len(WAITS))
    return Measured(
        begin_s=begin_s - origin_s,
        end_s=end_s - origin_s,
        busy_s=busy_s,
        goodput_bps=8 * delivered / busy_s,
        waits_s=tuple(float(of) for of in waits),
        sent=float(sum(of.packets.sum() for of in parts)),
        lost=float(sum(of.packets[of.lost].sum() for of in parts)),
        events=int(len(lost) > 0) + int((np.diff(lost) > rtt_s).sum()),
        pauses=max(0, len(starts) - 1),
        has_start=all(of.has_start for of in traces),
    )


def until(trace: Trace, end_s: float) -> Trace:
    """Give what a trace showed until a time, with the smallest round-trip time until then."""
    sent = trace.sent.part(trace.sent.time_s < end_s)
    later = ~(sent.acked_s < end_s)
    sent = replace(
        sent,
        acked_s=np.where(later, np.nan, sent.acked_s),
        rtt_s=np.where(later, np.nan, sent.rtt_s),
    )
    known = sent.rtt_s[~np.isnan(sent.rtt_s)]
    return replace(
        trace,
        last_s=min(trace.last_s, end_s),
        rtt_s=float(known.min()) if len(known) else None,
        sent=sent,
        acknowledged=trace.acknowledged.part(trace.acknowledged.time_s < end_s),
    )


def _busy(traces: Sequence[Trace], begin_s: float, end_s: float) -> tuple[Column, Column]:
    """Give the times in which any connection had data outstanding, without its pauses."""
    edges: list[tuple[float, float]] = []
    for of in traces:
        if not len(of.sent) or not len(of.acknowledged):
            continue
        pauses = pauses_of(of)
        last_s = max(float(of.sent.time_s[-1]), float(of.acknowledged.time_s[-1]))
        begins = [float(of.sent.time_s[0]), *(start + took for start, took in pauses)]
        ends = [*(start for start, _ in pauses), last_s]
        edges += [
            (max(begin, begin_s), min(end, end_s)) for begin, end in zip(begins, ends, strict=True)
        ]
    starts: list[float] = []
    stops: list[float] = []
    for start, stop in sorted(edge for edge in edges if edge[1] > edge[0]):
        if stops and start <= stops[-1]:
            stops[-1] = max(stops[-1], stop)
        else:
            starts.append(start)
            stops.append(stop)
    return np.array(starts), np.array(stops)


def _delivered(of: Trace, begin_s: float, end_s: float) -> float:
    """Give the bytes that were acknowledged in a time."""
    acks = of.acknowledged
    if not len(acks):
        return 0.0
    highest = np.maximum.accumulate(acks.offset)
    before = int(np.searchsorted(acks.time_s, begin_s)) - 1
    last = int(np.searchsorted(acks.time_s, end_s)) - 1
    if last < 0:
        return 0.0
    start = float(highest[before]) if before >= 0 else float(acks.offset[0])
    return max(0.0, float(highest[last]) - start)

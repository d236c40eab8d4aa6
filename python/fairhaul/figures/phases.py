"""When a flow was in slow start, and when in recovery, from its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairhaul.record.columns import columns_of

if TYPE_CHECKING:
    from fairhaul.figures.charts.vega import Row
    from fairhaul.record.record import Record
    from fairhaul.record.series import Series

SLOW_START, RECOVERY = "slow start", "recovery"


def phases(record: Record, rows: Series) -> dict[str, list[Row]]:
    """Give for each flow rows of `from`, `t` (the end) and `what`, seconds.

    Recovery begins with a reduction and ends with the event `recovered`; a timeout ends it as well.
    Slow start is where the mean window of a bin is below its mean `ssthresh`, outside recovery. A
    flow that has no `ssthresh` in the whole run has no slow start here: its controller may not use
    the threshold.
    """
    recoveries = _recoveries(record)
    found: dict[str, list[Row]] = {}
    for i, flow in enumerate(record.meta["scenario"]["flows"]):
        spans = recoveries.get(flow["name"], [])
        recovery = [{"from": begun, "t": end, "what": RECOVERY} for begun, end in spans]
        found[flow["name"]] = [*_slow_start(rows, i, flow, spans), *recovery]
    return found


def _recoveries(record: Record) -> dict[str, list[tuple[float, float]]]:
    """Give from when to when each flow was in recovery."""
    found: dict[str, list[tuple[float, float]]] = {}
    begun: dict[str, float] = {}
    for t_s, kind, flow in columns_of(record.raw("event")).rows("t_s", "kind", "flow"):
        if kind == "reduction":
            begun.setdefault(flow, t_s)
        elif kind in ("recovered", "undone", "timeout") and flow in begun:
            found.setdefault(flow, []).append((begun.pop(flow), t_s))
    end_s = float(record.meta["scenario"]["duration_s"])
    for flow, begun_s in begun.items():
        found.setdefault(flow, []).append((begun_s, end_s))
    return found


def _slow_start(
    rows: Series, part: int, flow: Mapping[str, Any], recovery: Sequence[tuple[float, float]]
) -> Iterator[Row]:
    threshold = rows.columns["ssthresh_packets"][part]
    if flow.get("connections", 1) > 1 or np.isnan(threshold).all():
        return  # windows of several connections are added up, their thresholds are not
    sent = np.flatnonzero(rows.columns["sent"][part] > 0)
    if not len(sent):
        return
    # Without a threshold, which is NaN, slow start has no end.
    inside = ~(rows.columns["cwnd_packets"][part] >= threshold)
    inside[: sent[0]] = inside[sent[-1] + 1 :] = False
    ends_s = rows.starts_s + rows.lengths_s
    for begun_s, end_s in recovery:
        inside[(ends_s > begun_s) & (rows.starts_s < end_s)] = False
    edges = np.flatnonzero(np.diff(np.concatenate(([0], inside.astype(int), [0]))))
    for first, last in zip(edges[::2], edges[1::2] - 1, strict=True):
        yield {"from": float(rows.starts_s[first]), "t": float(ends_s[last]), "what": SLOW_START}

"""What an attack computes of a run: all objectives and sentences come from these figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from fairhaul.measures.dynamics import per_window
from fairhaul.measures.measures import measure
from fairhaul.record.columns import columns_of
from fairhaul.record.record import Record
from fairhaul.record.series import Series, series
from fairhaul.scenario.packets import payload_part
from fairhaul.studies.attack.place import OWN, RIVAL

if TYPE_CHECKING:
    from fairhaul.record.series import Floats
    from fairhaul.scenario.read import Scenario

# The queue is at least as long as its standing part for all but this part of the time.
STANDING = 0.1
# A flow is stalled while it has less than this part of its fair share, averaged over a window of
# this many of the longest round trips, or of this part of the run if that is longer.
STALLED = 0.5
WINDOW_ROUND_TRIPS, WINDOW_PART = 10.0, 0.01

Figures = Mapping[str, Any]

# The runs at a place: with the attacked flows, and with flows of the rivals' controller instead.
ATTACKED, REFERENCE = "attacked", "reference"

Runs = Mapping[str, Figures]
"""The figures of the runs at a place, by their cases."""


def figures_of(_: Scenario, record: Record) -> Figures:
    """Compute the figures of a run, in values that JSON holds."""
    run: Mapping[str, Any] = measure(record)
    link = run["links"][0]
    stalled_s, present_s = _stall(record)
    return {
        "flows": {
            name: _group(flows)
            for name in (OWN, RIVAL)
            if (flows := [of for of in run["flows"] if of["name"].partition("[")[0] == name])
        },
        "utilization": link["utilization"],
        "drop_rate": link["drop_rate"] or 0.0,
        "mark_rate": link["mark_rate"] or 0.0,
        "standing_s": _standing_s(record),
        "stalled_s": stalled_s,
        "present_s": present_s,
        "packets": int(run["packets"]),
        "kernel": record.meta.get("kernel"),
    }


def _group(flows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Give the means of a group of flows; goodputs are of each flow."""
    goodputs: dict[str, float] = {}
    for flow in flows:
        goodputs[flow["group"]] = goodputs.get(flow["group"], 0.0) + flow["goodput_bps"]
    return {
        "goodputs_bps": list(goodputs.values()),
        "goodput_bps": fmean(goodputs.values()),
        "loss_rate": fmean(flow["loss_rate"] or 0.0 for flow in flows),
        # What a transport stack does not show is missing.
        "timeouts": _mean([flow["timeouts"] for flow in flows]),
        "cwnd": _mean([flow["cwnd_mean"] for flow in flows]),
        # A flow whose connection never opens has none.
        "rtt_s": _mean([rtt for flow in flows if (rtt := flow["rtt_mean_s"])] or [None]),
        "loss_events": _mean([flow["loss_events"] for flow in flows]),
        "completion_s": _mean([flow["completion_s"] for flow in flows]),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """Give the mean, or None if one of the values is missing."""
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def _links(record: Record, scenario: Mapping[str, Any]) -> Series:
    return series(record.raw("link_series"), len(scenario["links"]), scenario)


def _standing_s(record: Record) -> float:
    """Give the queueing delay that the link has for all but a tenth of the measured time."""
    scenario = record.meta["scenario"]
    rows = _links(record, scenario)
    rate = np.full(len(rows.lengths_s), float(scenario["links"][0]["rate_bps"]))
    if "capacity_bytes" in rows.columns:
        rate = np.maximum(rows.columns["capacity_bytes"][0] * 8 / rows.lengths_s, 1.0)
    delays = rows.columns["backlog_bytes"][0] * 8 / rate
    order = np.argsort(delays, kind="stable")
    passed = np.cumsum(rows.lengths_s[order]) / rows.lengths_s.sum()
    return float(delays[order[min(int(np.searchsorted(passed, STANDING)), len(order) - 1)]])


def _stall(record: Record) -> tuple[float, float]:
    """Give the longest stall of an attacked flow, and how long that flow was present, seconds."""
    scenario = {**record.meta["scenario"], "warmup_s": 0.0}
    flows = scenario["flows"]
    own = _sender(flows[0])
    rows = series(record.raw("flow_series"), len(flows), scenario)
    edges = [*rows.starts_s.tolist(), float(scenario["duration_s"])]
    starts_s = _starts_s(record)
    window_s = max(
        WINDOW_ROUND_TRIPS * max(flow["rtt_s"] for flow in flows),
        WINDOW_PART * scenario["duration_s"],
    )
    capacity = _payload_bytes(record, scenario)
    worst, present_s = -1.0, 1.0
    for place, flow in enumerate(flows):
        start_s = starts_s.get(flow["name"], 0.0)
        if _sender(flow) != own or edges[-1] - start_s < window_s:
            continue
        got = per_window(edges, rows.columns["goodput_bytes"][place], start_s, window_s)
        whole = per_window(edges, capacity, start_s, window_s)
        others = _present(start_s, window_s, len(got), list(starts_s.values()))
        stalled_s = window_s * _longest((got < STALLED * whole / others).tolist())
        if stalled_s / (edges[-1] - start_s) > worst / present_s:
            worst, present_s = stalled_s, edges[-1] - start_s
    return max(worst, 0.0), present_s


def _sender(flow: Mapping[str, Any]) -> tuple[str, str]:
    return flow["controller"], flow.get("stack", "")


def _starts_s(record: Record) -> dict[str, float]:
    starts: dict[str, float] = {}
    for flow, start_s in columns_of(record.raw("transfer")).rows("flow", "start_s"):
        starts[flow] = min(start_s, starts.get(flow, start_s))
    return starts


def _payload_bytes(record: Record, scenario: Mapping[str, Any]) -> Floats:
    """Give the payload that the link could send in each bin."""
    rows = _links(record, scenario)
    payload = payload_part(scenario["flows"][0], record.meta["engine"])
    fixed: Floats = rows.lengths_s * (scenario["links"][0]["rate_bps"] / 8 * payload)
    changing: Floats | None = rows.columns.get("capacity_bytes")
    return fixed if changing is None else changing[0] * payload


def _present(from_s: float, window_s: float, count: int, starts_s: Sequence[float]) -> Floats:
    """Give the number of flows that had started at the begin of each window, at least one."""
    begins = from_s + window_s * np.arange(count)
    flows: Floats = np.maximum((np.array(starts_s)[:, None] <= begins + 1e-9).sum(axis=0), 1.0)
    return flows


def _longest(stalled: Sequence[bool]) -> int:
    """Give the length of the longest row of windows in which a flow is stalled."""
    rows = (list(row) for is_stalled, row in groupby(stalled) if is_stalled)
    return max(map(len, rows), default=0)

"""NewReno and CUBIC, alone and beside each other: the numbers of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from fairhaul.record.record import Record
from fairhaul.record.series import series
from fairhaul.studies.papers.measured import Coincidence, goodput_factor

# Of a data packet; what is delivered counts without.
HEADERS = 40


def numbers(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give the numbers of a run of two flows, of which the first is NewReno."""
    reno, other = flows = figures["flows"]
    rates = [flow["throughput_bps"] for flow in flows]
    capacity = record.meta["scenario"]["links"][0]["rate_bps"]
    specs = record.meta["scenario"]["flows"]
    packets = [_queued(flow, spec) for flow, spec in zip(flows, specs, strict=True)]
    recorded = figures["links"][0]["queue_mean_packets"]
    return {
        "ratio": rates[0] / rates[1] if rates[1] else None,
        "NewReno": 100 * rates[0] / capacity,
        "other": 100 * rates[1] / capacity,
        "utilisation": 100 * figures["links"][0]["utilization"],
        "loss NewReno": reno["loss_rate"],
        "loss other": other["loss_rate"],
        "loss ratio": other["loss_rate"] / reno["loss_rate"] if reno["loss_rate"] else None,
        "sent share": rates[1] / sum(rates),
        "queue share": packets[1] / sum(packets) if sum(packets) else None,
        "queue": recorded,
        "queue found": sum(packets) / recorded if recorded else None,
        "loss events": float(min(flow["loss_events"] for flow in flows)),
        "timeouts": float(sum(flow["timeouts"] for flow in flows)),
    }


def _queued(flow: Mapping[str, Any], spec: Mapping[str, Any]) -> float:
    """Give the mean number of packets of a flow in the queue, by Little's law.

    The record has the backlog of the link and not of its flows. What arrives of a flow in a second
    times the time that it waits is what it has in the queue; it waits for what its round trips are
    above propagation. Access links and the reverse path add less than a packet of the bottleneck.
    """
    arrived = flow["throughput_bps"] / 8 / (spec["packet_bytes"] - HEADERS)
    waited = (flow["rtt_mean_s"] or spec["rtt_s"]) - spec["rtt_s"]
    return float(arrived * max(waited, 0.0))


def on_hosts(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give the numbers of a run of the kernel's Reno beside its CUBIC."""
    worth = 100 * goodput_factor(record)
    reno, cubic = (worth * flow["link_share"] for flow in figures["flows"])
    return {
        "NewReno / CUBIC": reno / cubic if cubic else None,
        "NewReno in %": reno,
        "CUBIC in %": cubic,
        "utilisation in %": 100 * figures["links"][0]["utilization"],
        **Coincidence(title="", flows=("newreno", "cubic")).numbers(figures),
    }


def alone(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give how well one flow uses the link, and how much its window varies."""
    return {
        "utilisation": 100 * figures["links"][0]["utilization"],
        "from the start": 100 * _whole(record),
        "variation": variation(record),
        "loss events": float(figures["flows"][0]["loss_events"]),
    }


def _whole(record: Record) -> float:
    """Give the utilisation of the first link over the whole run, its start included."""
    scenario = record.meta["scenario"]
    first = pl.col("link").cast(pl.String) == scenario["links"][0]["name"]
    return float(record.link_series.filter(first)["busy_s"].sum()) / float(scenario["duration_s"])


def variation(record: Record) -> float:
    """Give the coefficient of variation over time of the first flow's window, after the warm-up."""
    scenario = record.meta["scenario"]
    rows = series(record.flow_series, len(scenario["flows"]), scenario)
    windows = rows.columns["cwnd_packets"][0]
    mean = np.average(windows, weights=rows.lengths_s)
    return float(np.sqrt(np.average((windows - mean) ** 2, weights=rows.lengths_s)) / mean)

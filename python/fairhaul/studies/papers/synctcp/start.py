"""The one flow F of Sync-TCP's experiments: its start, its delays, and its goodput over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from fairhaul.measures.losses import REDUCTIONS, not_undone
from fairhaul.record.record import Record
from fairhaul.record.series import series
from fairhaul.studies.papers.measured import goodput_factor

FLOW = "F"

# A mean over a bin is a sum of binary fractions.
ROUNDING = 0.01

# The windows of time in which goodput is taken: the length of the paper's runs, and the end of
# ten minutes.
WINDOWS_S: Mapping[str, tuple[float, float]] = {
    "first 25 s": (0.0, 25.0),
    "last 300 s": (300.0, 600.0),
}


def numbers(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give how long the window took to its bound, and the losses until then and in all.

    `by then` is the time, or that of the whole run where the bound was never reached.
    """
    scenario, flow = record.meta["scenario"], figures["flows"][0]
    time = reached(record, scenario["flows"][0]["max_window"])
    by_then = scenario["duration_s"] if time is None else time
    early = [
        loss
        for loss in not_undone(record)
        if loss.flow == FLOW and loss.kind in REDUCTIONS and loss.t_s < by_then
    ]
    return {
        "time": time,
        "reached": float(time is not None),
        "by then": by_then,
        "early losses": float(len(early)),
        "losses": float(flow["loss_events"]),
        "timeouts": float(flow["timeouts"]),
        "goodput": flow["goodput_bps"] * 1e-6,
    }


def on_hosts(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give how long the window took to what the path holds, and what was retransmitted."""
    scenario, flow = record.meta["scenario"], figures["flows"][0]
    # What the path holds: 60 ms of packets of 1500 bytes.
    time = reached(record, 0.06 * scenario["links"][0]["rate_bps"] / 12_000)
    by_then = scenario["duration_s"] if time is None else time
    early = record.flow_series.filter(pl.col("t_s") < by_then)["retransmitted"].sum()
    return {
        "seconds": by_then,
        "early retransmissions": float(early),
        "retransmissions": float(flow["retransmits"]),
        "timeouts": float(flow["timeouts"]),
        "goodput": flow["goodput_bps"] * goodput_factor(record) * 1e-6,
    }


def reached(record: Record, packets: float) -> float | None:
    """When the window of F was first at `packets` for a whole bin, seconds; nothing if never."""
    mine = pl.col("flow").cast(pl.String) == FLOW
    bins = record.flow_series.filter(mine & (pl.col("cwnd_packets") >= packets - ROUNDING))
    return float(bins["t_s"][0]) if bins.height else None


def delays(record: Record, _: Mapping[str, Any]) -> dict[str, float | None]:
    """Give mean delays, the mean window, and the round trips until the window is at its bound."""
    scenario = record.meta["scenario"]
    rows = series(record.flow_series, len(scenario["flows"]), scenario)
    samples = rows.columns["rtt_samples"][0]
    means = {
        name: float(np.nansum(rows.columns[column][0] * samples) / samples.sum() * 1e3)
        for name, column in (("round trip", "rtt_s"), ("one way", "one_way_s"))
    }
    time = reached(record, scenario["flows"][0]["max_window"])
    goodput = rows.total("goodput_bytes")[0] * 8e-6 / rows.lengths_s.sum()
    return {
        **means,
        "window": float(rows.mean("cwnd_packets")[0]),
        "goodput": float(goodput),
        "rounds": None if time is None else _rounds(record, time),
    }


def _rounds(record: Record, until_s: float) -> float:
    """How many round trips F has had up to a time: bins over their mean round trips."""
    scenario = record.meta["scenario"]
    rows = series(record.flow_series, len(scenario["flows"]), {**scenario, "warmup_s": 0.0})
    before = (rows.starts_s < until_s) & (rows.columns["rtt_samples"][0] > 0)
    return float(np.sum(rows.lengths_s[before] / rows.columns["rtt_s"][0][before]))


def goodputs(record: Record, _: Mapping[str, Any]) -> dict[str, float | None]:
    """Give the goodput in each window of time that the run reaches to the end of, Mbit/s."""
    numbers: dict[str, float | None] = {}
    for name, (start, end) in WINDOWS_S.items():
        inside = pl.col("t_s").is_between(start, end, closed="left")
        received = record.flow_series.filter(inside)["goodput_bytes"].sum()
        whole = end <= record.meta["scenario"]["duration_s"]
        numbers[name] = float(received) * 8e-6 / (end - start) if whole else None
    return numbers

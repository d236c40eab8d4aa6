"""What is computed of one run of a cell: bursts and acknowledgements of the first flow, and means.

Goodput is counted in full packets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fairhaul.measures.measures import measure
from fairhaul.scenario.packets import payload_part

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

# Packets that leave at most so long after each other are one burst. In Linux the buffers of one
# moment leave a nanosecond after each other, in the simulator at one time: both are one burst.
TOGETHER_S = 1e-6
# A packet trace has at most 10^6 rows, and up to four for a packet.
TRACED_PACKETS = 200_000
# What a trace gives.
OF_TRACE = (
    "acks_per_packet",
    "burst_mean",
    "burst_largest",
    "new_burst_mean",
    "new_burst_largest",
)


def figures_of(_: Scenario, record: Record) -> dict[str, Any]:
    """Give the figures of one run, each in the unit of its name."""
    figures: Any = measure(record)
    scenario = record.meta["scenario"]
    flows = figures["flows"]
    mtu, rate_bps = scenario["flows"][0]["packet_bytes"], figures["links"][0]["rate_bps"]
    payload = payload_part(scenario["flows"][0], record.meta["engine"])
    first = flows[0]
    return {
        "goodput": sum(flow["goodput_bps"] for flow in flows) / payload / rate_bps,
        "share": first["share"] if len(flows) > 1 else None,
        "rtt_ms": None if first["rtt_mean_s"] is None else 1000 * first["rtt_mean_s"],
        "cwnd": first["cwnd_mean"],
        "loss_rate": first["loss_rate"],
        "loss_events": first["loss_events"],
        **_traced(record, TRACED_PACKETS * 8 * mtu / rate_bps, scenario["warmup_s"]),
    }


def _traced(record: Record, until_s: float, warmup_s: float) -> dict[str, Any]:
    """The bursts, and the acknowledgements per packet, up to when the trace may be full.

    The lab has no trace. Where it may be full before the measurement begins, the second half of
    that time counts.
    """
    trace = record.trace
    if trace is None:
        return dict.fromkeys(OF_TRACE)
    since_s = min(warmup_s, until_s / 2)
    rows = trace.filter((pl.col("t_s") >= since_s) & (pl.col("t_s") < until_s))
    kinds = dict(rows["what"].cast(pl.String).value_counts().iter_rows())
    received = kinds.get("received", 0)
    sent = rows.filter(pl.col("what") == "sent")
    return {
        "acks_per_packet": kinds.get("ack_sent", 0) / received if received else None,
        **_sizes("burst", sent),
        **_sizes("new_burst", sent.filter(~pl.col("again"))),
    }


def _sizes(what: str, sent: pl.DataFrame) -> dict[str, Any]:
    """The mean and the largest burst of packets, and how many there are of each size."""
    sizes = bursts(np.sort(sent["t_s"].to_numpy()))
    number, count = np.unique(sizes, return_counts=True)
    return {
        f"{what}_mean": float(sizes.mean()) if len(sizes) else None,
        f"{what}_largest": int(sizes.max()) if len(sizes) else None,
        f"{what}s": dict(zip(map(str, number.tolist()), count.tolist(), strict=True)),
    }


def bursts(times_s: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Give the number of packets of each burst."""
    if not len(times_s):
        return np.array([], dtype=int)
    edges = np.flatnonzero(np.diff(times_s) > TOGETHER_S) + 1
    return np.diff(np.concatenate([[0], edges, [len(times_s)]]))

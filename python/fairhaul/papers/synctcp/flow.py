"""The one flow F of Sync-TCP's experiments: when its window was where, and what it lost till then.

`original` and `modified` are the two Sync-TCPs of the paper, `reno` is standard TCP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairhaul.losses import REDUCTIONS, stood
from fairhaul.measures import measure

if TYPE_CHECKING:
    from fairhaul.papers.experiment import Settings
    from fairhaul.record import Record

FLOW = "F"
CONTROLLERS: dict[str, Settings] = {
    "reno": {"flow.*.controller": "reno"},
    "original": {"flow.*.controller": {"kind": "synctcp", "variant": "original"}},
    "modified": {"flow.*.controller": {"kind": "synctcp", "variant": "modified"}},
}

# A mean over a bin is a sum of binary fractions.
ROUNDING = 0.01


def start_of(record: Record) -> dict[str, float | None]:
    """Give how long the window took to its bound, the losses up to there, and what became of it.

    `by then` is the time, or that of the whole run where the bound was never reached.
    """
    import polars as pl

    scenario = record.meta["scenario"]
    flow = measure(record)["flows"][0]
    there = reached(record, scenario["flows"][0]["max_window"])
    by_then = scenario["duration_s"] if there is None else there
    mine = pl.col("flow").cast(pl.String) == FLOW
    losses = stood(record).filter(mine & pl.col("kind").is_in(REDUCTIONS))
    return {
        "time": there,
        "by then": by_then,
        "early losses": float(losses.filter(pl.col("t_s") < by_then).height),
        "losses": float(flow["loss_events"]),
        "timeouts": float(flow["timeouts"]),
        "goodput": flow["goodput_bps"] * 1e-6,
    }


def reached(record: Record, packets: float) -> float | None:
    """When the window of F was first at `packets` for a whole bin, seconds; nothing if never."""
    import polars as pl

    mine = pl.col("flow").cast(pl.String) == FLOW
    there = record.flow_series.filter(mine & (pl.col("cwnd_packets") >= packets - ROUNDING))
    return float(there["t_s"][0]) if there.height else None


def keep_window(record: Record) -> Any:
    """Keep the congestion window of F over time."""
    from fairhaul.papers.figures import windows

    return windows(record, (FLOW,))

"""What is kept of a run: when the transfer was complete, how slow start ended, what was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import polars as pl

from fairhaul.measures.measures import measure

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

MEASURED = "F"
REDUCTIONS = ("reduction", "timeout")


class Started(TypedDict):
    """The values of a run; None where there is none."""

    completion_s: float | None
    """From the start of the measured transfer to its end."""
    lost: int
    """Packets that the measured flow lost."""
    lost_of_others: int
    others_bps: float
    """The goodput of the other flows after the warm-up."""
    delay_s: float
    """The longest time in the queue of the bottleneck."""
    exit_cwnd: float | None
    """The first finite slow-start threshold, packets, if no reduction came before it."""
    exit_s: float | None
    loss_s: float | None
    """When the window was first reduced."""
    goodput_bps: float
    """That of the measured flow from the fourth second to the sixth."""


def started(_: Scenario, record: Record) -> Started:
    """Give the values of a run of one of the scenarios of `scenarios/start`."""
    tables = record.tables()
    transfer = tables["transfer"].filter(_is_measured()).row(0, named=True)
    rows = tables["flow_series"]
    own, others = rows.filter(_is_measured()), rows.filter(~_is_measured())
    begun, end = transfer["start_s"], transfer["end_s"]
    events = tables["event"].filter(
        _is_measured() & pl.col("kind").cast(pl.String).is_in(REDUCTIONS)
    )
    loss_s = None if events.is_empty() else events["t_s"][0] - begun
    known = own.filter(pl.col("ssthresh_packets").is_finite())
    exit_s = None if known.is_empty() else known["t_s"][0] - begun
    bin_s = own["t_s"][1] - own["t_s"][0]
    is_exit = exit_s is not None and (loss_s is None or exit_s + bin_s < loss_s)
    middle = own.filter(pl.col("t_s").is_between(4, 6, closed="left"))
    delays = tables["queue_delay"].filter(pl.col("link").cast(pl.String) == "bottleneck")
    return Started(
        completion_s=None if end is None else end - begun,
        lost=int(own["lost"].sum()),
        lost_of_others=int(others["lost"].sum()),
        others_bps=0.0 if others.is_empty() else _others_bps(record),
        delay_s=float(delays["below_s"].max() or 0.0),  # type: ignore[arg-type]
        exit_cwnd=known["ssthresh_packets"][0] if is_exit else None,
        exit_s=exit_s if is_exit else None,
        loss_s=loss_s,
        goodput_bps=float(middle["goodput_bytes"].sum()) * 8 / 2,
    )


def _others_bps(record: Record) -> float:
    """Give the goodput of the others; all figures of a run take longer than its other values."""
    flows = measure(record)["flows"]
    return sum(flow["goodput_bps"] for flow in flows if flow["name"] != MEASURED)


def _is_measured() -> pl.Expr:
    return pl.col("flow").cast(pl.String) == MEASURED

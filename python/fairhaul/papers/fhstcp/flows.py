"""Three flows of FHSTCP's experiments, F1 to F3, beside a background: the numbers of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairhaul.fairness import jain
from fairhaul.measures import measure
from fairhaul.papers import losses

if TYPE_CHECKING:
    from fairhaul.record import Record

FLOWS = ("F1", "F2", "F3")
CONTROLLERS = ("fhstcp", "highspeed", "scalable", "reno")


def three_flows(record: Record) -> dict[str, float | None]:
    """Give the figures of a run of F1, F2 and F3 beside a background."""
    measures: Any = measure(record)
    scenario = record.meta["scenario"]
    bulk = {flow["name"] for flow in scenario["flows"] if flow["traffic"]["kind"] == "bulk"}
    by_name = {flow["name"]: flow for flow in measures["flows"]}
    shares = {name: 100 * by_name[name]["link_share"] for name in FLOWS}
    background = [flow for flow in measures["flows"] if flow["role"] == "background"]
    rates = [flow["loss_rate"] or 0.0 for flow in background if flow["name"] in bulk]
    events = sum(by_name[name]["loss_events"] for name in FLOWS)
    return {
        **shares,
        "F4": 100 * sum(flow["link_share"] for flow in background),
        "total": 100 * sum(flow["link_share"] for flow in measures["flows"]),
        "fairness index": jain(list(shares.values())),
        "F1/F3": shares["F1"] / shares["F3"] if shares["F3"] > 0 else None,
        "least background loss": min(rates, default=None),
        "most background loss": max(rates, default=None),
        "drops per loss event": _drops(record) / events if events else None,
        "queue mean": measures["links"][0]["queue_mean_packets"],
        "queue peak": _peak(record),
        **measures["fairness"]["jain_by_window"],
        **losses.numbers(measures, FLOWS),
    }


def keep_windows(record: Record) -> Any:
    """Keep the congestion windows of F1 to F3."""
    from fairhaul.papers.figures import windows

    return windows(record, FLOWS)


def _drops(record: Record) -> float:
    """The packets of F1 to F3 that were dropped in the measured time."""
    import polars as pl

    inside = pl.col("t_s") >= record.meta["scenario"]["warmup_s"]
    mine = pl.col("flow").cast(pl.String).is_in(FLOWS)
    return float(record.flow_series.filter(inside & mine)["lost"].sum())


def _peak(record: Record) -> float:
    """The longest queue of the first link in the measured time, as a mean over a bin of 0.1 s."""
    import polars as pl

    scenario = record.meta["scenario"]
    inside = pl.col("t_s") >= scenario["warmup_s"]
    first = pl.col("link").cast(pl.String) == scenario["links"][0]["name"]
    return float(record.link_series.filter(inside & first)["backlog_packets"].to_numpy().max())

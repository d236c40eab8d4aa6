"""What is computed of a run of a cell: the figures that are compared, and the length of a cycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from fairhaul.measures.losses import REDUCTIONS, not_undone
from fairhaul.measures.measures import measure
from fairhaul.record.record import Record
from fairhaul.scenario.packets import payload_part
from fairhaul.studies.cells.table import (
    CELLS,
    CHANGES_AT_S,
    UNUSUAL,
    AnyCell,
    UnusualCell,
)

if TYPE_CHECKING:
    from fairhaul.scenario.read import Scenario

# The run that a cycle is predicted from.
PREDICTION_S = 300.0

# What is computed of a run of a cell, and kept.
Values = Mapping[str, float | None]

# For how long after the path has changed each half second is compared.
FOLLOWED_S = 5


def predicted(_: Scenario, record: Record) -> Values:
    """How long the first flow climbs from loss to loss, None without losses."""
    events = measure(record)["flows"][0]["loss_events"]
    return {"cycle_s": PREDICTION_S / events if events else None}


def cycle_s(record: Record) -> float | None:
    """How long the first flow's window climbs from loss to loss, None with fewer than two."""
    scenario = record.meta["scenario"]
    first = scenario["flows"][0]["name"]
    times = [
        loss.t_s
        for loss in not_undone(record)
        if loss.flow == first and loss.kind in REDUCTIONS and loss.t_s >= scenario["warmup_s"]
    ]
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None


def figures_of(scenario: Scenario, record: Record) -> Values:
    """The figures of one run that are compared, each in the unit of its name.

    The title of a scenario is the name of its cell.
    """
    cell: AnyCell = UNUSUAL.get(scenario.title) or CELLS[scenario.title]
    run: Mapping[str, Any] = measure(record)
    flows, link = run["flows"], run["links"][0]
    lag = run.get("trust", {}).get("lag")
    full = cell.rate_mbps * 1e6 * payload_part(record.meta["scenario"]["flows"][0], run["engine"])
    return {
        "link_share": sum(flow["goodput_bps"] for flow in flows) / full,
        "first_share": flows[0]["share"],
        "jain": run["fairness"]["jain"],
        "rtt_ms": 1000 * flows[0]["rtt_mean_s"],
        "cwnd": flows[0]["cwnd_mean"],
        "loss_rate": link["drop_rate"],
        "cycle_s": cycle_s(record),
        "lag_p99_us": 1e6 * lag["p99_s"] if lag else None,
        **(_by_half_second(record, cell) if isinstance(cell, UnusualCell) else {}),
    }


def _by_half_second(record: Record, cell: UnusualCell) -> Values:
    """The mean round trip of each half second for some time after the path has changed."""
    if not cell.by_half_second:
        return {}
    rows = record.flow_series.filter(pl.col("flow") == "1")
    means: dict[str, float | None] = {}
    for half in range(2 * FOLLOWED_S):
        begin = CHANGES_AT_S + half / 2
        part = rows.filter((pl.col("t_s") >= begin) & (pl.col("t_s") < begin + 0.5))
        samples = float(part["rtt_samples"].sum())
        total = float((part["rtt_s"].fill_null(0.0) * part["rtt_samples"]).sum())
        means[f"rtt_ms_{begin:g}s"] = 1000 * total / samples if samples else None
    return means

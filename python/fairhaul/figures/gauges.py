"""The gauges of queues and controllers over time, drawn from the record: a lane for each gauge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from fairhaul.figures.bins import MOST_BINS, Bins, level, points, whole_run
from fairhaul.figures.charts import Lane, Look, Span
from fairhaul.scenario.listings import catalogue

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.measures.types import GaugeEntry
    from fairhaul.record.record import Record

    # The entries of gauges, by the name of the controller or queue.
    Entries = Mapping[str, Sequence[GaugeEntry]]


def lanes(record: Record, links: Sequence[str], span: Span, most: int = MOST_BINS) -> list[Lane]:
    """Give a lane for each gauge of the queues of `links`."""
    # The record names a queue that has parameters or gauges.
    kinds = {
        link["name"]: link.get("queue", {}).get("kind") for link in record.meta["scenario"]["links"]
    }
    found = _lanes(record, record.gauge, "link", _entries("queues", kinds), span, most)
    return [
        replace(lane, look=replace(lane.look, label=f"{lane.look.label}, {link}"))
        if len(links) > 1
        else lane
        for link, lane in found
        if link in links
    ]


def flow_lanes(
    record: Record, looks: Sequence[Look], span: Span, most: int = MOST_BINS
) -> list[Lane]:
    """Give a lane for each gauge of the controllers of flows, in the colours of `looks`."""
    kinds = {flow["name"]: flow.get("controller") for flow in record.meta["scenario"]["flows"]}
    found = _lanes(record, record.flow_gauge, "flow", _entries("controllers", kinds), span, most)
    by_flow = {look.label: look for look in looks}
    return [
        replace(
            lane,
            look=Look(
                label=lane.look.label if len(looks) == 1 else f"{lane.look.label}, {flow}",
                colour=by_flow[flow].colour,
            ),
        )
        for flow, lane in found
        if flow in by_flow
    ]


def gauges_of_flows(record: Record) -> dict[str, int]:
    """Give how many gauges the controller of each flow has, if it has any."""
    pairs = record.flow_gauge.select("flow", "gauge").unique(maintain_order=True).rows()
    return dict(Counter(flow for flow, _ in pairs))


def _lanes(
    record: Record, table: pl.DataFrame, owner: str, entries: Entries, span: Span, most: int
) -> list[tuple[str, Lane]]:
    """Give the lanes of all gauges of a table, each with the link or flow that it belongs to."""
    columns = table.select(owner, "gauge").unique(maintain_order=True).rows()
    if not columns:
        return []
    bins = level(whole_run(table, len(columns), record.meta["scenario"]), "value", most)
    found = []
    for part, (name, gauge) in enumerate(columns):
        if np.isnan(bins.mean[part]).all():
            continue
        entry = next((it for it in entries.get(name, ()) if it["name"] == gauge), None)
        unit, note = (entry["unit"], entry["help"]) if entry else ("", "")
        found.append((name, lane(gauge, bins, part, span, unit=unit, note=note)))
    return found


def lane(
    label: str, bins: Bins, part: int, span: Span, *, unit: str, note: str = "", number: int = 2
) -> Lane:
    """Give a lane whose scale is that of the measured time; `number` selects its colour.

    A gauge that is only on or off has no band: its mean says for which part of the time it was on.
    """
    known = ~np.isnan(bins.mean[part])
    scaled = known & (bins.middle_s >= span.warmup_s)
    scaled = scaled if scaled.any() else known
    top = float(np.max(bins.high[part][scaled]))
    bottom = min(0.0, float(np.min(bins.low[part][scaled])))
    rows = [
        {key: None if np.isnan(value) else value for key, value in row.items()}
        for row in points(bins, part)
    ]
    if np.isin([bins.low[part][known], bins.high[part][known]], [0, 1]).all():
        rows = [{**row, "low": row["mean"], "high": row["mean"]} for row in rows]
    return Lane(
        look=Look(label=label, colour=f"var(--c{number + 1})"),
        rows=rows,
        top=top if top > bottom else bottom + 1,
        bottom=bottom,
        note=note,
        unit=unit,
        form="~g" if max(top, -bottom) < 1 else "~s",
    )


def _entries(kind: Literal["queues", "controllers"], names: Mapping[str, str | None]) -> Entries:
    """Give the catalogue's entries of the gauges of each link's queue or flow's controller."""
    lists = catalogue()
    entries = lists["queues"] if kind == "queues" else lists["controllers"]
    known = {entry["name"]: entry.get("gauges", []) for entry in entries}
    return {name: known.get(chosen or "", []) for name, chosen in names.items()}

"""The gauges of queues and controllers over time, drawn from the record: a lane for each gauge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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

# Larger numbers are written with k, M and G.
LARGE = 1e5
# Smaller ones with powers of ten.
SMALL = 1e-3
# The colour of gauges of queues.
QUEUES = "var(--c3)"


def lanes(record: Record, links: Sequence[str], span: Span, most: int = MOST_BINS) -> list[Lane]:
    """Give a lane for each gauge of the queues of `links`."""
    # The record names a queue that has parameters or gauges.
    kinds = {
        link["name"]: link.get("queue", {}).get("kind") for link in record.meta["scenario"]["links"]
    }
    entries = _entries("queues", kinds)
    return _lanes(record, record.gauge, entries, dict.fromkeys(links, QUEUES), span, most)


def flow_lanes(record: Record, looks: Sequence[Look], span: Span) -> list[Lane]:
    """Give a lane for each gauge of the controllers of flows, in the colours of `looks`."""
    kinds = {flow["name"]: flow.get("controller") for flow in record.meta["scenario"]["flows"]}
    entries = _entries("controllers", kinds)
    colours = {look.label: look.colour for look in looks}
    return _lanes(record, record.flow_gauge, entries, colours, span, MOST_BINS)


def gauges_of_flows(record: Record) -> dict[str, int]:
    """Give how many gauges the controller of each flow has, if it has any."""
    pairs = record.flow_gauge.select("flow", "gauge").unique(maintain_order=True).rows()
    return dict(Counter(flow for flow, _ in pairs))


def _lanes(
    record: Record,
    table: pl.DataFrame,
    entries: Entries,
    colours: Mapping[str, str],
    span: Span,
    most: int,
) -> list[Lane]:
    """Give the lanes of the gauges of a table that belong to a link or flow with a colour."""
    owner = table.columns[1]
    columns = table.select(owner, "gauge").unique(maintain_order=True).rows()
    if not columns:
        return []
    bins = level(whole_run(table, len(columns), record.meta["scenario"]), "value", most)
    found = []
    for part, (name, gauge) in enumerate(columns):
        if name not in colours or np.isnan(bins.mean[part]).all():
            continue
        entry = next((it for it in entries.get(name, ()) if it["name"] == gauge), None)
        unit, note = (entry["unit"], entry["help"]) if entry else ("", "")
        label = gauge if len(colours) == 1 else f"{gauge}, {name}"
        found.append(lane(label, bins, part, span, unit=unit, note=note, colour=colours[name]))
    return found


def lane(
    label: str,
    bins: Bins,
    part: int,
    span: Span,
    *,
    unit: str,
    note: str = "",
    colour: str = QUEUES,
) -> Lane:
    """Give a lane whose scale is that of the measured time.

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
        look=Look(label=label, colour=colour),
        rows=rows,
        top=top if top > bottom else bottom + 1,
        bottom=bottom,
        note=note,
        unit=unit,
        form=_form(max(top, -bottom)),
    )


def _form(largest: float) -> str:
    """Give the form of the numbers of an axis; with "g" ticks of 20 and 40 would be 2e+1, 4e+1."""
    if largest >= LARGE:
        return "~s"
    return ",~r" if largest >= SMALL else ",~g"


def _entries(kind: Literal["queues", "controllers"], names: Mapping[str, str | None]) -> Entries:
    """Give the catalogue's entries of the gauges of each link's queue or flow's controller."""
    lists = catalogue()
    entries = lists["queues"] if kind == "queues" else lists["controllers"]
    known = {entry["name"]: entry.get("gauges", []) for entry in entries}
    return {name: known.get(chosen or "", []) for name, chosen in names.items()}

"""The gauges of queues over time, drawn from the record: a lane for each gauge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairhaul.listings import catalogue
from fairhaul.report.bins import MOST_BINS, Bins, level, points, whole_run
from fairhaul.report.charts import Lane, Look, Span

if TYPE_CHECKING:
    from fairhaul.record import Record
    from fairhaul.results import GaugeEntry


def lanes(record: Record, links: Sequence[str], span: Span, most: int = MOST_BINS) -> list[Lane]:
    """Give a lane for each gauge of the queues of `links`."""
    columns = record.gauge.select("link", "gauge").unique(maintain_order=True).rows()
    if not columns:
        return []
    bins = level(whole_run(record.gauge, len(columns), record.meta["scenario"]), "value", most)
    known = _known(record)
    return [
        lane(
            gauge if len(links) == 1 else f"{gauge}, {link}",
            bins,
            part,
            span,
            unit=known[link, gauge]["unit"],
            note=known[link, gauge]["help"],
        )
        for part, (link, gauge) in enumerate(columns)
        if link in links
    ]


def lane(
    label: str, bins: Bins, part: int, span: Span, *, unit: str, note: str = "", number: int = 2
) -> Lane:
    """Give a lane whose scale is that of the measured time; `number` selects its colour.

    A gauge that is only on or off has no band: its mean says for which part of the time it was on.
    """
    measured = bins.middle_s >= span.warmup_s
    top = float(np.max(bins.high[part][measured]))
    bottom = min(0.0, float(np.min(bins.low[part][measured])))
    rows = points(bins, part)
    if np.isin([bins.low[part], bins.high[part]], [0, 1]).all():
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


def _known(record: Record) -> dict[tuple[str, str], GaugeEntry]:
    """Give the catalogue's entry of each gauge of each link's queue."""
    gauges = {entry["name"]: entry.get("gauges", []) for entry in catalogue()["queues"]}
    # The record names a queue that has parameters or gauges.
    return {
        (link["name"], gauge["name"]): gauge
        for link in record.meta["scenario"]["links"]
        for gauge in gauges.get(link.get("queue", {}).get("kind"), [])
    }

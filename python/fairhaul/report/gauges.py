"""What queues tell of themselves over time, drawn from the record: a lane for each gauge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairhaul.look import catalogue
from fairhaul.report.bins import Bins, level, points, whole_run
from fairhaul.report.charts import Lane, Look

if TYPE_CHECKING:
    from fairhaul.record import Record


def meanings(record: Record, links: Sequence[str]) -> dict[str, str]:
    """Say what each gauge of the queues of `links` is."""
    return {
        gauge["name"]: gauge["help"]
        for name, queue in queues(record).items()
        if name in links
        for gauge in queue.get("gauges", [])
    }


def lanes(record: Record, links: Sequence[str]) -> list[Lane]:
    """Give a lane for each gauge of the queues of `links`."""
    if record.gauge.is_empty():
        return []
    known = queues(record)
    columns = record.gauge.select("link", "gauge").unique(maintain_order=True).rows()
    rows = whole_run(record.gauge, len(columns), record.meta["scenario"])
    found = level(rows, "value")
    return [
        _lane(found, part, next(g for g in known[link]["gauges"] if g["name"] == gauge), note)
        for part, (link, gauge) in enumerate(columns)
        for note in ([link] if link in links else [])
    ]


def queues(record: Record) -> dict[str, Mapping[str, Any]]:
    """Give what the catalogue says of the queue of each link."""
    known = {entry["name"]: entry for entry in catalogue()["queues"]}
    return {
        link["name"]: known[link.get("queue", {}).get("kind", "droptail")]
        for link in record.meta["scenario"]["links"]
    }


def _lane(found: Bins, part: int, gauge: Mapping[str, Any], note: str) -> Lane:
    # Seconds would be small numbers everywhere.
    unit, scale = ("ms", 1e3) if gauge["unit"] == "s" else (gauge["unit"], 1.0)
    mean, low, high = (one[part : part + 1] * scale for one in (found.mean, found.low, found.high))
    top, bottom = float(np.max(high)), min(0.0, float(np.min(low)))
    if top <= bottom:
        top = bottom + 1.0
    scaled = Bins(
        middle_s=found.middle_s,
        mean=mean,
        low=low,
        high=high,
        width_s=found.width_s,
        tick_s=found.tick_s,
    )
    return Lane(
        look=Look(label=gauge["name"], colour="var(--c3)"),
        rows=points(scaled, 0),
        top=top,
        bottom=bottom,
        note=note,
        unit=unit,
        form="~g" if max(top, -bottom) < 1 else "~s",
    )

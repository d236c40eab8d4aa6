"""The drops and marks of a RED queue over its average length: the law, and what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairhaul.figures import charts
from fairhaul.figures.bins import tidy
from fairhaul.figures.charts import Curve, Look, Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairhaul.figures.charts.vega import Row, Spec
    from fairhaul.record.record import Record
    from fairhaul.record.series import Series

# Into so many points the bins of a run are put together, by their average queue.
MOST_POINTS = 20
MEASURED = Look(label="measured", colour="var(--c1)")
LAW = Look(label="law", colour="var(--c2)", thin=True)
CAPTION = (
    "Part of the arriving packets that the queue dropped or marked in the measured time, those "
    "dropped by a full queue included. A point is a twentieth of the run's bins, chosen by their "
    "average queue. The law is that of RED with the mean max_p of the run: its probability p, "
    "spaced out over the packets, drops 2 p / 3 of them with wait and 2 p without."
)


def chart(record: Record, rows: Series, links: Sequence[int]) -> Spec | None:
    """Draw a panel for each RED queue among `links`; nothing without one, or without its gauges."""
    if record.gauge.is_empty():
        return None
    described = [(number, record.meta["scenario"]["links"][number]) for number in links]
    panels = {
        link["name"]: (_adapted(record, rows, link), measured(record, rows, number))
        for number, link in described
        if link.get("queue", {}).get("kind") == "red"
    }
    if not panels:
        return None
    queues, points = zip(*panels.values(), strict=True)
    averages = [point["x"] for each in points for point in each]
    parts = [point["mean"] for each in points for point in each]
    wide = 1.1 * max(*averages, *(queue["max_threshold"] for queue in queues), 0.0)
    top = 110 * max(*parts, *(share(queue, queue["max_p"]) for queue in queues), 0.0)
    lines = {
        name: [
            Curve(look=MEASURED, points=_percent(each)),
            Curve(look=LAW, points=_percent(law(queue, wide))),
        ]
        for name, (queue, each) in panels.items()
    }
    x = Scale(title="Average queue (mean packets)", low=0, high=wide)
    return charts.beside(lines, x, Scale(title="Dropped or marked (%)", low=0, high=top))


def _percent(rows: Sequence[Row]) -> list[Row]:
    return [{**row, "mean": 100 * row["mean"]} for row in rows]


def _adapted(record: Record, rows: Series, link: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parameters of a queue, with the mean of `max_p`, which Adaptive RED changes."""
    max_p = _gauge(record, link["name"], "max_p")
    counted = rows.starts_s >= record.meta["scenario"]["warmup_s"]
    mean = np.average(max_p[counted], weights=rows.lengths_s[counted])
    return {**link["queue"], "max_p": float(mean)}


def _gauge(record: Record, link: str, name: str) -> NDArray[np.float64]:
    """Give a gauge of a queue in each bin of the record."""
    own = (record.gauge["link"] == link) & (record.gauge["gauge"] == name)
    return record.gauge.filter(own)["value"].to_numpy()


def measured(record: Record, rows: Series, number: int) -> list[Row]:
    """Give the part of the packets that a queue dropped or marked, by its average length.

    A point has the bins of the measured time that are neighbours by their average.
    """
    scenario = record.meta["scenario"]
    average = _gauge(record, scenario["links"][number]["name"], "average_packets")
    arrived = rows.columns["arrived"][number]
    gone = rows.columns["dropped"][number] + rows.columns["marked"][number]
    counted = np.flatnonzero((rows.starts_s >= scenario["warmup_s"]) & (arrived > 0))
    ordered = counted[np.argsort(average[counted], kind="stable")]
    return [
        {
            "x": tidy(float(np.average(average[part], weights=arrived[part]))),
            "mean": tidy(float(gone[part].sum() / arrived[part].sum())),
            "low": None,
            "high": None,
        }
        for part in np.array_split(ordered, MOST_POINTS)
        if len(part)
    ]


def law(queue: Mapping[str, Any], most: float) -> list[Row]:
    """Give the part of the packets that the curve of RED drops or marks, up to an average."""
    low, high = queue["min_threshold"], queue["max_threshold"]
    steps = [(0.0, 0.0), (low, 0.0), (high, share(queue, queue["max_p"]))]
    steps += [(2 * high, share(queue, 1.0))] if queue["gentle"] else [(high, 1.0)]
    steps.append((max(most, 2 * high), 1.0))
    return [{"x": x, "mean": y, "low": None, "high": None} for x, y in steps]


def share(queue: Mapping[str, Any], p: float) -> float:
    """Give the part of the packets that is dropped or marked at a probability of the curve.

    Gaps are uniform from 1/p to 2/p packets with `wait`, and otherwise up to 1/p.
    """
    return min(p / 1.5 if queue["wait"] else 2 * p, 1.0)

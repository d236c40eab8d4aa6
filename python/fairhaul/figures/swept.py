"""A sweep as figures: curves with bands over a swept number, or what suits its keys.

| swept keys | figure |
|---|---|
| at least one number | curves over that with most values, lines for the values of the others |
| two numbers with many values | the same, and a heat map |
| numbers that are drawn at random | scattered points over each of them |
| words alone | a dot with its interval for each point |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.figures.axes import SweptAxis, axes, label
from fairhaul.figures.charts import Curve, Look, Panel, Scale, curves, ends, panels, powers
from fairhaul.figures.charts.fields import heat, scattered
from fairhaul.figures.figure import Figure
from fairhaul.figures.look import colour, dash
from fairhaul.results.table import Row, named, parties
from fairhaul.statistics.estimate import LEAST_RUNS

# More lines than this cannot be told apart.
MOST_LINES = 8
# A key with at least so many values is worth an axis of a heat map.
LEAST_CELLS = 3
# Of a design that is drawn, nearly every row has another value.
DRAWN = 0.8


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A figure that is drawn: its name among the columns, its title, its scale and its limits."""

    name: str
    title: str
    scale: float = 1.0
    most: float = float("inf")

    def of(self, found: Mapping[str, Any]) -> dict[str, float | None] | None:
        """Give the mean and the ends of its interval, or nothing where there is no value."""
        mean = found.get(self.name)
        if mean is None:
            return None
        return {
            key: None if mean[key] is None else mean[key] * self.scale
            for key in ("mean", "low", "high")
        }


def figures(table: Sequence[Row]) -> list[Figure]:
    """Draw a sweep; points without a result are not drawn."""
    table = [row for row in table if row.runs]
    keys = axes(table)
    if len(table) < 2 or not keys:
        return []
    numeric = [axis for axis in keys if axis.numbers is not None]
    summaries = [named(row.summary) for row in table]
    measures = measures_of(table)
    if not numeric:
        return [_dots(table, summaries, keys, measures)]
    drawn = [axis for axis in numeric if len(axis.values) >= DRAWN * _rows_of_design(table, keys)]
    if len(drawn) > 1:
        words = [axis for axis in keys if axis.numbers is None]
        return [_scatter(table, summaries, drawn, words, measure) for measure in measures]
    x = max(numeric, key=lambda axis: len(axis.values))
    others = [axis for axis in keys if axis is not x]
    found = [_curves(table, summaries, x, others, measure) for measure in measures]
    shares = _shares(table, summaries, x, others)
    found = ([shares] if shares else []) + found
    if len(numeric) == 2 and len(keys) == 2:
        y = others[0]
        if min(len(x.values), len(y.values)) >= LEAST_CELLS:
            found += [_heat(table, summaries, x, y, measure) for measure in measures[:1]]
    return found


def measures_of(table: Sequence[Row]) -> list[Measure]:
    """Choose what is drawn: fairness if several groups have values of it, and the busiest link."""
    first = table[0].summary
    link = max(first["links"], key=lambda link: link["utilization"]["mean"])["name"]
    jain = [Measure(name="jain", title="Jain's index", most=1.0)]
    several = first["fairness"]["jain"] is not None and len(parties(first)) > 1
    return [
        *(jain if several else []),
        Measure(
            name=f"{link}.utilization", title="Utilization of the link (%)", scale=100, most=100
        ),
        Measure(name=f"{link}.queue_mean_s", title="Mean queueing delay (ms)", scale=1000),
        Measure(name=f"{link}.drop_rate", title="Packets dropped (%)", scale=100, most=100),
    ]


def _rows_of_design(table: Sequence[Row], keys: Sequence[SweptAxis]) -> float:
    """The number of drawn rows: the points over the combinations of words."""
    rows = float(len(table))
    for axis in keys:
        if axis.numbers is None:
            rows /= len(axis.values)
    return max(rows, 3.0)


def _x_scale(x: SweptAxis) -> Scale:
    numbers = list(x.numbers or ())
    if x.is_logarithmic:
        return powers(x.title, numbers)
    low, high = min(numbers), max(numbers)
    return Scale(title=x.title, low=low, high=high)


def _y_scale(title: str, rows: Sequence[Mapping[str, Any]], most: float) -> Scale:
    low, high = ends([row[key] for row in rows for key in ("mean", "low", "high")], most=most)
    return Scale(title=title, low=low, high=high)


def _curves(
    table: Sequence[Row],
    summaries: Sequence[Mapping[str, Any]],
    x: SweptAxis,
    others: Sequence[SweptAxis],
    measure: Measure,
) -> Figure:
    lines: dict[str, list[dict[str, Any]]] = {}
    for row, found in zip(table, summaries, strict=True):
        point = measure.of(found)
        if point is not None:
            at = {"x": x.number(row.point.variant[x.key]), **point}
            lines.setdefault(label(row, others), []).append(at)
    return _lines(measure.name, measure.title, lines, x, measure.most, table)


def _shares(
    table: Sequence[Row],
    summaries: Sequence[Mapping[str, Any]],
    x: SweptAxis,
    others: Sequence[SweptAxis],
) -> Figure | None:
    """Draw the share of each flow or group; nothing of a single one, or of too many."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for row, found in zip(table, summaries, strict=True):
        for party in parties(row.runs[0]):
            share = Measure(name=f"{party['name']}.share", title="", scale=100).of(found)
            if share is not None:
                where = label(row, others)
                called = f"{party['name']}, {where}" if where else party["name"]
                at = {"x": x.number(row.point.variant[x.key]), **share}
                lines.setdefault(called, []).append(at)
    if not 1 < len(lines) <= MOST_LINES:
        return None
    return _lines("share", "Share of all goodput (%)", lines, x, 100.0, table)


def _lines(
    name: str,
    title: str,
    lines: Mapping[str, list[dict[str, Any]]],
    x: SweptAxis,
    most: float,
    table: Sequence[Row],
) -> Figure:
    y = _y_scale(title, [row for rows in lines.values() for row in rows], most)
    kept = dict(list(lines.items())[:MOST_LINES])
    drawn = [
        Curve(
            look=Look(label=called, colour=colour(index), dash=dash(index)),
            points=sorted(rows, key=lambda row: float(row["x"])),
        )
        for index, (called, rows) in enumerate(kept.items())
    ]
    left_out = len(lines) - len(kept)
    more = f" Only the first {MOST_LINES} of {len(lines)} lines are drawn." if left_out else ""
    return Figure(
        name=_file(name),
        title=f"{title}, by {x.name}",
        caption=f"{_band(table)}{more}",
        chart=curves(drawn, _x_scale(x), y),
    )


def _band(table: Sequence[Row]) -> str:
    runs = min(len(row.runs) for row in table)
    if runs == 1:
        return "Each point is one run."
    if runs < LEAST_RUNS:
        return "Points are means over the seeds; bands reach from the smallest to the largest run."
    return "Points are means over the seeds; bands are their 95 % intervals."


def _file(name: str) -> str:
    """Give a name for the files of a figure."""
    return "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")


def _heat(
    table: Sequence[Row],
    summaries: Sequence[Mapping[str, Any]],
    x: SweptAxis,
    y: SweptAxis,
    measure: Measure,
) -> Figure:
    rows: list[dict[str, Any]] = []
    for row, found in zip(table, summaries, strict=True):
        point = measure.of(found)
        if point is not None and point["mean"] is not None:
            rows.append(
                {
                    "x": str(row.point.variant[x.key]),
                    "y": str(row.point.variant[y.key]),
                    "value": point["mean"],
                    "text": f"{point['mean']:.3g}",
                }
            )
    values = [float(row["value"]) for row in rows]
    scale = Scale(title=y.name, low=min(values), high=max(values))
    xs, ys = ([str(value) for value in axis.values] for axis in (x, y))
    return Figure(
        name=_file(f"{measure.name}-map"),
        title=f"{measure.title}, by {x.name} and {y.name}",
        caption="Each cell has the mean over the seeds; darker is more.",
        chart=heat(rows, xs, ys, x.name, scale),
    )


def _scatter(
    table: Sequence[Row],
    summaries: Sequence[Mapping[str, Any]],
    drawn: Sequence[SweptAxis],
    words: Sequence[SweptAxis],
    measure: Measure,
) -> Figure:
    clouds: dict[str, list[tuple[Row, float]]] = {}
    for row, found in zip(table, summaries, strict=True):
        point = measure.of(found)
        if point is not None and point["mean"] is not None:
            clouds.setdefault(label(row, words), []).append((row, point["mean"]))
    means = [{"mean": mean, "low": None, "high": None} for of in clouds.values() for _, mean in of]
    looks = [Look(label=called, colour=colour(index)) for index, called in enumerate(clouds)]
    sides = [
        (
            _x_scale(axis),
            [
                (
                    look,
                    [
                        {"x": axis.number(row.point.variant[axis.key]), "mean": mean}
                        for row, mean in cloud
                    ],
                )
                for look, cloud in zip(looks, clouds.values(), strict=True)
            ],
        )
        for axis in drawn[:4]
    ]
    return Figure(
        name=_file(measure.name),
        title=f"{measure.title}, over each drawn key",
        caption="Each point is the mean over the seeds of one drawn setting.",
        chart=scattered(sides, _y_scale(measure.title, means, measure.most)),
    )


def _dots(
    table: Sequence[Row],
    summaries: Sequence[Mapping[str, Any]],
    keys: Sequence[SweptAxis],
    measures: Sequence[Measure],
) -> Figure:
    names = [label(row, keys) for row in table]
    each = []
    for measure in measures:
        rows = [
            {"row": name, "paper": None, **point}
            for name, found in zip(names, summaries, strict=True)
            if (point := measure.of(found)) is not None
        ]
        each.append(Panel(scale=_y_scale(measure.title, rows, measure.most), rows=rows))
    return Figure(
        name="points",
        title="The points of the sweep",
        caption=_band(table)
        .replace("bands are", "lines are")
        .replace("bands reach", "lines reach"),
        chart=panels(names, each),
    )

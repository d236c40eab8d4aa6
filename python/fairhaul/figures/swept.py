"""A sweep as figures: curves with bands over a swept number, or what suits its keys.

| swept keys | figure |
|---|---|
| at least one number | curves over that with most values, lines for the values of the others |
| two numbers with many values | the same, and a heat map |
| numbers that are drawn at random | scattered points over each of them |
| words alone | a dot with its interval for each point |
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fairhaul.figures.axes import SweptAxis, axes, label
from fairhaul.figures.charts import Curve, Look, Panel, Scale, curves, ends, looks, panels, powers
from fairhaul.figures.charts.fields import heat, scattered
from fairhaul.figures.figure import Figure
from fairhaul.figures.look import colour
from fairhaul.figures.words import reach
from fairhaul.results.figure_rows import estimated
from fairhaul.results.table import Row, named, parties
from fairhaul.statistics.estimate import LEAST_RUNS
from fairhaul.text.phrases import value_text

# More lines than this cannot be told apart.
MOST_LINES = 8
# A key with at least so many values is worth an axis of a heat map.
LEAST_CELLS = 3
# Of a design that is drawn, nearly every row has another value.
DRAWN = 0.8

# The rows of each line, by its name.
Lines = dict[str, list[dict[str, Any]]]


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
        return None if mean is None else estimated(mean, self.scale)

    def axis(self, rows: Sequence[Mapping[str, Any]]) -> Scale:
        """Give an axis with room for rows of `mean`, `low` and `high`."""
        values = [row[key] for row in rows for key in ("mean", "low", "high")]
        low, high = ends(values, most=self.most)
        return Scale(title=self.title, low=low, high=high)


SHARE = Measure(name="share", title="Share of all goodput (%)", scale=100, most=100.0)


def figures(table: Sequence[Row]) -> list[Figure]:
    """Draw a sweep; points without a result are not drawn."""
    sweep = _Sweep(table=[row for row in table if row.runs])
    return sweep.figures() if len(sweep.table) > 1 and sweep.keys else []


@dataclass(frozen=True, kw_only=True)
class _Sweep:
    """A sweep that is drawn: its points, which have results."""

    table: Sequence[Row]

    @cached_property
    def keys(self) -> list[SweptAxis]:
        return axes(self.table)

    @cached_property
    def numeric(self) -> list[SweptAxis]:
        return [axis for axis in self.keys if axis.numbers is not None]

    @cached_property
    def words(self) -> list[SweptAxis]:
        return [axis for axis in self.keys if axis.numbers is None]

    @cached_property
    def x(self) -> SweptAxis:
        """The number with most values."""
        return max(self.numeric, key=lambda axis: len(axis.values))

    @cached_property
    def others(self) -> list[SweptAxis]:
        return [axis for axis in self.keys if axis is not self.x]

    @cached_property
    def summaries(self) -> list[Mapping[str, Any]]:
        """The figures of each point by the names of their columns."""
        return [named(row.summary) for row in self.table]

    def measures(self) -> list[Measure]:
        """Choose what is drawn: fairness if several groups have it, and the busiest link."""
        first = self.table[0].summary
        link = max(first["links"], key=lambda link: link["utilization"]["mean"])["name"]
        jain = [Measure(name="jain", title="Jain's index", most=1.0)]
        several = first["fairness"]["jain"] is not None and len(parties(first)) > 1
        percent = {"scale": 100, "most": 100}
        return [
            *(jain if several else []),
            Measure(name=f"{link}.utilization", title="Utilization of the link (%)", **percent),
            Measure(name=f"{link}.queue_mean_s", title="Mean queueing delay (ms)", scale=1000),
            Measure(name=f"{link}.drop_rate", title="Packets dropped (%)", **percent),
        ]

    def values(self, measure: Measure) -> Iterator[tuple[Row, dict[str, float | None]]]:
        """Give the points where a measure has a value, with it."""
        for row, found in zip(self.table, self.summaries, strict=True):
            if (point := measure.of(found)) is not None:
                yield row, point

    def figures(self) -> list[Figure]:
        """Choose what suits the keys, and draw it."""
        measures = self.measures()
        if not self.numeric:
            return [self.dots(measures)]
        # Of a design that is drawn, there is a row for each combination of words.
        rows = max(len(self.table) / math.prod(len(axis.values) for axis in self.words), 3.0)
        drawn = [axis for axis in self.numeric if len(axis.values) >= DRAWN * rows]
        if len(drawn) > 1:
            return [self.scatter(drawn, measure) for measure in measures]
        found = [*self.shares(), *(self.curves(measure) for measure in measures)]
        if len(self.numeric) == len(self.keys) == 2:
            y = self.others[0]
            if min(len(self.x.values), len(y.values)) >= LEAST_CELLS:
                found += [self.heat(y, measure) for measure in measures[:1]]
        return found

    def curves(self, measure: Measure) -> Figure:
        """Draw a line for the values of the other keys."""
        lines: Lines = {}
        for row, point in self.values(measure):
            lines.setdefault(label(row, self.others), []).append(self._at(row, point))
        return self._lines(measure, lines)

    def shares(self) -> list[Figure]:
        """Draw the share of each flow or group; nothing of a single one, or of too many."""
        lines: Lines = {}
        for row, found in zip(self.table, self.summaries, strict=True):
            for party in parties(row.runs[0]):
                share = replace(SHARE, name=f"{party['name']}.share").of(found)
                if share is not None:
                    where = label(row, self.others)
                    called = f"{party['name']}, {where}" if where else party["name"]
                    lines.setdefault(called, []).append(self._at(row, share))
        return [self._lines(SHARE, lines)] if 1 < len(lines) <= MOST_LINES else []

    def _at(self, row: Row, point: Mapping[str, float | None]) -> dict[str, Any]:
        return {"x": self.x.number(row.point.variant[self.x.key]), **point, **_hollow(row)}

    def _lines(self, measure: Measure, lines: Lines) -> Figure:
        y = measure.axis([row for rows in lines.values() for row in rows])
        kept = dict(list(lines.items())[:MOST_LINES])
        drawn = [
            Curve(look=look, points=sorted(rows, key=lambda row: float(row["x"])))
            for look, rows in zip(looks(kept), kept.values(), strict=True)
        ]
        left_out = len(lines) - len(kept)
        more = f" Only the first {MOST_LINES} of {len(lines)} lines are drawn." if left_out else ""
        return Figure(
            name=_file(measure.name),
            title=f"{measure.title}, by {self.x.name}",
            caption=f"{self._band('bands')}{more}",
            chart=curves(drawn, _scale(self.x), y),
        )

    def _band(self, what: str) -> str:
        """Say what the points and their bands or lines are."""
        runs = min(len(row.runs) for row in self.table)
        hollow = any(_hollow(row) for row in self.table)
        short = " Hollow points have runs that are not stationary." if hollow else ""
        if runs == 1:
            return f"Each point is one run.{short}"
        ends = reach(what, exact=runs >= LEAST_RUNS)
        return f"Points are means over the seeds; {ends}.{short}"

    def heat(self, y: SweptAxis, measure: Measure) -> Figure:
        """Draw a cell for each pair of two numbers."""
        x = self.x
        rows: list[dict[str, Any]] = [
            {
                "x": value_text(row.point.variant[x.key]),
                "y": value_text(row.point.variant[y.key]),
                "value": point["mean"],
                "text": f"{point['mean']:.3g}",
            }
            for row, point in self.values(measure)
            if point["mean"] is not None
        ]
        values = [float(row["value"]) for row in rows]
        scale = Scale(title=y.name, low=min(values), high=max(values))
        xs, ys = ([value_text(value) for value in axis.values] for axis in (x, y))
        return Figure(
            name=_file(f"{measure.name}-map"),
            title=f"{measure.title}, by {x.name} and {y.name}",
            caption="Each cell has the mean over the seeds; darker is more.",
            chart=heat(rows, xs, ys, x.name, scale),
        )

    def scatter(self, drawn: Sequence[SweptAxis], measure: Measure) -> Figure:
        """Draw a point for each drawn setting, over each of its numbers."""
        clouds: dict[str, list[tuple[Row, float]]] = {}
        for row, point in self.values(measure):
            if (mean := point["mean"]) is not None:
                clouds.setdefault(label(row, self.words), []).append((row, mean))
        means = [estimated(mean) for cloud in clouds.values() for _, mean in cloud]
        sides = [
            (
                _scale(axis),
                [
                    (
                        Look(label=called, colour=colour(index)),
                        [
                            {"x": axis.number(row.point.variant[axis.key]), "mean": mean}
                            for row, mean in cloud
                        ],
                    )
                    for index, (called, cloud) in enumerate(clouds.items())
                ],
            )
            for axis in drawn[:4]
        ]
        return Figure(
            name=_file(measure.name),
            title=f"{measure.title}, over each drawn key",
            caption="Each point is the mean over the seeds of one drawn setting.",
            chart=scattered(sides, measure.axis(means)),
        )

    def dots(self, measures: Sequence[Measure]) -> Figure:
        """Draw a dot with its interval for each point, in a panel for each measure."""
        each = []
        for measure in measures:
            rows = [
                {"row": label(row, self.keys), "paper": None, **point, **_hollow(row)}
                for row, point in self.values(measure)
            ]
            each.append(Panel(scale=measure.axis(rows), rows=rows))
        return Figure(
            name="points",
            title="The points of the sweep",
            caption=self._band("lines"),
            chart=panels([label(row, self.keys) for row in self.table], each),
        )


def _hollow(row: Row) -> dict[str, bool]:
    """Mark the point of runs of which some are not stationary."""
    return {} if all(row.stationary) else {"hollow": True}


def _scale(x: SweptAxis) -> Scale:
    numbers = list(x.numbers or ())
    if x.is_logarithmic:
        return powers(x.title, numbers)
    return Scale(title=x.title, low=min(numbers), high=max(numbers))


def _file(name: str) -> str:
    """Give a name for the files of a figure."""
    return "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")

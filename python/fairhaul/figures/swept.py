"""A sweep as figures: curves with bands over a swept number, or what suits its keys.

| swept keys | figure |
|---|---|
| at least one number | curves over that with most values, in panels if there are many |
| two numbers with many values | the same, and heat maps |
| numbers that are drawn at random | scattered points over each of them |
| words alone | a dot with its interval for each point |

A reader can choose the key of the axis, the figure and the key of the panels with a `View`. Where
there is no room for all lines, every word is drawn, and of numbers the ends and some between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product, takewhile
from typing import Any

from fairhaul.figures.axes import SweptAxis, axes, chosen, label, labelled
from fairhaul.figures.chart import Chart
from fairhaul.figures.charts import Curve, Look, Panel, Scale, beside, case_looks, curves, looks
from fairhaul.figures.charts import panels as panels_of
from fairhaul.figures.charts.fields import heat
from fairhaul.figures.clouds import MOST_SIDES, clouds_over
from fairhaul.figures.columns import Measure, by_default, measure_of, of_parties
from fairhaul.figures.figure import Figure
from fairhaul.figures.select import part
from fairhaul.figures.view import DEFAULT, View, key_of
from fairhaul.figures.words import reach
from fairhaul.results.figure_rows import estimated
from fairhaul.results.table import Row, named, parties
from fairhaul.scenario.read import ScenarioError
from fairhaul.statistics.estimate import LEAST_RUNS

# More lines than this cannot be told apart.
MOST_LINES = 8
MOST_PANELS = 12
MOST_FIRST = 4
# A key with at least so many values is worth an axis of a heat map.
LEAST_CELLS = 3
# Of a design that is drawn, nearly every row has another value.
DRAWN = 0.8

# The rows of each line, by its name; lines by the name of their panel.
Lines = dict[str, list[dict[str, Any]]]


def chart(table: Sequence[Row], name: str, *, x: str | None, facet: str | None) -> Chart:
    """Draw one figure of a sweep.

    Raises:
        ScenarioError: there is no figure or key of that name.
    """
    usual = {figure.name: figure for figure in figures(table, View(x=x, facet=facet))}
    if name not in usual:
        return Chart(figure=figures(table, View(x=x, y=name, facet=facet))[0])
    return Chart(figure=usual[name])


def figures(table: Sequence[Row], view: View = DEFAULT) -> list[Figure]:
    """Draw a sweep; points without a result are not drawn.

    Raises:
        ScenarioError: the view has a word that the sweep does not know.
    """
    view.check(table)
    sweep = _Sweep(table=[row for row in table if row.runs], view=view)
    return sweep.figures() if len(sweep.table) > 1 and sweep.keys else []


def answering(drawn: Sequence[Figure]) -> list[Figure]:
    """Give the first figures of a sweep, about what its answer is about; the others say more."""
    first = next((figure.name for figure in drawn if figure.name != "share"), "")
    return [*takewhile(lambda of: of.name in ("share", first, f"{first}-map"), drawn)]


@dataclass(frozen=True, kw_only=True)
class _Sweep:
    """A sweep that is drawn: its points, which have results, and what its reader asks to see."""

    table: Sequence[Row]
    view: View

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
        """The number with most values, or the requested one."""
        asked = key_of(self.view.x, "x", self.keys)
        free = [axis for axis in self.numeric if axis is not self.facet] or self.numeric
        return asked or max(free, key=lambda axis: len(axis.values))

    @cached_property
    def facet(self) -> SweptAxis | None:
        return key_of(self.view.facet, "facet", self.keys)

    @cached_property
    def others(self) -> list[SweptAxis]:
        return [axis for axis in self.keys if axis is not self.x]

    @cached_property
    def lines(self) -> list[SweptAxis]:
        """The keys of the lines: all but that of the axis, or one if the lines were too many."""
        if self.facet is not None:
            return [axis for axis in self.others if axis is not self.facet]
        if len({label(row, self.others) for row in self.table}) <= MOST_LINES:
            return self.others
        compared = [axis for axis in self.words if axis.key.endswith("controller")]
        few = [axis for axis in self.others if len(axis.values) <= MOST_LINES]
        of = [*compared, *self.words] or few or self.others
        return of[:1]

    @cached_property
    def sides(self) -> list[SweptAxis]:
        """The keys of the panels."""
        return [axis for axis in self.others if axis not in self.lines]

    @cached_property
    def summaries(self) -> list[Mapping[str, Any]]:
        """The figures of each point by the names of their columns."""
        return [named(row.summary) for row in self.table]

    def measures(self) -> list[Measure]:
        """Choose what is drawn: what the reader asks for, or the usual."""
        first, y = self.table[0].summary, self.view.y
        if y is None:
            return [*by_default(first)]
        return [measure_of(y, owner=y.rpartition(".")[0])]

    def of_each(self, kind: str) -> list[Measure]:
        """Give a measure of each flow or group.

        Raises:
            ScenarioError: they are too many, or do not have it.
        """
        names = [party["name"] for party in parties(self.table[0].runs[0])]
        known = [name for name in names if self.summaries[0].get(f"{name}.{kind}") is not None]
        if not 0 < len(known) <= MOST_LINES:
            one = f"{names[0]}.{kind}"
            raise ScenarioError(f"{len(known)} flows or groups have {kind}; choose one, as {one}")
        return [measure_of(f"{name}.{kind}", owner=name) for name in known]

    def values(self, measure: Measure) -> Iterator[tuple[Row, dict[str, float | None]]]:
        """Give the points where a measure has a value, with it."""
        for row, found in zip(self.table, self.summaries, strict=True):
            if (point := measure.of(found)) is not None:
                yield row, point

    def figures(self) -> list[Figure]:
        """Choose what suits the keys, and draw it."""
        of_each = self.view.y in of_parties()
        measures = [] if of_each else self.measures()
        if not self.numeric:
            return [self.dots(measures or self.of_each(str(self.view.y)))]
        # Of a design that is drawn, there is a row for each combination of words.
        rows = max(len(self.table) / math.prod(len(axis.values) for axis in self.words), 3.0)
        drawn = [axis for axis in self.numeric if len(axis.values) >= DRAWN * rows]
        if len(drawn) > 1 and not of_each:
            return [self.scatter(drawn, measure) for measure in measures]
        shares = self.shares(self.view.y or "share") if of_each or self.view.y is None else []
        if of_each and not shares:
            self.of_each(str(self.view.y))
        maps = self.maps(measures[0]) if measures else []
        found = [self.curves(measure) for measure in measures]
        of_measures = [*found[:1], *maps, *found[1:]]
        # Many panels of shares are long: the others come first.
        few = len({label(row, self.others) for row in self.table}) <= MOST_FIRST
        return [*shares, *of_measures] if few else [*of_measures, *shares]

    def curves(self, measure: Measure) -> Figure:
        """Draw a line for each case."""
        named = dict.fromkeys(label(row, self.lines) for row in self.table)
        looks_of = {look.label: look for look in case_looks(named)}
        most = MOST_PANELS if self.sides else 1
        kept = {**chosen(self.lines, MOST_LINES), **chosen(self.sides, most)}
        panels: dict[str, Lines] = {}
        for row, point in self.values(measure):
            if all(row.point.variant.get(key) in values for key, values in kept.items()):
                panel = panels.setdefault(label(row, self.sides), {})
                panel.setdefault(label(row, self.lines), []).append(self._at(row, point))
        total = len({label(row, self.others) for row, _ in self.values(measure)})
        drawn = sum(map(len, panels.values()))
        return self._lines(measure, panels, looks_of, part(drawn, total, "lines"))

    def shares(self, kind: str) -> list[Figure]:
        """Draw what each flow or group has, in a panel for each case; nothing of one, or of many.

        The colour of a flow is that of the tables and of all other figures.
        """
        names = list(dict.fromkeys(p["name"] for row in self.table for p in parties(row.runs[0])))
        if not 1 < len(names) <= MOST_LINES:
            return []
        kept = chosen(self.others, MOST_PANELS)
        panels: dict[str, Lines] = {}
        for row, found in zip(self.table, self.summaries, strict=True):
            if any(row.point.variant.get(key) not in values for key, values in kept.items()):
                continue
            for name in names:
                if (value := measure_of(f"{name}.{kind}").of(found)) is not None:
                    panel = panels.setdefault(label(row, self.others), {})
                    panel.setdefault(name, []).append(self._at(row, value))
        measure, total = measure_of(kind), len({label(row, self.others) for row in self.table})
        if not panels:
            return []
        of = {look.label: look for look in looks(names)}
        return [self._lines(measure, panels, of, part(len(panels), total, "cases"))]

    def _at(self, row: Row, point: Mapping[str, float | None]) -> dict[str, Any]:
        return {"x": self.x.number(row.point.variant[self.x.key]), **point, **_hollow(row)}

    def _lines(
        self, measure: Measure, panels: Mapping[str, Lines], of: Mapping[str, Look], less: str
    ) -> Figure:
        lines = [rows for panel in panels.values() for rows in panel.values()]
        y = measure.axis([row for rows in lines for row in rows])
        drawn = {
            name: [
                Curve(look=of[line], points=sorted(rows, key=lambda row: float(row["x"])))
                for line, rows in panel.items()
            ]
            for name, panel in panels.items()
        }
        x, (first, *more) = self.x.scale(), drawn.items()
        kept = " Of numbers, the ends and some between them are drawn." if less else ""
        return Figure(
            name=_file(measure.name),
            title=f"{measure.title}, by {self.x.name}{less}",
            caption=f"{self._band('bands')}{kept}",
            chart=beside(drawn, x, y) if more or first[0] else curves(first[1], x, y),
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

    def maps(self, measure: Measure) -> list[Figure]:
        """Draw a cell for each pair of two numbers, in a map for each value of the other keys."""
        pairs = [axis for axis in self.others if axis.numbers is not None]
        if not pairs:
            return []
        x, y = self.x, max(pairs, key=lambda axis: len(axis.values))
        if min(len(x.values), len(y.values)) < LEAST_CELLS:
            return []
        others = [axis for axis in self.others if axis is not y]
        maps: dict[str, list[dict[str, Any]]] = {}
        for row, point in self.values(measure):
            cell = {
                "x": f"{x.number(row.point.variant[x.key]):g}",
                "y": f"{y.number(row.point.variant[y.key]):g}",
                "value": point["mean"],
                "text": f"{point['mean']:.3g}",
            }
            maps.setdefault(label(row, others), []).append(cell)
        shown = chosen(others, MOST_PANELS)
        kept = {
            ", ".join(labelled(axis, value) for axis, value in zip(others, values, strict=True))
            for values in product(*(shown[axis.key] for axis in others))
        }
        drawn = {name: rows for name, rows in maps.items() if name in kept}
        numbers = [float(row["value"]) for rows in drawn.values() for row in rows]
        scale = Scale(title=y.title, low=min(numbers), high=max(numbers))
        xs, ys = ([f"{number:g}" for number in sorted(axis.numbers or ())] for axis in (x, y))
        more = part(len(drawn), len(maps), "cases")
        return [
            Figure(
                name=_file(f"{measure.name}-map"),
                title=f"{measure.title}, by {x.name} and {y.name}{more}",
                caption="Each cell has the mean over the seeds; darker is more.",
                chart=heat(drawn, xs, ys, x.title, scale),
            )
        ]

    def scatter(self, drawn: Sequence[SweptAxis], measure: Measure) -> Figure:
        """Draw a point for each drawn setting, over each of its numbers."""
        clouds: dict[str, list[tuple[Mapping[str, Any], float]]] = {}
        for row, point in self.values(measure):
            if (mean := point["mean"]) is not None:
                clouds.setdefault(label(row, self.words), []).append((row.point.variant, mean))
        means = [estimated(mean) for cloud in clouds.values() for _, mean in cloud]
        asked = [axis for axis in drawn if self.view.x is None or axis is self.x]
        sides = asked[:MOST_SIDES]
        return Figure(
            name=_file(measure.name),
            title=f"{measure.title}, over each drawn key{part(len(sides), len(drawn), 'keys')}",
            caption="Each point is the mean over the seeds of one drawn setting.",
            chart=clouds_over(sides, clouds, measure.axis(means)),
        )

    def dots(self, measures: Sequence[Measure]) -> Figure:
        """Draw a dot with its interval for each point, in a panel for each measure."""
        facet = self.facet
        keys = [*filter(None, [facet]), *(axis for axis in self.keys if axis is not facet)]
        order = facet.values if facet else []
        each = []
        for measure in measures:
            rows = [
                {"row": label(row, keys), "paper": None, **point, **_hollow(row)}
                for row, point in self.values(measure)
            ]
            each.append(Panel(scale=measure.axis(rows), rows=rows))
        points = list(self.table)
        if facet is not None:
            points.sort(key=lambda row: order.index(row.point.variant[facet.key]))
        return Figure(
            name="points",
            title="The points of the sweep",
            caption=self._band("lines"),
            chart=panels_of([label(row, keys) for row in points], each),
        )


def _hollow(row: Row) -> dict[str, bool]:
    """Mark the point of runs of which some are not stationary."""
    return {} if all(row.stationary) else {"hollow": True}


def _file(name: str) -> str:
    """Give a name for the files of a figure."""
    return "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")

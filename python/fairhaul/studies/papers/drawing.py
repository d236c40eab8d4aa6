"""The figures of an experiment as they are declared: their kinds, axes and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairhaul.figures import charts
from fairhaul.figures.charts import Scale
from fairhaul.figures.fairness import bottom_of, of_scales
from fairhaul.figures.figure import Figure
from fairhaul.studies.papers import figures
from fairhaul.studies.papers.axes import Axes, Where
from fairhaul.studies.papers.layout import Layout, template
from fairhaul.studies.papers.results import Key, Results
from fairhaul.studies.papers.section import Section

Chart = Mapping[str, Any]
Engines = Mapping[str, Results]


@dataclass(frozen=True, kw_only=True)
class Ends:
    """How an axis is called, and where it ends; what is not given follows from the values.

    `most` is a bound that no value exceeds, and `holds` are values that have to be on the axis.
    """

    title: str
    low: float | None
    high: float | None
    most: float = math.inf
    log: bool = False
    ticks: Sequence[float] = ()
    holds: Sequence[float] = ()
    form: str = ""

    def scale(self, values: Sequence[float | None]) -> Scale:
        """Give the axis, with room for `values`."""
        room = [*values, *self.holds]
        if self.log and self.low is None:
            return charts.powers(self.title, room, form=self.form)
        low, high = charts.ends(room, log=self.log, most=self.most)
        return charts.Scale(
            title=self.title,
            low=low if self.low is None else self.low,
            high=high if self.high is None else self.high,
            log=self.log,
            ticks=self.ticks,
            form=self.form,
        )


@dataclass(frozen=True, kw_only=True)
class OwnDrawing:
    """Figures that a function of the paper draws of engines, by their names.

    Figures `of_engines` are drawn beside hosts with a kernel, and those of the `lab` only there.
    """

    draw: Callable[[Engines], Sequence[Figure]]
    of_engines: bool
    lab: bool = False

    def figures(self, _: Layout, engines: Engines) -> Sequence[Figure]:
        """Draw the results."""
        return self.draw(engines)


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A figure: which cases it has, and how they are laid out.

    `numbers` are labels and names of numbers. `of` are the axes whose labels have a colour each;
    without any, the numbers have. `x` is the axis of a curve's points. A figure of the `lab` is
    drawn only beside hosts with a kernel.
    """

    kind: str
    name: str
    title: str
    numbers: Mapping[str, str]
    of: Sequence[str]
    rows: Sequence[str]
    row: str
    across: Sequence[str]
    where: Where
    ends: Sequence[Ends]
    references: Sequence[tuple[str, Mapping[float, float]]]
    x: str = ""
    x_title: str = ""
    caption: str = ""
    lab: bool = False

    @classmethod
    def read(cls, section: Section, axes: Axes) -> Drawing:
        """Read a figure."""
        kind = section.text("kind")
        section.one_of("kind", kind, list(CHARTS), "kind of figure")
        numbers = _numbers(section)
        where = axes.where(section, "where")
        of, across = axes.some(section, "of"), axes.some(section, "across")
        x = section.text("x", "")
        if kind == "curves":
            section.one_of("x", x, axes.names, "axis")
            for label in where.get(x, list(axes.settings.get(x, {}))):
                _check_number(section, "x", label.split()[0] if label else "")
        for number in numbers.values() if kind == "scales" else ():
            _check_number(section, "number", number)
        fixed = [axis for axis, labels in where.items() if len(labels) == 1]
        rows = axes.some(section, "rows") or axes.others([*of, *across, *fixed, x])
        axes.covered(section, [*rows, *of, *across, *fixed, x])
        several = isinstance(section.content.get("scale"), list)
        scales = section.sections("scale") if several else [section.section("scale")]
        for label in numbers if kind == "engines" and len(numbers) > 1 else ():
            section.check_name("number", label)
        if kind != "windows" and not numbers:
            section.wrong("number", "the name of a number is required")
        first = next(iter(numbers), "")
        return section.read(
            cls,
            name=section.name("name"),
            numbers=numbers,
            of=of,
            rows=rows,
            row=template(section, "row", axes),
            across=across,
            where=where,
            ends=[table.read(Ends, title=table.text("title", first)) for table in scales],
            references=[_reference(table) for table in section.sections("references")],
        )

    @property
    def of_engines(self) -> bool:
        """Whether it is drawn of several engines."""
        return self.kind == "engines"

    def figures(self, layout: Layout, engines: Engines) -> list[Figure]:
        """Draw the results; kinds other than `engines` draw those of the first.

        There is no figure where no case of it was run.
        """
        if not layout.axes.chosen(next(iter(engines.values())).runs, self.where):
            return []
        if not self.of_engines or len(self.numbers) == 1:
            return [self._figure(layout, engines)]
        return [
            replace(
                self,
                name=f"{self.name}-{label}",
                title=f"{self.title}: {number}",
                numbers={number: number},
                ends=[replace(self._ends(i), title=number)],
            )._figure(layout, engines)
            for i, (label, number) in enumerate(self.numbers.items())
        ]

    def _figure(self, layout: Layout, engines: Engines) -> Figure:
        drawn = _Drawn(self, layout, engines)
        notes = {"windows": "The first seed of each case; all cases have the same scale."}
        bands = self.kind in {"curves", "scales"}
        said_of = notes.get(self.kind, figures.BANDS if bands else figures.INTERVALS)
        printed = (layout.paper(key, n) for key in drawn.keys for n in self.numbers.values())
        if self.kind in {"panels", "bars"} and any(paper is not None for paper in printed):
            said_of += " Diamonds: the paper's numbers."
        return Figure(
            name=self.name,
            title=self.title,
            caption=f"{self.caption} {said_of}".strip(),
            chart=CHARTS[self.kind](drawn),
        )

    def _ends(self, i: int) -> Ends:
        """Give the ends of an axis, of which the last are those of all others, too."""
        return self.ends[min(i, len(self.ends) - 1)]


class _Drawn:
    """The charts of a drawing, from results that are laid out."""

    def __init__(self, of: Drawing, layout: Layout, engines: Engines) -> None:
        self.of, self.layout, self.engines = of, layout, engines
        self.results = next(iter(engines.values()))
        self.keys = layout.axes.chosen(self.results.runs, of.where)
        self.names = {key: layout.label(self.results, key, of.rows, of.row) for key in self.keys}

    def series(self) -> dict[str, tuple[list[Key], str]]:
        """Give what has a colour of its own: by its label, its cases and its number."""
        numbers, axes = self.of.numbers, self.of.of
        if not axes:
            return {label: (self.keys, number) for label, number in numbers.items()}
        number = next(iter(numbers.values()), "")
        groups = self.layout.groups(self.keys, axes)
        return {", ".join(labels): (mine, number) for labels, mine in groups.items()}

    def dots(self) -> Chart:
        """Draw a dot for each case and each of the series."""
        return self._dots({of: (self.results, *mine) for of, mine in self.series().items()})

    def of_engines(self) -> Chart:
        """Draw a dot for each case and engine."""
        (number,) = self.of.numbers.values()
        return self._dots({of: (each, self.keys, number) for of, each in self.engines.items()})

    def _dots(self, series: Mapping[str, tuple[Results, Sequence[Key], str]]) -> Chart:
        order = list(dict.fromkeys(self.names.values()))
        rows = [
            {**point, "row": self.names[key], "of": label}
            for label, (results, keys, number) in series.items()
            for key, point in figures.points(results, keys, number)
        ]
        rows.sort(key=lambda row: order.index(row["row"]))
        scale = self.of.ends[0].scale([row["mean"] for row in rows])
        return charts.dots(figures.looks(list(series)), rows, order, scale)

    def panels(self) -> Chart:
        """Draw a panel for each number, or one for each group `across`."""
        if self.of.across:
            (number,) = self.of.numbers.values()
            title = self.of.ends[0].title
            panels = [
                self._panel(keys, number, replace(self.of.ends[0], title=f"{title}, {of}"))
                for labels, keys in self.layout.groups(self.keys, self.of.across).items()
                for of in [", ".join(labels)]
            ]
        else:
            panels = [
                self._panel(self.keys, number, replace(self.of._ends(i), title=label))
                for i, (label, number) in enumerate(self.of.numbers.items())
            ]
        return charts.panels(list(dict.fromkeys(self.names.values())), panels)

    def _panel(self, keys: Sequence[Key], number: str, ends: Ends) -> charts.Panel:
        rows = [
            {**point, "row": self.names[key], "paper": self.layout.paper(key, number)}
            for key, point in figures.points(self.results, keys, number)
        ]
        values = [row[end] for row in rows for end in ("mean", "low", "high", "paper")]
        return charts.Panel(scale=ends.scale(values), rows=rows)

    def bars(self) -> Chart:
        """Draw a group of bars for each case, with one for each number."""
        rows = [
            {**point, "group": name, "of": label, "paper": self.layout.paper(key, number)}
            for key, name in self.names.items()
            for label, number in self.of.numbers.items()
            for _, point in figures.points(self.results, [key], number)
        ]
        values = [row[end] for row in rows for end in ("mean", "high", "paper")]
        scale = self.of.ends[0].scale([0.0, *values])
        looks = figures.looks(list(self.of.numbers))
        return charts.bars(looks, rows, ", ".join(self.of.rows), scale)

    def curves(self) -> Chart:
        """Draw a line for each of the series, over the numbers with which labels begin."""
        series, of = self.series(), self.of
        xs = {key: leading(self.layout.axes.parts(key, [of.x])[0]) for key in self.keys}
        lines = [
            figures.curve(self.results, look, {xs[key]: (key, number) for key in mine})
            for look, (mine, number) in zip(
                figures.looks(list(series)), series.values(), strict=True
            )
        ]
        ticks = sorted(set(xs.values()))
        ends = of.ends[0]
        room = 1.04 if ends.log else 1.0
        x = charts.Scale(
            title=of.x_title or of.x,
            low=ticks[0] / room,
            high=ticks[-1] * room,
            log=ends.log,
            ticks=ticks,
        )
        y = ends.scale([point["mean"] for line in lines for point in line.points])
        laws = [
            figures.reference(label, {at: to for at, to in points.items() if at <= ticks[-1]})
            for label, points in of.references
        ]
        return charts.curves([*lines, *laws], x, y)

    def scales(self) -> Chart:
        """Draw a line for each case, over the scales of time that are the names of numbers."""
        names = self.layout.groups(self.keys, self.of.rows)
        scales = self.of.numbers.values()
        lines = [
            figures.curve(self.results, look, {float(at): (mine[0], at) for at in scales})
            for look, mine in zip(
                figures.looks([", ".join(labels) for labels in names]), names.values(), strict=True
            )
        ]
        lowest = min((p["low"] or p["mean"] for line in lines for p in line.points), default=0.0)
        return of_scales(lines, bottom_of(lowest))

    def windows(self) -> Chart:
        """Draw the windows that were kept: a lane for each case, or one for several cases `of`."""
        lanes: dict[str, list[dict[str, float]]] = {}
        labels: list[str] = []
        for key, name in self.names.items():
            names, _, rows = self.results.kept[key]
            if not self.of.of:
                lanes[name], labels = rows, names
                continue
            label = ", ".join(self.layout.axes.parts(key, self.of.of))
            labels = list(dict.fromkeys([*labels, label]))
            number = f"v{labels.index(label)}"
            before = lanes.get(name, [{"t": row["t"]} for row in rows])
            each = zip(before, rows, strict=True)
            lanes[name] = [{**old, number: row["v0"]} for old, row in each]
        span = next(self.results.kept[key][1] for key in self.keys)
        return charts.threads(figures.looks(labels), lanes, span, "cwnd (packets)")


# The kinds of figure.
CHARTS: Mapping[str, Callable[[_Drawn], Chart]] = {
    "dots": _Drawn.dots,
    "panels": _Drawn.panels,
    "curves": _Drawn.curves,
    "scales": _Drawn.scales,
    "bars": _Drawn.bars,
    "windows": _Drawn.windows,
    "engines": _Drawn.of_engines,
}


def _check_number(section: Section, key: str, text: str) -> None:
    try:
        float(text)
    except ValueError:
        section.wrong(key, f"labels that begin with a number are required, not {text!r}")


def leading(label: str) -> float:
    """Give the number with which a label begins, such as `20 ms`."""
    return float(label.split(maxsplit=1)[0])


def _numbers(section: Section) -> dict[str, str]:
    """Read `number`, a name or a list of names, or a table of names by label."""
    if isinstance(section.content.get("number"), dict):
        return {str(key): str(value) for key, value in section.mapping("number").items()}
    return {name: name for name in section.texts("number")}


def _reference(section: Section) -> tuple[str, Mapping[float, float]]:
    label, points = section.text("label"), section.items("points")
    section.close()
    return label, {float(x): float(y) for x, y in points}

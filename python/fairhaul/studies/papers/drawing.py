"""The figures of an experiment as they are declared: their kinds, axes and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairhaul.studies.papers.axes import Axes, Where
from fairhaul.studies.papers.experiment import Key, Results
from fairhaul.studies.papers.layout import Layout, template
from fairhaul.studies.papers.section import Section

if TYPE_CHECKING:
    from fairhaul.figures.charts import Scale
    from fairhaul.figures.figure import Figure

KINDS = ("dots", "panels", "curves", "scales", "bars", "windows", "engines")
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
    most: float
    log: bool
    ticks: Sequence[float]
    holds: Sequence[float]
    form: str

    @classmethod
    def read(cls, section: Section, title: str = "") -> Ends:
        """Read the ends of an axis."""
        keys = section.content
        ends = cls(
            title=section.text("title", title),
            low=section.number("low", 0) if "low" in keys else None,
            high=section.number("high", 0) if "high" in keys else None,
            most=section.number("most", math.inf),
            log=section.flag("log"),
            ticks=section.numbers("ticks"),
            holds=section.numbers("holds"),
            form=section.text("form", ""),
        )
        section.close()
        return ends

    def scale(self, values: Sequence[float | None]) -> Scale:
        """Give the axis, with room for `values`."""
        from fairhaul.figures import charts

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
class Drawing:
    """A figure: which cases it has, and how they are laid out.

    `numbers` are labels and names of numbers. `of` are the axes whose labels have a colour each;
    without any, the numbers have. `x` is the axis of a curve's points.
    """

    kind: str
    name: str
    title: str
    caption: str
    numbers: Mapping[str, str]
    of: Sequence[str]
    rows: Sequence[str]
    row: str
    across: Sequence[str]
    x: str
    where: Where
    ends: Sequence[Ends]
    references: Sequence[tuple[str, Mapping[float, float]]]
    x_title: str

    @classmethod
    def read(cls, section: Section, axes: Axes) -> Drawing:
        """Read a figure."""
        kind = section.text("kind")
        section.one_of("kind", kind, KINDS, "kind of figure")
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
        each = section.sections("scale") if several else [section.section("scale")]
        drawing = cls(
            kind=kind,
            name=section.name("name"),
            title=section.text("title"),
            caption=section.text("caption", ""),
            numbers=numbers,
            of=of,
            rows=rows,
            row=template(section, "row", axes),
            across=across,
            x=x,
            where=where,
            ends=[Ends.read(table, next(iter(numbers), "")) for table in each],
            references=[_reference(table) for table in section.sections("references")],
            x_title=section.text("x_title", ""),
        )
        for label in numbers if kind == "engines" and len(numbers) > 1 else ():
            section.check_name("number", label)
        if kind != "windows" and not numbers:
            section.wrong("number", "the name of a number is required")
        section.close()
        return drawing

    def figures(self, layout: Layout, engines: Engines) -> list[Figure]:
        """Draw the results; kinds other than `engines` draw those of the first.

        There is no figure where no case of it was run.
        """
        if not layout.axes.chosen(next(iter(engines.values())).runs, self.where):
            return []
        if self.kind != "engines" or len(self.numbers) == 1:
            return [self._figure(layout, engines)]
        return [
            replace(
                self,
                name=f"{self.name}-{label}",
                title=f"{self.title}: {number}",
                numbers={number: number},
                ends=[replace(self.ends[min(i, len(self.ends) - 1)], title=number)],
            )._figure(layout, engines)
            for i, (label, number) in enumerate(self.numbers.items())
        ]

    def _figure(self, layout: Layout, engines: Engines) -> Figure:
        from fairhaul.figures.figure import Figure
        from fairhaul.studies.papers import figures

        results = next(iter(engines.values()))
        keys = layout.axes.chosen(results.runs, self.where)
        draw: dict[str, Callable[[], Chart]] = {
            "dots": lambda: self._dots(layout, results, keys),
            "panels": lambda: self._panels(layout, results, keys),
            "curves": lambda: self._curves(layout, results, keys),
            "scales": lambda: self._scales(layout, results, keys),
            "bars": lambda: self._bars(layout, results, keys),
            "windows": lambda: self._windows(layout, results, keys),
            "engines": lambda: self._engines(layout, engines, keys),
        }
        notes = {"windows": "The first seed of each case; all cases have the same scale."}
        bands = self.kind in {"curves", "scales"}
        said_of = notes.get(self.kind, figures.BANDS if bands else figures.INTERVALS)
        if any(layout.paper(key, n) is not None for key in keys for n in self.numbers.values()):
            said_of += " Diamonds: the paper's numbers." if self.kind in {"panels", "bars"} else ""
        return Figure(
            name=self.name,
            title=self.title,
            caption=f"{self.caption} {said_of}".strip(),
            chart=draw[self.kind](),
        )

    def _labels(self, layout: Layout, results: Results, keys: Sequence[Key]) -> dict[Key, str]:
        return {key: layout.label(results, key, self.rows, self.row) for key in keys}

    def _series(self, layout: Layout, keys: Sequence[Key]) -> dict[str, tuple[list[Key], str]]:
        """Give what has a colour of its own: by its label, its cases and its number."""
        if not self.of:
            return {label: (list(keys), number) for label, number in self.numbers.items()}
        number = next(iter(self.numbers.values()), "")
        return {", ".join(of): (mine, number) for of, mine in layout.groups(keys, self.of).items()}

    def _dots(self, layout: Layout, results: Results, keys: Sequence[Key]) -> Chart:
        from fairhaul.figures import charts
        from fairhaul.studies.papers import figures

        series, names = self._series(layout, keys), self._labels(layout, results, keys)
        rows = [
            row
            for label, (mine, number) in series.items()
            for key in mine
            for row in figures.dots(results, {key: names[key]}, {label: number})
        ]
        order = list(dict.fromkeys(names[key] for key in keys))
        rows.sort(key=lambda row: order.index(row["row"]))
        scale = self.ends[0].scale([row["mean"] for row in rows])
        return charts.dots(figures.looks(list(series)), rows, order, scale)

    def _engines(self, layout: Layout, engines: Engines, keys: Sequence[Key]) -> Chart:
        from fairhaul.studies.papers import figures

        (number,) = self.numbers.values()
        results = next(iter(engines.values()))
        means = [each.mean(key, number) for each in engines.values() for key in keys]
        names = self._labels(layout, results, keys)
        return figures.engines(engines, names, number, self.ends[0].scale(means))

    def _panels(self, layout: Layout, results: Results, keys: Sequence[Key]) -> Chart:
        from fairhaul.figures import charts

        names = self._labels(layout, results, keys)
        panels = []
        if self.across:
            (number,) = self.numbers.values()
            for labels, mine in layout.groups(keys, self.across).items():
                title = f"{self.ends[0].title}, {', '.join(labels)}"
                panels.append(self._panel(layout, results, mine, names, number, 0, title))
        else:
            for i, number in enumerate(self.numbers.values()):
                title = list(self.numbers)[i]
                panels.append(self._panel(layout, results, keys, names, number, i, title))
        return charts.panels(list(dict.fromkeys(names.values())), panels)

    def _panel(
        self,
        layout: Layout,
        results: Results,
        keys: Sequence[Key],
        names: Mapping[Key, str],
        number: str,
        i: int,
        title: str,
    ) -> Any:
        from fairhaul.figures import charts
        from fairhaul.studies.papers import figures

        rows = [
            figures.point(estimate, row=names[key], paper=layout.paper(key, number))
            for key in keys
            if (estimate := results.estimate(key, number)) is not None
        ]
        values = [row[end] for row in rows for end in ("mean", "low", "high", "paper")]
        ends = self.ends[i] if i < len(self.ends) else self.ends[-1]
        return charts.Panel(scale=replace(ends, title=title).scale(values), rows=rows)

    def _curves(self, layout: Layout, results: Results, keys: Sequence[Key]) -> Chart:
        from fairhaul.figures import charts
        from fairhaul.studies.papers import figures

        series = self._series(layout, keys)
        xs = {key: leading(layout.axes.parts(key, [self.x])[0]) for key in keys}
        lines = [
            figures.curve(results, look, {xs[key]: (key, number) for key in mine})
            for look, (mine, number) in zip(
                figures.looks(list(series)), series.values(), strict=True
            )
        ]
        ticks = sorted(set(xs.values()))
        ends = self.ends[0]
        room = 1.04 if ends.log else 1.0
        x = charts.Scale(
            title=self.x_title or self.x,
            low=ticks[0] / room,
            high=ticks[-1] * room,
            log=ends.log,
            ticks=ticks,
        )
        y = ends.scale([point["mean"] for line in lines for point in line.points])
        laws = [
            figures.reference(label, {at: to for at, to in points.items() if at <= ticks[-1]})
            for label, points in self.references
        ]
        return charts.curves([*lines, *laws], x, y)

    def _scales(self, layout: Layout, results: Results, keys: Sequence[Key]) -> Chart:
        from fairhaul.figures.fairness import bottom_of, of_scales
        from fairhaul.studies.papers import figures

        names = layout.groups(keys, self.rows)
        lines = [
            figures.curve(results, look, {float(at): (mine[0], at) for at in self.numbers.values()})
            for look, mine in zip(
                figures.looks([", ".join(labels) for labels in names]), names.values(), strict=True
            )
        ]
        lowest = min((p["low"] or p["mean"] for line in lines for p in line.points), default=0.0)
        return of_scales(lines, bottom_of(lowest))

    def _bars(self, layout: Layout, results: Results, keys: Sequence[Key]) -> Chart:
        from fairhaul.figures import charts
        from fairhaul.studies.papers import figures

        names = self._labels(layout, results, keys)
        rows = [
            figures.point(estimate, group=names[key], of=label, paper=layout.paper(key, number))
            for key in keys
            for label, number in self.numbers.items()
            if (estimate := results.estimate(key, number)) is not None
        ]
        values = [row[end] for row in rows for end in ("mean", "high", "paper")]
        scale = self.ends[0].scale([0.0, *values])
        return charts.bars(figures.looks(list(self.numbers)), rows, ", ".join(self.rows), scale)

    def _windows(self, layout: Layout, results: Results, keys: Sequence[Key]) -> Chart:
        """Draw the windows that were kept: a lane for each case, or one for several cases `of`."""
        from fairhaul.figures import charts
        from fairhaul.studies.papers import figures

        lanes: dict[str, list[dict[str, float]]] = {}
        labels: list[str] = []
        for key, name in self._labels(layout, results, keys).items():
            names, _, rows = results.kept[key]
            if not self.of:
                lanes[name], labels = rows, names
                continue
            label = ", ".join(layout.axes.parts(key, self.of))
            labels = list(dict.fromkeys([*labels, label]))
            number = f"v{labels.index(label)}"
            before = lanes.get(name, [{"t": row["t"]} for row in rows])
            each = zip(before, rows, strict=True)
            lanes[name] = [{**old, number: row["v0"]} for old, row in each]
        span = next(results.kept[key][1] for key in keys)
        return charts.threads(figures.looks(labels), lanes, span, "cwnd (packets)")


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

"""The kinds of chart that show estimates: curves with bands, bars in groups, dots by case.

Like `charts`, without knowing what a run is. A row has `mean`, and `low` and `high`, the ends of
its interval or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.report.charts import WIDTH, Look, Span, head, hover, labels, tips_of
from fairhaul.report.vega import Row, Spec, column, horizontal, layers, mark, vertical, words

HEIGHT = 320
# Between two panels there is room for the names of lines.
BETWEEN = 64
INK = "var(--ink)"
SPOT: Spec = {"filled": True, "size": 80, "opacity": 1}
PAPER: Spec = {"shape": "diamond", "filled": True, "color": INK, "opacity": 1}


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What an axis is called, where it ends, where it has its ticks, and whether it is in powers.

    `form` is the format of its numbers, as in Vega; by default it suits the ticks.
    """

    title: str
    low: float
    high: float
    log: bool = False
    ticks: Sequence[float] = ()
    form: str = ""

    def place(self, value: float) -> float:
        """How far along the axis a value lies: from 0 to 1."""
        low, at, high = (
            math.log(max(v, 1e-300)) if self.log else v for v in (self.low, value, self.high)
        )
        return (at - low) / (high - low)

    def inside(self, value: float | None) -> float | None:
        """Give the nearest value on the axis."""
        return None if value is None else min(max(value, self.low), self.high)

    def of(self, called: str) -> Spec:
        """Give the axis of a column."""
        return column(called, axis=self._axis(), scale=self.law())

    def _axis(self) -> Spec:
        axis: Spec = {"title": self.title}
        axis |= {"values": list(self.ticks)} if self.ticks else {"tickCount": 6}
        return axis | ({"format": self.form or "~g"} if self.form or self.log else {})

    def law(self) -> Spec:
        """Give from where to where it goes, and how."""
        kind = "log" if self.log else "linear"
        return {"type": kind, "domain": [self.low, self.high], "nice": False, "zero": False}


def powers(
    title: str,
    found: Sequence[float | None],
    steps: Sequence[float] = (1, 2, 5),
    form: str = "",
) -> Scale:
    """Give an axis in powers of ten that has room for `found`."""
    low, high = ends(found, log=True)
    return Scale(
        title=title, low=low, high=high, log=True, ticks=ticks(low, high, steps), form=form
    )


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A line through rows of `x`, `mean`, `low` and `high`; a thin one has no points."""

    look: Look
    points: Sequence[Row]


def ends(
    found: Sequence[float | None], *, log: bool = False, most: float = math.inf
) -> tuple[float, float]:
    """Give the ends of an axis that has room for `found`, up to `most` of what cannot be more."""
    there = [value for value in found if value is not None and (value > 0 or not log)]
    if not there:
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = min(there), max(there)
    if log:
        return low / 1.25, high * 1.25
    room = 0.05 * (high - low) or 0.05 * abs(high) or 0.05
    return (low if low < 0 else max(0.0, low - room)), min(high + room, most)


def ticks(low: float, high: float, steps: Sequence[float] = (1, 2, 5)) -> list[float]:
    """Give the ticks of an axis in powers of ten."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [step * 10.0**power for power in powers for step in steps]
    kept = [float(f"{value:.3g}") for value in found if low <= value <= high]
    return kept if len(kept) <= 9 or len(steps) == 1 else ticks(low, high, (1,))


def curves(lines: Sequence[Curve], x: Scale, y: Scale) -> Spec:
    """Draw lines with bands, each labelled where it ends; lines without a point are not drawn."""
    return layers(_curves(lines, x, y, HEIGHT), WIDTH, HEIGHT)


def beside(panels: Mapping[str, Sequence[Curve]], x: Scale, y: Scale) -> Spec:
    """Draw lines as `curves` does, in panels beside each other with their names above them."""
    width, height = (WIDTH - BETWEEN * (len(panels) - 1)) // len(panels), WIDTH // 3
    drawn = [
        layers([*_curves(lines, x, y, height), head(name, INK, bold=True)], width, height)
        for name, lines in panels.items()
    ]
    return horizontal(drawn, spacing=BETWEEN)


def _curves(lines: Sequence[Curve], x: Scale, y: Scale, height: int) -> list[Spec]:
    lines = [line for line in lines if line.points]
    drawn: list[Spec] = []
    for one in lines:
        drawn += band(one, x, y)
    drawn += [line(one, x, y) for one in lines]
    drawn += [_points(line, x, y) for line in lines if not line.look.thin]
    named = [line for line in lines if line.look.label]
    last = [y.place(y.inside(float(line.points[-1]["mean"])) or y.low) for line in named]
    return drawn + labels([line.look for line in named], [height * (1 - at) for at in last], height)


def band(curve: Curve, x: Scale, y: Scale) -> list[Spec]:
    """Draw the intervals of a line as a band; nothing where it has none."""
    rows = [
        {"x": row["x"], "low": y.inside(row["low"]), "high": y.inside(row["high"])}
        for row in curve.points
        if row["low"] is not None
    ]
    if not rows:
        return []
    place = {"x": x.of("x:Q"), "y": y.of("low:Q"), "y2": {"field": "high"}}
    return [mark("area", place, rows, color=curve.look.colour, fillOpacity=0.13, line=False)]


def line(curve: Curve, x: Scale, y: Scale) -> Spec:
    """Draw a line without its points."""
    return mark(
        "line",
        {"x": x.of("x:Q"), "y": y.of("mean:Q")},
        curve.points,
        color=curve.look.colour,
        strokeDash=list(curve.look.dash),
        strokeWidth=1.3 if curve.look.thin else 2.2,
        clip=True,
    )


def _points(line: Curve, x: Scale, y: Scale) -> Spec:
    rows = [{**row, "of": line.look.label} for row in line.points]
    tips = _tips([("of:N", ""), ("x:Q", x.title)])
    place = {"x": x.of("x:Q"), "y": y.of("mean:Q"), "tooltip": tips}
    colour = line.look.colour
    return mark("point", place, rows, color=colour, filled=True, fill=colour, size=46, opacity=1)


def _tips(first: Sequence[tuple[str, str]]) -> list[Spec]:
    interval = [("mean:Q", "mean"), ("low:Q", "interval from"), ("high:Q", "to")]
    return [
        column(called, title=title, format=".4~g" if called.endswith("Q") else "")
        for called, title in [*first, *interval]
    ]


def bars(looks: Sequence[Look], rows: Sequence[Row], group: str, y: Scale) -> Spec:
    """Draw a bar for each of `looks` in each group, its interval, and a diamond at `paper`.

    A row has `group` and `of`, the label of a look. `group` is what the groups are called.
    """
    names = [look.label for look in looks]
    axis = {"title": group, "labelAngle": 0, "labelPadding": 24, "labelColor": INK, "ticks": False}
    room = {"paddingInner": 0.22, "paddingOuter": 0.1}
    lane = column("of:N", scale={"domain": names, "paddingInner": 0.18}, sort=None)
    place = {"x": column("group:N", sort=None, scale=room, axis=axis), "xOffset": lane}
    colours = _colours(looks)
    tips = [*_tips([("group:N", group), ("of:N", "")]), column("paper:Q", title="paper")]
    ends = {**place, "y": y.of("low:Q"), "y2": {"field": "high"}}
    called = {**place, "y": {"value": "height"}, "text": column("of:N"), "color": colours}
    parts = [
        mark(
            "bar",
            {**place, "y": y.of("mean:Q"), "color": colours, "tooltip": tips},
            fillOpacity=0.82,
        ),
        mark("rule", ends, where="isValid(datum.low)", color=INK, strokeWidth=1.4),
        mark(
            "point",
            {**place, "y": y.of("paper:Q"), "tooltip": tips},
            where="isValid(datum.paper)",
            size=110,
            stroke="var(--paper)",
            strokeWidth=1.4,
            **PAPER,
        ),
        mark("text", called, baseline="top", fontWeight="bold", fontSize=11, dy=6),
        words(
            "◆ the paper   │ 95 % interval",
            {"x": {"value": "width"}},
            align="right",
            baseline="bottom",
            y=-6,
            color="var(--soft)",
        ),
    ]
    return layers(parts, WIDTH, HEIGHT, rows)


def _colours(looks: Sequence[Look]) -> Spec:
    """Give each label the colour of its look."""
    ends = {"domain": [look.label for look in looks], "range": [look.colour for look in looks]}
    return column("of:N", scale=ends, legend=None)


def dots(looks: Sequence[Look], rows: Sequence[Row], names: Sequence[str], x: Scale) -> Spec:
    """Draw a dot and its interval for each of `looks`, the `of` of a row, in lanes by its `row`."""
    lane = column("of:N", scale={"domain": [look.label for look in looks]}, sort=None)
    place = {"y": _cases(names), "yOffset": lane, "color": _colours(looks)}
    tips = _tips([("row:N", ""), ("of:N", "")])
    written = {**place, "x": x.of("end:Q"), "text": column("of:N")}
    parts = [
        _interval(place, x),
        mark("point", {**place, "x": x.of("mean:Q"), "tooltip": tips}, **SPOT),
        mark("text", written, align="left", dx=9, fontSize=11, fontWeight="bold"),
    ]
    height = (16 * len(looks) + 16) * len(names)
    return layers(parts, WIDTH, height, _clipped(rows, x))


def _cases(names: Sequence[str], **more: Any) -> Spec:
    """Give the vertical axis of cases by name."""
    axis = {"title": None, "labelLimit": 190, "labelColor": INK, "grid": True, **more}
    return column("row:N", sort=None, scale={"domain": list(names)}, axis=axis)


def _interval(place: Mapping[str, Any], x: Scale, **look: Any) -> Spec:
    ends = {**place, "x": x.of("from:Q"), "x2": {"field": "to"}}
    return mark("rule", ends, where="isValid(datum.from)", strokeWidth=3, opacity=0.4, **look)


def _clipped(rows: Sequence[Row], scale: Scale) -> list[Row]:
    """Add the ends of each interval, as far as the axis reaches."""
    return [
        {
            **row,
            "from": scale.inside(row["low"]),
            "to": scale.inside(row["high"]),
            "end": scale.inside(row["mean"] if row["high"] is None else row["high"]),
        }
        for row in rows
    ]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One measure of several cases: rows of `row`, `mean`, `low`, `high`, and `paper` if any."""

    scale: Scale
    rows: Sequence[Row]


def panels(names: Sequence[str], each: Sequence[Panel]) -> Spec:
    """Draw a dot with its interval for each of `names`, in a panel for each measure."""
    drawn = [_panel(names, panel) for panel in each]
    return vertical(drawn, spacing=30)


def _panel(names: Sequence[str], panel: Panel) -> Spec:
    scale = panel.scale
    place = {"y": _cases(names, minExtent=150)}
    spot = {**place, "x": scale.of("mean:Q"), "tooltip": _tips([("row:N", "")])}
    parts = [
        _interval(place, scale, color="var(--c1)"),
        mark("point", spot, color="var(--c1)", **SPOT),
    ]
    if any(row.get("paper") is not None for row in panel.rows):
        paper = {**place, "x": scale.of("paper:Q"), "tooltip": column("paper:Q")}
        parts.append(mark("point", paper, where="isValid(datum.paper)", size=90, **PAPER))
    return layers(parts, WIDTH - 150, 24 * len(names), _clipped(panel.rows, scale))


def threads(
    looks: Sequence[Look], lanes: Mapping[str, Sequence[Row]], span: Span, unit: str
) -> Spec:
    """Draw lines over time, of each row `t` and `v0`, `v1` …, in a lane for each label.

    A lane whose rows have fewer values has fewer lines.
    """
    top = 1.04 * max(
        value for rows in lanes.values() for row in rows for key, value in row.items() if key != "t"
    )
    last = len(lanes) - 1
    drawn = [
        _thread(looks, label, rows, span, (top, unit, number, last))
        for number, (label, rows) in enumerate(lanes.items())
    ]
    return vertical(drawn, spacing=26)


def _thread(
    looks: Sequence[Look],
    label: str,
    rows: Sequence[Row],
    span: Span,
    lane: tuple[float, str, int, int],
) -> Spec:
    top, unit, number, last = lane
    looks = looks[: len(rows[0]) - 1]
    height = 104
    x = span.axis(shown=number == last)
    axis = {"tickCount": 4, "title": unit if number == last // 2 else None, "format": "~s"}
    scale = {"domain": [0, top], "nice": False}
    parts = [*span.shade(labelled=number == 0), head(label, INK, bold=True)]
    for i, look in enumerate(looks):
        place = {"x": x, "y": column(f"v{i}:Q", axis=axis, scale=scale)}
        parts.append(mark("line", place, color=look.colour, strokeWidth=1.6))
    at = [height * (1 - float(rows[-1][f"v{i}"]) / top) for i in range(len(looks))]
    parts += labels(looks, at, height)
    parts.append(hover(x, tips_of(looks), number))
    return layers(parts, WIDTH, height, rows)

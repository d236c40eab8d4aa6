"""The kinds of chart that show estimates: curves with bands, bars in groups, dots by case.

Like `charts`, without knowing what a run is. A row has `mean`, and `low` and `high`, the ends of
its interval or nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from fairhaul.report.charts import (
    WIDTH,
    Look,
    Row,
    Span,
    Spec,
    head,
    hover,
    labels,
    spec,
    values,
)

HEIGHT = 320
# Between two panels there is room for the names of lines.
BETWEEN = 64
INK = "var(--ink)"


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What an axis is called, where it ends, where it has its ticks, and whether it is in powers.

    `form` is that of its numbers, as in Vega; left out, it suits the ticks.
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

    def x(self, field: str) -> alt.X:
        """Give the axis as the horizontal one."""
        return alt.X(field, axis=self._axis(), scale=self._scale())

    def y(self, field: str) -> alt.Y:
        """Give the axis as the vertical one."""
        return alt.Y(field, axis=self._axis(), scale=self._scale())

    def _axis(self) -> alt.Axis:
        given: dict[str, Any] = {"values": list(self.ticks)} if self.ticks else {"tickCount": 6}
        if self.form or self.log:
            given["format"] = self.form or "~g"
        return alt.Axis(title=self.title, **given)

    def _scale(self) -> alt.Scale:
        kind: Literal["log", "linear"] = "log" if self.log else "linear"
        return alt.Scale(type=kind, domain=[self.low, self.high], nice=False, zero=False)


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
    """Draw lines with bands, each labelled where it ends; those without a point are left out."""
    return spec(_curves(lines, x, y, WIDTH, HEIGHT))


def beside(panels: Mapping[str, Sequence[Curve]], x: Scale, y: Scale) -> Spec:
    """Draw lines as `curves` does, in panels beside each other with their names above them."""
    width = (WIDTH - BETWEEN * (len(panels) - 1)) // len(panels)
    drawn = [
        alt.layer(_curves(lines, x, y, width, WIDTH // 3), head(name, INK, bold=True))
        for name, lines in panels.items()
    ]
    return spec(alt.hconcat(*drawn, spacing=BETWEEN))


def _curves(lines: Sequence[Curve], x: Scale, y: Scale, width: int, height: int) -> Any:
    lines = [line for line in lines if line.points]
    drawn: list[Any] = []
    for one in lines:
        drawn += band(one, x, y)
    drawn += [line(one, x, y) for one in lines]
    drawn += [_points(line, x, y) for line in lines if not line.look.thin]
    named = [line for line in lines if line.look.label]
    last = [y.place(y.inside(float(line.points[-1]["mean"])) or y.low) for line in named]
    drawn += labels([line.look for line in named], [height * (1 - at) for at in last], height)
    return alt.layer(*drawn).properties(width=width, height=height)


def band(curve: Curve, x: Scale, y: Scale) -> list[Any]:
    """Draw the intervals of a line as a band; nothing where it has none."""
    rows = [
        {"x": row["x"], "low": y.inside(row["low"]), "high": y.inside(row["high"])}
        for row in curve.points
        if row["low"] is not None
    ]
    if not rows:
        return []
    area = alt.Chart(values(rows)).mark_area(color=curve.look.colour, opacity=0.13, line=False)
    return [area.encode(x=x.x("x:Q"), y=y.y("low:Q"), y2="high:Q")]


def line(curve: Curve, x: Scale, y: Scale) -> Any:
    """Draw a line without its points."""
    look = curve.look
    mark = alt.Chart(values(curve.points)).mark_line(
        color=look.colour,
        strokeDash=list(look.dash),
        strokeWidth=1.3 if look.thin else 2.2,
        clip=True,
    )
    return mark.encode(x=x.x("x:Q"), y=y.y("mean:Q"))


def _points(line: Curve, x: Scale, y: Scale) -> Any:
    rows = [{**row, "of": line.look.label} for row in line.points]
    spot = alt.Chart(values(rows)).mark_point(
        color=line.look.colour, filled=True, fill=line.look.colour, size=46, opacity=1
    )
    tips = _tips([("of:N", ""), ("x:Q", x.title)])
    return spot.encode(x=x.x("x:Q"), y=y.y("mean:Q"), tooltip=tips)


def _tips(first: Sequence[tuple[str, str]]) -> list[alt.Tooltip]:
    interval = [("mean:Q", "mean"), ("low:Q", "interval from"), ("high:Q", "to")]
    return [
        alt.Tooltip(field, title=title, format=".4~g" if field.endswith("Q") else "")
        for field, title in [*first, *interval]
    ]


def bars(looks: Sequence[Look], rows: Sequence[Row], group: str, y: Scale) -> Spec:
    """Draw a bar for each of `looks` in each group, its interval, and a diamond at `paper`.

    A row has `group` and `of`, the label of a look. `group` is what the groups are called.
    """
    names = [look.label for look in looks]
    x = alt.X(
        "group:N",
        sort=None,
        scale=alt.Scale(paddingInner=0.22, paddingOuter=0.1),
        axis=alt.Axis(title=group, labelAngle=0, labelPadding=24, labelColor=INK, ticks=False),
    )
    lane = alt.XOffset("of:N", scale=alt.Scale(domain=names, paddingInner=0.18), sort=None)
    colours = alt.Color(
        "of:N", scale=alt.Scale(domain=names, range=[look.colour for look in looks]), legend=None
    )
    base = alt.Chart(values(rows)).encode(x=x, xOffset=lane)
    tips = _tips([("group:N", group), ("of:N", "")])
    tips.append(alt.Tooltip("paper:Q", title="paper"))
    bar = base.mark_bar(opacity=0.82).encode(y=y.y("mean:Q"), color=colours, tooltip=tips)
    interval = base.mark_rule(color=INK, strokeWidth=1.4).transform_filter("isValid(datum.low)")
    mark = base.mark_point(
        shape="diamond",
        filled=True,
        color=INK,
        stroke="var(--paper)",
        strokeWidth=1.4,
        size=110,
        opacity=1,
    ).transform_filter("isValid(datum.paper)")
    name = base.mark_text(baseline="top", fontWeight="bold", fontSize=11, dy=6)
    key = alt.Chart(values([{"word": "◆ the paper   │ 95 % interval"}])).mark_text(
        align="right", baseline="bottom", y=-6, color="var(--soft)"
    )
    parts = [
        bar,
        interval.encode(y=y.y("low:Q"), y2="high:Q"),
        mark.encode(y=y.y("paper:Q"), tooltip=tips),
        name.encode(y=alt.value("height"), text="of:N", color=colours),
        key.encode(x=alt.value("width"), text="word:N"),
    ]
    return spec(alt.layer(*parts).properties(width=WIDTH, height=HEIGHT))


def dots(looks: Sequence[Look], rows: Sequence[Row], names: Sequence[str], x: Scale) -> Spec:
    """Draw a dot and its interval for each of `looks`, the `of` of a row, in lanes by its `row`."""
    drawn = [look.label for look in looks]
    lane = alt.YOffset("of:N", scale=alt.Scale(domain=drawn), sort=None)
    y = alt.Y(
        "row:N",
        sort=None,
        scale=alt.Scale(domain=list(names)),
        axis=alt.Axis(title=None, labelLimit=190, labelColor=INK, grid=True),
    )
    colours = alt.Color(
        "of:N", scale=alt.Scale(domain=drawn, range=[look.colour for look in looks]), legend=None
    )
    base = alt.Chart(values(_clipped(rows, x))).encode(y=y, yOffset=lane, color=colours)
    bar = base.mark_rule(strokeWidth=3, opacity=0.4).transform_filter("isValid(datum.from)")
    spot = base.mark_point(filled=True, size=80, opacity=1)
    text = base.mark_text(align="left", dx=9, fontSize=11, fontWeight="bold")
    parts = [
        bar.encode(x=x.x("from:Q"), x2="to:Q"),
        spot.encode(x=x.x("mean:Q"), tooltip=_tips([("row:N", ""), ("of:N", "")])),
        text.encode(x=x.x("end:Q"), text="of:N"),
    ]
    height = (16 * len(looks) + 16) * len(names)
    return spec(alt.layer(*parts).properties(width=WIDTH, height=height))


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
    return spec(alt.vconcat(*drawn, spacing=30))


def _panel(names: Sequence[str], panel: Panel) -> Any:
    y = alt.Y(
        "row:N",
        sort=None,
        scale=alt.Scale(domain=list(names)),
        axis=alt.Axis(title=None, labelLimit=190, labelColor=INK, grid=True, minExtent=150),
    )
    scale = panel.scale
    base = alt.Chart(values(_clipped(panel.rows, scale))).encode(y=y)
    tips = _tips([("row:N", "")])
    bar = base.mark_rule(strokeWidth=3, opacity=0.4, color="var(--c1)")
    spot = base.mark_point(filled=True, size=80, opacity=1, color="var(--c1)")
    paper = base.mark_point(
        shape="diamond", filled=True, color=INK, size=90, opacity=1
    ).transform_filter("isValid(datum.paper)")
    parts = [
        bar.transform_filter("isValid(datum.low)").encode(x=scale.x("from:Q"), x2="to:Q"),
        spot.encode(x=scale.x("mean:Q"), tooltip=tips),
    ]
    if any(row.get("paper") is not None for row in panel.rows):
        parts.append(paper.encode(x=scale.x("paper:Q"), tooltip=alt.Tooltip("paper:Q")))
    return alt.layer(*parts).properties(width=WIDTH - 150, height=24 * len(names))


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
    return spec(alt.vconcat(*drawn, spacing=26))


def _thread(
    looks: Sequence[Look],
    label: str,
    rows: Sequence[Row],
    span: Span,
    lane: tuple[float, str, int, int],
) -> Any:
    top, unit, number, last = lane
    looks = looks[: len(rows[0]) - 1]
    height = 104
    x = span.axis(shown=number == last)
    axis = alt.Axis(tickCount=4, title=unit if number == last // 2 else None, format="~s")
    scale = alt.Scale(domain=[0, top], nice=False)
    parts: list[Any] = [*span.shade(labelled=number == 0), head(label, INK, bold=True)]
    for i, look in enumerate(looks):
        mark = alt.Chart().mark_line(color=look.colour, strokeWidth=1.6)
        parts.append(mark.encode(x=x, y=alt.Y(f"v{i}:Q", axis=axis, scale=scale)))
    at = [height * (1 - float(rows[-1][f"v{i}"]) / top) for i in range(len(looks))]
    parts += labels(looks, at, height)
    tips = [alt.Tooltip("t:Q", title="time (s)", format=".4~g")]
    tips += [
        alt.Tooltip(f"v{i}:Q", title=look.label, format=",.4~g") for i, look in enumerate(looks)
    ]
    parts.append(hover(x, tips, number))
    return alt.layer(*parts, data=values(rows)).properties(width=WIDTH, height=height)

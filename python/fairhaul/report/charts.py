"""The kinds of chart in a report, without knowing what a run is.

Each function gives a Vega-Lite specification. Lines are labelled where they end; only where that
says too little is there a legend in the caption. Layers named `hover…` answer the pointer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

Row = Mapping[str, Any]
Spec = dict[str, Any]

WIDTH = 740
LABEL_GAP = 15
TIME = "Time (s)"


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a line is called and how it is drawn."""

    label: str
    colour: str
    dash: Sequence[int] = (1, 0)
    thin: bool = False


@dataclass(frozen=True, kw_only=True)
class Span:
    """The time of a run, and how much of it is warm-up, seconds."""

    end_s: float
    warmup_s: float

    def axis(self, *, shown: bool = True) -> alt.X:
        """Give the axis of time."""
        axis = alt.Axis(tickCount=8, labels=shown, ticks=shown, title=TIME if shown else None)
        return alt.X("t:Q", axis=axis, scale=alt.Scale(domain=[0, self.end_s], nice=False))

    def shade(self, *, labelled: bool) -> list[alt.Chart]:
        """Shade the warm-up; nothing where there is none."""
        if self.warmup_s <= 0:
            return []
        data = values([{"from": 0, "t": self.warmup_s}])
        area = alt.Chart(data).mark_rect(color="var(--shade)")
        found = [area.encode(x=alt.X("from:Q"), x2="t:Q")]
        if labelled:
            words = values([{"t": self.warmup_s, "word": "measured from here"}])
            text = alt.Chart(words).mark_text(
                align="left", dx=5, y=8, fontSize=11, color="var(--quiet)"
            )
            found.append(text.encode(x="t:Q", text="word:N"))
        return found


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One row of a chart: rows of `t`, `mean`, `low` and `high`, the ends of its scale, a limit.

    `unit` is what its axis is called, where lanes differ in that; `form` is that of its numbers.
    """

    look: Look
    rows: Sequence[Row]
    top: float
    bottom: float = 0.0
    note: str = ""
    unit: str = ""
    form: str = "~s"
    limit: tuple[float, str] | None = None


def values(rows: Sequence[Row]) -> Any:
    """Give rows as the data of a chart."""
    return alt.InlineData(values=[dict(row) for row in rows])


def lanes(lanes: Sequence[Lane], span: Span, unit: str = "", below: Sequence[Any] = ()) -> Spec:
    """Draw a row for each of `lanes` over the same time: a mean, and the band around it.

    `unit` is that of all lanes; `below` are charts over the same time, to stand below them.
    """
    height = 130 if len(lanes) <= 3 else 84 if len(lanes) <= 6 else 58
    last = len(lanes) - 1 + len(below)
    drawn = [
        _lane(lane, span, unit if unit and i == last // 2 else lane.unit, i, last, height)
        for i, lane in enumerate(lanes)
    ]
    return spec(alt.vconcat(*drawn, *below, spacing=26))


def _lane(lane: Lane, span: Span, unit: str, number: int, last: int, height: int) -> Any:
    axis = alt.Axis(tickCount=3 if height < 100 else 4, title=unit or None, format=lane.form)
    scale = alt.Scale(domain=[lane.bottom, lane.top], nice=True, zero=True)
    y = alt.Y("mean:Q", axis=axis, scale=scale)
    x = span.axis(shown=number == last)
    band = alt.Chart().mark_area(color=lane.look.colour, opacity=0.28, line=False, clip=True)
    line = alt.Chart().mark_line(color=lane.look.colour, strokeWidth=1.5, clip=True)
    parts: list[Any] = [
        *span.shade(labelled=number == 0),
        band.encode(x=x, y=alt.Y("low:Q", axis=axis, scale=scale, title=unit or None), y2="high:Q"),
        line.encode(x=x, y=y),
        head(lane.look.label, lane.look.colour, bold=True),
        head(lane.note, "var(--soft)", right=True),
    ]
    if lane.limit is not None:
        parts += _limit(*lane.limit)
    tips = [
        alt.Tooltip("t:Q", title="time (s)", format=".4~g"),
        alt.Tooltip("mean:Q", title="mean", format=",.4~g"),
        alt.Tooltip("low:Q", title="smallest", format=",.4~g"),
        alt.Tooltip("high:Q", title="largest", format=",.4~g"),
    ]
    parts.append(hover(x, tips, number))
    rows = values(lane.rows)
    return alt.layer(*parts, data=rows).properties(width=WIDTH, height=height)


def head(text: str, colour: str, *, bold: bool = False, right: bool = False) -> Any:
    """Write above a lane, at its left or its right end."""
    mark = alt.Chart(values([{"word": text}])).mark_text(
        align="right" if right else "left",
        baseline="bottom",
        y=-5,
        color=colour,
        fontWeight="bold" if bold else "normal",
    )
    return mark.encode(x=alt.value("width" if right else 0), text="word:N")


def _limit(value: float, label: str) -> list[alt.Chart]:
    data = values([{"limit": value, "word": label}])
    rule = alt.Chart(data).mark_rule(color="var(--soft)", strokeDash=[4, 3]).encode(y="limit:Q")
    text = alt.Chart(data).mark_text(
        align="right", baseline="bottom", dx=-3, dy=-3, fontSize=11, color="var(--soft)"
    )
    return [rule, text.encode(x=alt.value("width"), y="limit:Q", text="word:N")]


def hover(x: Any, tips: Sequence[alt.Tooltip], number: int = 0) -> Any:
    """Give the line that follows the pointer, with the numbers where it stands."""
    nearest = alt.selection_point(
        name=f"hover{number}", on="pointerover", clear="pointerout", nearest=True, encodings=["x"]
    )
    rule = alt.Chart(name=f"hover{number}_line").mark_rule(color="var(--quiet)")
    shown = alt.condition(nearest, alt.value(0.7), alt.value(0), empty=False)
    return rule.encode(x=x, opacity=shown, tooltip=list(tips)).add_params(nearest)


def lines(looks: Sequence[Look], rows: Sequence[Row], span: Span, unit: str, top: float) -> Spec:
    """Draw lines over time: of each row `t`, and `v0`, `v1` … for `looks`."""
    height = 300
    x = span.axis()
    scale = alt.Scale(domain=[0, top], nice=False)
    y_axis = alt.Axis(tickCount=6, title=unit, format="~s")
    drawn: list[Any] = span.shade(labelled=True)
    for i, look in enumerate(looks):
        mark = alt.Chart().mark_line(
            color=look.colour,
            strokeDash=list(look.dash),
            strokeWidth=1.5 if look.thin else 2.2,
        )
        drawn.append(mark.encode(x=x, y=alt.Y(f"v{i}:Q", axis=y_axis, scale=scale)))
    ends = [float(rows[-1][f"v{i}"]) for i in range(len(looks))]
    drawn += labels(looks, [height * (1 - end / top) for end in ends], height)
    tips = [alt.Tooltip("t:Q", title="time (s)", format=".4~g")]
    tips += [
        alt.Tooltip(f"v{i}:Q", title=look.label, format=",.4~g") for i, look in enumerate(looks)
    ]
    drawn.append(hover(x, tips))
    return spec(alt.layer(*drawn, data=values(rows)).properties(width=WIDTH, height=height))


def strip(looks: Sequence[Look], rows: Sequence[Row], span: Span) -> Spec:
    """Draw a tick at `t` in the row of each label `of`; `timeout` says which kind it is."""
    names = [look.label for look in looks]
    height = max(26 * len(names), 52)
    y = alt.Y(
        "of:N",
        sort=None,
        scale=alt.Scale(domain=names),
        axis=alt.Axis(
            title=None,
            labelFontWeight="bold",
            labelColor="var(--ink)",
            labelLimit=130,
            labelPadding=8,
        ),
    )
    colours = alt.Color(
        "of:N", scale=alt.Scale(domain=names, range=[look.colour for look in looks]), legend=None
    )
    tips = [
        alt.Tooltip("of:N", title="flow"),
        alt.Tooltip("t:Q", title="time (s)", format=".4~g"),
        alt.Tooltip("what:N", title="what"),
    ]
    data = values(rows)
    tick = alt.Chart(data).transform_filter("!datum.timeout")
    cross = alt.Chart(data).transform_filter("datum.timeout")
    x = span.axis()
    parts: list[Any] = [
        *span.shade(labelled=False),
        tick.mark_tick(thickness=1.4, size=16).encode(x=x, y=y, color=colours, tooltip=tips),
        cross.mark_point(shape="cross", angle=45, size=70, filled=True, opacity=1).encode(
            x=x, y=y, color=colours, tooltip=tips
        ),
    ]
    return spec(alt.layer(*parts).properties(width=WIDTH, height=height))


def labels(looks: Sequence[Look], at: Sequence[float], height: int) -> list[alt.Chart]:
    """Write the names of lines behind their ends, moved apart where they would overlap."""
    found = []
    for look, y in zip(looks, apart(at, LABEL_GAP, height), strict=True):
        text = alt.Chart(values([{"word": look.label}])).mark_text(
            align="left", dx=8, y=y, color=look.colour, fontWeight="bold"
        )
        found.append(text.encode(x=alt.value("width"), text="word:N"))
    return found


def apart(at: Sequence[float], gap: float, end: float) -> list[float]:
    """Move places in [0, `end`] until two neighbours are `gap` apart, in their order."""
    order = sorted(range(len(at)), key=lambda i: at[i])
    found = [min(max(at[i], 0.0), end) for i in order]
    for i in range(1, len(found)):
        found[i] = max(found[i], found[i - 1] + gap)
    limit = max(end, gap * (len(found) - 1))
    for i in reversed(range(len(found))):
        found[i] = min(found[i], limit - gap * (len(found) - 1 - i))
    return [found[order.index(i)] for i in range(len(at))]


def spec(chart: Any) -> Spec:
    """Give `chart` as the specification that a figure holds."""
    found: Spec = chart.to_dict(validate=False)
    return found

"""Charts that compare cases: bars in groups, dots in lanes, a panel for each measure.

A row has `mean`, and `low` and `high`, the ends of its interval or None.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.figures.charts.axes import Scale
from fairhaul.figures.charts.parts import HEIGHT, INK, WIDTH, Look, estimate_tips, filling, limits
from fairhaul.figures.charts.vega import Row, Spec, column, layers, mark, vertical, words

SPOT: Spec = {"filled": True, "size": 80, "opacity": 1}
# In more lanes than this the colours say which dot is which.
MOST_LABELLED = 12
PAPER: Spec = {"shape": "diamond", "filled": True, "color": INK, "opacity": 1}


def bars(looks: Sequence[Look], rows: Sequence[Row], group: str, y: Scale) -> Spec:
    """Draw a bar for each of `looks` in each group, its interval, and a diamond at `paper`.

    A row has `group` and `of`, the label of a look. `group` is what the groups are called.
    """
    names = [look.label for look in looks]
    axis = {"title": group, "labelAngle": 0, "labelPadding": 24, "labelColor": INK, "ticks": False}
    room = {"paddingInner": 0.22, "paddingOuter": 0.1}
    lane = column("of:N", scale={"domain": names, "paddingInner": 0.18}, sort=None)
    place = {"x": column("group:N", sort=None, scale=room, axis=axis), "xOffset": lane}
    colours = colours_of(looks)
    tips = [*estimate_tips([("group:N", group), ("of:N", "")]), column("paper:Q", title="paper")]
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


def colours_of(looks: Sequence[Look]) -> Spec:
    """Give each label the colour of its look."""
    ends = {"domain": [look.label for look in looks], "range": [look.colour for look in looks]}
    return column("of:N", scale=ends, legend=None)


def dots(
    looks: Sequence[Look],
    rows: Sequence[Row],
    names: Sequence[str],
    x: Scale,
    marks: Sequence[tuple[float, str]] = (),
) -> Spec:
    """Draw a dot and its interval for each of `looks`, the `of` of a row, in lanes by its `row`.

    `marks` are values to compare them with, and their names. Of many lanes the first is labelled.
    """
    lane = column("of:N", scale={"domain": [look.label for look in looks]}, sort=None)
    place = {"y": _cases(names), "yOffset": lane, "color": colours_of(looks)}
    tips = estimate_tips([("row:N", ""), ("of:N", "")])
    written = {**place, "x": x.of("end:Q"), "text": column("of:N")}
    labelled = f"datum.row == {json.dumps(names[0])}" if len(names) > MOST_LABELLED else ""
    parts = [
        *limits(marks, across=True),
        _interval(place, x),
        mark("point", {**place, "x": x.of("mean:Q"), "tooltip": tips}, **SPOT),
        mark("text", written, where=labelled, align="left", dx=9, fontSize=11, fontWeight="bold"),
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
    """One measure of several cases: rows of `row`, `mean`, `low`, `high`, and `paper` if any.

    The dot of a `hollow` row is not filled.
    """

    scale: Scale
    rows: Sequence[Row]


def panels(names: Sequence[str], each: Sequence[Panel]) -> Spec:
    """Draw a dot with its interval for each of `names`, in a panel for each measure."""
    drawn = [_panel(names, panel) for panel in each]
    return vertical(drawn, spacing=30)


def _panel(names: Sequence[str], panel: Panel) -> Spec:
    scale = panel.scale
    place = {"y": _cases(names, minExtent=150, labelLimit=300)}
    spot = {**place, "x": scale.of("mean:Q"), "tooltip": estimate_tips([("row:N", "")])}
    filled = filling("var(--c1)")
    parts = [
        _interval(place, scale, color="var(--c1)"),
        mark("point", {**spot, **filled}, size=80, opacity=1),
    ]
    if any(row.get("paper") is not None for row in panel.rows):
        paper = {**place, "x": scale.of("paper:Q"), "tooltip": column("paper:Q")}
        parts.append(mark("point", paper, where="isValid(datum.paper)", size=90, **PAPER))
    return layers(parts, WIDTH - 150, 24 * len(names), _clipped(panel.rows, scale))

"""Charts over the time of a run: lanes, lines and strips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairhaul.figures.charts.parts import (
    INK,
    LABEL_GAP,
    WIDTH,
    Look,
    Span,
    head,
    hover,
    labels,
    limits,
    tip,
    tips_of,
)
from fairhaul.figures.charts.vega import Row, Spec, column, layers, mark, vertical

# The height of a row of a strip or a timeline.
ROW = 26
SHADES = {"slow start": "var(--start)", "recovery": "var(--repair)"}


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One row of a chart: rows of `t`, `mean`, `low` and `high`, the ends of its scale, a limit.

    `unit` is what its axis is called, where lanes differ in that; `form` is that of its numbers.
    `spans` are shaded behind it: rows of `from` and `t` in seconds, and `what`.
    """

    look: Look
    rows: Sequence[Row]
    top: float
    bottom: float = 0.0
    note: str = ""
    unit: str = ""
    form: str = ",~f"
    limit: tuple[float, str] | None = None
    spans: Sequence[Row] = ()

    def is_cut(self) -> bool:
        """Whether it passes its scale. Only then is it clipped, which is dear in a PNG."""
        slack = 1e-3 * (self.top - self.bottom)  # of rounded rows
        low, high = self.bottom - slack, self.top + slack
        rows = [row for row in self.rows if row["mean"] is not None]
        return any(row["low"] < low or row["high"] > high for row in rows)


def lanes(lanes: Sequence[Lane], span: Span, unit: str = "", below: Sequence[Spec] = ()) -> Spec:
    """Draw a row for each of `lanes` over the same time: a mean, and the band around it.

    `unit` is that of all lanes; `below` are charts over the same time, to stand below them.
    """
    height = 130 if len(lanes) <= 3 else 84 if len(lanes) <= 6 else 58
    last = len(lanes) - 1 + len(below)
    drawn = [
        _lane(lane, span, unit if unit and i == last // 2 else lane.unit, i, last, height)
        for i, lane in enumerate(lanes)
    ]
    return vertical([*drawn, *below], spacing=26)


def _lane(lane: Lane, span: Span, unit: str, number: int, last: int, height: int) -> Spec:
    look: Spec = {"color": lane.look.colour, "clip": lane.is_cut()}
    axis = {"tickCount": 3 if height < 100 else 4, "title": unit or None, "format": lane.form}
    scale = {"domain": [lane.bottom, lane.top], "nice": True, "zero": True}
    x = span.axis(shown=number == last)
    low = column("low:Q", axis=axis, scale=scale, title=unit or None)
    band = {"x": x, "y": low, "y2": {"field": "high"}}
    line: Spec = {"x": x, "y": column("mean:Q", axis=axis, scale=scale)}
    parts = [
        *span.shade(),
        *_spans(lane.spans),
        mark("area", band, fillOpacity=0.28, line=False, **look),
        mark("line", line, strokeWidth=1.5, **look),
        head(lane.look.label, lane.look.colour, bold=True),
        head(lane.note, "var(--soft)", right=True),
    ]
    parts += limits([lane.limit] if lane.limit is not None else [])
    parts += span.note(lane.look.label, lane.note) if number == 0 else []
    tips = [
        tip("t:Q", "time (s)", ".4~g"),
        tip("mean:Q", "mean"),
        tip("low:Q", "smallest"),
        tip("high:Q", "largest"),
    ]
    parts.append(hover(x, tips, number))
    return layers(parts, WIDTH, height, lane.rows)


def _spans(rows: Sequence[Row]) -> list[Spec]:
    """Shade spans of time, those of each kind in its colour."""
    return [
        mark("rect", ends, kept, color=colour)
        for what, colour in SHADES.items()
        if (kept := [row for row in rows if row["what"] == what])
        for ends in [{"x": column("from:Q"), "x2": {"field": "t"}}]
    ]


def lines(
    looks: Sequence[Look],
    rows: Sequence[Row],
    span: Span,
    unit: str,
    top: float,
    marks: Sequence[tuple[float, str]] = (),
) -> Spec:
    """Draw lines over time: of each row `t`, and `v0`, `v1` … for `looks`.

    `marks` are values to compare them with, and their names.
    """
    height = 300
    x = span.axis()
    scale = {"domain": [0, top], "nice": False}
    axis = {"tickCount": 6, "title": unit}
    drawn = span.shade()
    for i, look in enumerate(looks):
        place = {"x": x, "y": column(f"v{i}:Q", axis=axis, scale=scale)}
        width = 1.5 if look.thin else 2.2
        dash = list(look.dash)
        drawn.append(mark("line", place, color=look.colour, strokeDash=dash, strokeWidth=width))
    ends = [float(rows[-1][f"v{i}"]) for i in range(len(looks))]
    drawn += [*limits(marks), *span.note(right=_longest(marks))]
    drawn += labels(looks, [height * (1 - end / top) for end in ends], height)
    drawn.append(hover(x, tips_of(looks)))
    return layers(drawn, WIDTH, height, rows)


def _longest(marks: Sequence[tuple[float, str]]) -> str:
    """Give the longest name of a mark; the highest one may stand above the chart."""
    return max((name for _, name in marks), key=len, default="")


def strip(looks: Sequence[Look], rows: Sequence[Row], span: Span) -> Spec:
    """Draw a tick at `t` in the row of each label `of`; `timeout` says which kind it is."""
    place = {
        "x": span.axis(),
        **_rows_of(looks),
        "tooltip": [
            column("of:N", title="flow"),
            tip("t:Q", "time (s)", ".4~g"),
            column("what:N", title="what"),
        ],
    }
    cross: Spec = {"shape": "cross", "angle": 45, "size": 70, "filled": True, "opacity": 1}
    parts = [
        *span.shade(),
        mark("tick", place, where="!datum.timeout", thickness=1.4, size=16),
        mark("point", place, where="datum.timeout", **cross),
    ]
    return layers(parts, WIDTH, max(ROW * len(looks), 2 * ROW), rows)


def timeline(looks: Sequence[Look], rows: Sequence[Row], span: Span) -> Spec:
    """Draw a bar from `from` to `t` in the row of each label `of`, as opaque as its `share`."""
    place = {
        "x": {**column("from:Q"), "axis": span.axis()["axis"], "scale": span.axis()["scale"]},
        "x2": {"field": "t"},
        **_rows_of(looks),
        "fillOpacity": column("share:Q", scale={"domain": [0, 1], "range": [0, 1]}, legend=None),
        "tooltip": [
            column("of:N", title="what"),
            tip("from:Q", "from (s)", ".4~g"),
            tip("t:Q", "to (s)", ".4~g"),
            tip("share:Q", "share", ".0%"),
        ],
    }
    bars = mark("rect", place, height=14)
    return layers([*span.shade(), bars], WIDTH, ROW * len(looks), rows)


def _rows_of(looks: Sequence[Look]) -> Spec:
    """Give a row and a colour to each label `of`."""
    names = [look.label for look in looks]
    axis = {
        **{"title": None, "labelFontWeight": "bold", "labelColor": "var(--ink)"},
        **{"labelLimit": 130, "labelPadding": 8},
    }
    colours = {"domain": names, "range": [look.colour for look in looks]}
    return {
        "y": column("of:N", sort=None, scale={"domain": names}, axis=axis),
        "color": column("of:N", scale=colours, legend=None),
    }


def threads(
    looks: Sequence[Look],
    lanes: Mapping[str, Sequence[Row]],
    span: Span,
    unit: str,
    marks: Sequence[tuple[float, str]] = (),
) -> Spec:
    """Draw lines over time, of each row `t` and `v0`, `v1` …, in a lane for each label.

    A lane whose rows have fewer values has fewer lines. `marks` are values to compare them with.
    """
    tops = [
        value for rows in lanes.values() for row in rows for key, value in row.items() if key != "t"
    ]
    top = 1.04 * max([*tops, *(value for value, _ in marks)])
    last = len(lanes) - 1
    drawn = [
        _thread(looks, label, rows, span, (top, unit, number, last), marks)
        for number, (label, rows) in enumerate(lanes.items())
    ]
    return vertical(drawn, spacing=26)


def _thread(
    looks: Sequence[Look],
    label: str,
    rows: Sequence[Row],
    span: Span,
    lane: tuple[float, str, int, int],
    marks: Sequence[tuple[float, str]],
) -> Spec:
    top, unit, number, last = lane
    looks = looks[: len(rows[0]) - 1]
    height = max(104, LABEL_GAP * len(looks))
    x = span.axis(shown=number == last)
    axis = {"tickCount": 4, "title": unit if number == last // 2 else None}
    scale = {"domain": [0, top], "nice": False}
    parts = [*span.shade(), head(label, INK, bold=True)]
    for i, look in enumerate(looks):
        place = {"x": x, "y": column(f"v{i}:Q", axis=axis, scale=scale)}
        dash = list(look.dash)
        parts.append(mark("line", place, color=look.colour, strokeDash=dash, strokeWidth=1.6))
    parts += limits([(value, name if number == 0 else "") for value, name in marks])
    parts += span.note(label, _longest(marks)) if number == 0 else []
    at = [height * (1 - float(rows[-1][f"v{i}"]) / top) for i in range(len(looks))]
    parts += labels(looks, at, height)
    parts.append(hover(x, tips_of(looks), number))
    return layers(parts, WIDTH, height, rows)

"""The kinds of chart in a report, without knowing what a run is.

Each function gives a Vega-Lite specification. Lines are labelled where they end; only where that
says too little is there a legend in the caption. Layers named `hover…` answer the pointer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairhaul.report.vega import Row, Spec, column, layers, mark, vertical, words

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

    def axis(self, *, shown: bool = True) -> Spec:
        """Give the axis of time."""
        axis = {"tickCount": 8, "labels": shown, "ticks": shown, "title": TIME if shown else None}
        return column("t:Q", axis=axis, scale={"domain": [0, self.end_s], "nice": False})

    def shade(self, *, labelled: bool) -> list[Spec]:
        """Shade the warm-up; nothing where there is none."""
        if self.warmup_s <= 0:
            return []
        ends = {"x": column("from:Q"), "x2": {"field": "t"}}
        found = [mark("rect", ends, [{"from": 0, "t": self.warmup_s}], color="var(--shade)")]
        if labelled:
            place = {"x": column("t:Q"), "text": column("word:N")}
            rows = [{"t": self.warmup_s, "word": "measured from here"}]
            look: Spec = {"align": "left", "dx": 5, "y": 8, "fontSize": 11, "color": "var(--quiet)"}
            found.append(mark("text", place, rows, **look))
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

    def is_cut(self) -> bool:
        """Whether it passes its scale. Only then is it clipped, which is dear in a PNG."""
        slack = 1e-3 * (self.top - self.bottom)  # of rounded rows
        low, high = self.bottom - slack, self.top + slack
        return any(row["low"] < low or row["high"] > high for row in self.rows)


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
        *span.shade(labelled=number == 0),
        mark("area", band, fillOpacity=0.28, line=False, **look),
        mark("line", line, strokeWidth=1.5, **look),
        head(lane.look.label, lane.look.colour, bold=True),
        head(lane.note, "var(--soft)", right=True),
    ]
    if lane.limit is not None:
        parts += _limit(*lane.limit)
    tips = [
        _tip("t:Q", "time (s)", ".4~g"),
        _tip("mean:Q", "mean"),
        _tip("low:Q", "smallest"),
        _tip("high:Q", "largest"),
    ]
    parts.append(hover(x, tips, number))
    return layers(parts, WIDTH, height, lane.rows)


def _tip(of: str, title: str, form: str = ",.4~g") -> Spec:
    return column(of, title=title, format=form)


def head(text: str, colour: str, *, bold: bool = False, right: bool = False) -> Spec:
    """Write above a lane, at its left or its right end."""
    return words(
        text,
        {"x": {"value": "width" if right else 0}},
        align="right" if right else "left",
        baseline="bottom",
        y=-5,
        color=colour,
        fontWeight="bold" if bold else "normal",
    )


def _limit(value: float, label: str) -> list[Spec]:
    rows = [{"limit": value, "word": label}]
    y = column("limit:Q")
    place = {"x": {"value": "width"}, "y": y, "text": column("word:N")}
    look: Spec = {"align": "right", "baseline": "bottom", "dx": -3, "dy": -3, "fontSize": 11}
    return [
        mark("rule", {"y": y}, rows, color="var(--soft)", strokeDash=[4, 3]),
        mark("text", place, rows, color="var(--soft)", **look),
    ]


def hover(x: Spec, tips: Sequence[Spec], number: int = 0) -> Spec:
    """Give the line that follows the pointer, with the numbers where it stands."""
    name = f"hover{number}"
    shown = {"condition": {"param": name, "value": 0.7, "empty": False}, "value": 0}
    rule = mark("rule", {"x": x, "opacity": shown, "tooltip": list(tips)}, color="var(--quiet)")
    nearest = {
        **{"type": "point", "on": "pointerover", "clear": "pointerout"},
        **{"nearest": True, "encodings": ["x"]},
    }
    return {"name": f"{name}_line", "params": [{"name": name, "select": nearest}], **rule}


def lines(looks: Sequence[Look], rows: Sequence[Row], span: Span, unit: str, top: float) -> Spec:
    """Draw lines over time: of each row `t`, and `v0`, `v1` … for `looks`."""
    height = 300
    x = span.axis()
    scale = {"domain": [0, top], "nice": False}
    axis = {"tickCount": 6, "title": unit, "format": "~s"}
    drawn = span.shade(labelled=True)
    for i, look in enumerate(looks):
        place = {"x": x, "y": column(f"v{i}:Q", axis=axis, scale=scale)}
        width = 1.5 if look.thin else 2.2
        dash = list(look.dash)
        drawn.append(mark("line", place, color=look.colour, strokeDash=dash, strokeWidth=width))
    ends = [float(rows[-1][f"v{i}"]) for i in range(len(looks))]
    drawn += labels(looks, [height * (1 - end / top) for end in ends], height)
    drawn.append(hover(x, tips_of(looks)))
    return layers(drawn, WIDTH, height, rows)


def tips_of(looks: Sequence[Look]) -> list[Spec]:
    """Give tooltips with the time, and the value of each of `looks` at that time."""
    each = [_tip(f"v{i}:Q", look.label) for i, look in enumerate(looks)]
    return [_tip("t:Q", "time (s)", ".4~g"), *each]


def strip(looks: Sequence[Look], rows: Sequence[Row], span: Span) -> Spec:
    """Draw a tick at `t` in the row of each label `of`; `timeout` says which kind it is."""
    names = [look.label for look in looks]
    axis = {
        **{"title": None, "labelFontWeight": "bold", "labelColor": "var(--ink)"},
        **{"labelLimit": 130, "labelPadding": 8},
    }
    colours = {"domain": names, "range": [look.colour for look in looks]}
    place = {
        "x": span.axis(),
        "y": column("of:N", sort=None, scale={"domain": names}, axis=axis),
        "color": column("of:N", scale=colours, legend=None),
        "tooltip": [
            column("of:N", title="flow"),
            _tip("t:Q", "time (s)", ".4~g"),
            column("what:N", title="what"),
        ],
    }
    cross: Spec = {"shape": "cross", "angle": 45, "size": 70, "filled": True, "opacity": 1}
    parts = [
        *span.shade(labelled=False),
        mark("tick", place, where="!datum.timeout", thickness=1.4, size=16),
        mark("point", place, where="datum.timeout", **cross),
    ]
    return layers(parts, WIDTH, max(26 * len(names), 52), rows)


def labels(looks: Sequence[Look], at: Sequence[float], height: int) -> list[Spec]:
    """Write the names of lines behind their ends, moved apart where they would overlap."""
    place = {"x": {"value": "width"}}
    return [
        words(look.label, place, align="left", dx=8, y=y, color=look.colour, fontWeight="bold")
        for look, y in zip(looks, apart(at, LABEL_GAP, height), strict=True)
    ]


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

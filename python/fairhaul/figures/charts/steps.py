"""Charts of several cases of which a slider shows one; a file has the one in the middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairhaul.figures.charts.axes import Scale
from fairhaul.figures.charts.estimates import colours_of
from fairhaul.figures.charts.parts import (
    ABOVE,
    HEIGHT,
    HIGHER,
    INK,
    WIDTH,
    Look,
    Span,
    estimate_tips,
    limits,
)
from fairhaul.figures.charts.vega import Row, Spec, column, layers, mark

BAR = 26


def stepped_lines(
    cases: Sequence[str], looks: Sequence[Look], rows: Sequence[Row], span: Span, y: Scale
) -> Spec:
    """Draw lines over time: of each row `t`, `of` (the label of a look), `y` and `case`."""
    place = {"x": span.axis(), "y": y.of("y:Q"), "color": colours_of(looks)}
    ends = {**place, "x": {"value": "width"}, "text": column("of:N")}
    last: dict[tuple[int, str], Row] = {(row["case"], row["of"]): row for row in rows}
    parts = [
        *span.shade(),
        mark("line", place, where=SHOWN, strokeWidth=1.8),
        _shown("text", ends, list(last.values()), align="left", dx=8, fontWeight="bold"),
        *span.note(max(cases, key=len)),
        _head(cases, ABOVE + 3),
    ]
    return _stepped(layers(parts, WIDTH, HEIGHT, rows), cases)


def stepped_bars(
    cases: Sequence[str],
    looks: Sequence[Look],
    rows: Sequence[Row],
    x: Scale,
    marks: Sequence[tuple[float, str]] = (),
) -> Spec:
    """Draw bars with intervals: of each row `of`, `mean`, `low`, `high` and `case`.

    `marks` are values to compare them with, and their names.
    """
    axis = {"title": None, "labelLimit": 190, "labelColor": INK, "ticks": False}
    names = [look.label for look in looks]
    y = column("of:N", sort=None, scale={"domain": names}, axis=axis)
    place = {"y": y, "color": colours_of(looks), "x": x.of("mean:Q")}
    ends = {"y": y, "x": x.of("low:Q"), "x2": {"field": "high"}}
    parts = [
        mark(
            "bar",
            {**place, "tooltip": estimate_tips([("of:N", "")])},
            where=SHOWN,
            fillOpacity=0.85,
        ),
        mark("rule", ends, where=f"{SHOWN} && isValid(datum.low)", color=INK, strokeWidth=1.4),
        *limits(marks, across=True),
        # The names of the marks stand above the chart, too.
        _head(cases, HIGHER + 3 if marks else ABOVE + 3),
    ]
    return _stepped(layers(parts, WIDTH, BAR * len(looks) + BAR, rows), cases)


# The number of the case that the slider shows is the parameter `step`.
SHOWN = "datum.case == step"


def _shown(kind: str, place: Row, rows: Sequence[Row], **look: Any) -> Spec:
    """Draw a mark for those of `rows` whose case is shown."""
    return mark(kind, place, rows, where=SHOWN, **look)


def _head(cases: Sequence[str], y: int) -> Spec:
    rows = [{"case": number, "word": case} for number, case in enumerate(cases)]
    place = {"x": {"value": 0}, "text": column("word:N")}
    look: Spec = {"align": "left", "baseline": "bottom", "y": y, "fontWeight": "bold"}
    return _shown("text", place, rows, color=INK, **look)


def _stepped(chart: Spec, cases: Sequence[str]) -> Spec:
    slider = {"input": "range", "min": 0, "max": len(cases) - 1, "step": 1, "name": "Case "}
    return {**chart, "params": [{"name": "step", "value": (len(cases) - 1) // 2, "bind": slider}]}

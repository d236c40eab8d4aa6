"""Curves over any quantity: lines with bands and labels.

A row has `x`, `mean`, and `low` and `high`, the ends of its interval or None; a point whose row is
`hollow` is not filled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairhaul.figures.charts.axes import Scale
from fairhaul.figures.charts.parts import (
    HEIGHT,
    INK,
    LABEL_GAP,
    WIDTH,
    Look,
    estimate_tips,
    filling,
    head,
    labels,
)
from fairhaul.figures.charts.vega import Row, Spec, horizontal, layers, mark, rows_of

# Between two panels there is room for the names of lines.
BETWEEN = 64
MOST_ACROSS = 3


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A line through rows of `x`, `mean`, `low` and `high`; a thin one has no points."""

    look: Look
    points: Sequence[Row]


def curves(lines: Sequence[Curve], x: Scale, y: Scale) -> Spec:
    """Draw lines with bands, each labelled where it ends; lines without a point are not drawn."""
    height = max(HEIGHT, LABEL_GAP * len(lines))
    return layers(_curves(lines, x, y, height), WIDTH, height)


def beside(panels: Mapping[str, Sequence[Curve]], x: Scale, y: Scale) -> Spec:
    """Draw lines as `curves` does, in panels with their names above them.

    Up to three panels stand beside each other, more in rows of two.
    """
    across = len(panels) if len(panels) <= MOST_ACROSS else 2
    width = (WIDTH - BETWEEN * (across - 1)) // across
    height = max(
        WIDTH // (3 if len(panels) <= MOST_ACROSS else 4),
        LABEL_GAP * max(map(len, panels.values())),
    )
    drawn = [
        layers([*_curves(lines, x, y, height), head(name, INK, bold=True)], width, height)
        for name, lines in panels.items()
    ]
    if len(panels) <= MOST_ACROSS:
        return horizontal(drawn, spacing=BETWEEN)
    return rows_of(drawn, across, spacing=BETWEEN // 2)


def _curves(lines: Sequence[Curve], x: Scale, y: Scale, height: int) -> list[Spec]:
    lines = [line for line in lines if line.points]
    drawn: list[Spec] = []
    for curve in lines:
        drawn += band(curve, x, y)
    drawn += [line(curve, x, y) for curve in lines]
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
    tips = estimate_tips([("of:N", ""), ("x:Q", x.title)])
    place = {"x": x.of("x:Q"), "y": y.of("mean:Q"), "tooltip": tips}
    look: Spec = {"size": 46, "opacity": 1, "shape": line.look.shape}
    return mark("point", {**place, **filling(line.look.colour)}, rows, **look)

"""Charts over two quantities: a heat map with a number in each cell, and scattered points.

A row of a heat map has `x` and `y`, the labels of its cell, `value` and `text`. A row of scattered
points has `x` and `mean`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairhaul.figures.charts.axes import Scale
from fairhaul.figures.charts.parts import HEIGHT, INK, WIDTH, Look, head, labels, tip
from fairhaul.figures.charts.vega import Row, Spec, column, horizontal, layers, mark, rows_of

# Light is little, dark is much, on a light page as on a dark one.
SHADES = ("#e8f1f8", "#0067a5")
# From this part of the scale on, a number is white on its cell.
DARK = 0.65
CELL = 44
BETWEEN = 56
# For names beside the last panel.
ROOM = 80


def heat(
    maps: Mapping[str, Sequence[Row]], xs: Sequence[str], ys: Sequence[str], x: str, y: Scale
) -> Spec:
    """Draw a map for each name, with a cell for each row, shaded from `y.low` to `y.high`.

    `xs` and `ys` are the labels of columns and of rows, from left to right and from the bottom up;
    `x` is the title of the columns, `y` that of the rows.
    """
    across = min(len(maps), max(1, WIDTH // (CELL * len(xs) + BETWEEN)), 2 + (len(maps) % 3 == 0))
    width = min(WIDTH // across - (BETWEEN if across > 1 else 0), 2 * CELL * len(xs))
    drawn = [
        layers(
            [*_cells(xs, ys, x, y), *([head(name, INK, bold=True)] if name else [])],
            width,
            CELL * len(ys),
            rows,
        )
        for name, rows in maps.items()
    ]
    return drawn[0] if len(drawn) == 1 else rows_of(drawn, across, spacing=BETWEEN // 2)


def _cells(xs: Sequence[str], ys: Sequence[str], x: str, y: Scale) -> list[Spec]:
    across = {"title": x, "labelAngle": 0, "labelColor": INK, "ticks": False}
    up = {"title": y.title, "labelColor": INK, "ticks": False, "grid": False}
    place = {
        "x": column("x:N", sort=None, scale={"domain": list(xs)}, axis=across),
        "y": column("y:N", sort=None, scale={"domain": list(reversed(ys))}, axis=up),
    }
    shade = column(
        "value:Q",
        scale={"domain": [y.low, y.high], "range": list(SHADES), "clamp": True},
        legend=None,
    )
    tips = [column("x:N", title=x), column("y:N", title=y.title), tip("value:Q", "value")]
    middle = y.low + DARK * (y.high - y.low)
    dark, light = f"datum.value > {middle}", f"datum.value <= {middle}"
    return [
        mark("rect", {**place, "color": shade, "tooltip": tips}, stroke="var(--paper)"),
        mark("text", {**place, "text": column("text:N")}, where=dark, color="#ffffff"),
        mark("text", {**place, "text": column("text:N")}, where=light, color="#1b1f24"),
    ]


def scattered(
    panels: Sequence[tuple[Scale, Sequence[tuple[Look, Sequence[Row]]]]], y: Scale
) -> Spec:
    """Draw points in panels beside each other, one for each quantity; a colour for each look.

    The names of the looks stand beside the last panel.
    """
    width = min(WIDTH, (WIDTH - ROOM - BETWEEN * (len(panels) - 1)) // len(panels))
    drawn = []
    for x, clouds in panels:
        marks = [
            mark(
                "point",
                {
                    "x": x.of("x:Q"),
                    "y": y.of("mean:Q"),
                    "tooltip": [tip("x:Q", x.title), tip("mean:Q", y.title)],
                },
                rows,
                color=look.colour,
                shape=look.shape,
                filled=True,
                size=30,
                opacity=0.75,
            )
            for look, rows in clouds
        ]
        if x is panels[-1][0]:
            looks = [look for look, _ in clouds if look.label]
            marks += labels(looks, [0.0] * len(looks), HEIGHT)
        drawn.append(layers(marks, width, HEIGHT))
    return horizontal(drawn, spacing=BETWEEN)

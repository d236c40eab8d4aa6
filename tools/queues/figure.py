"""The figure of docs/queues-10g.md: the medians of engines against those of the hardware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairhaul.figures.bins import tidy
from fairhaul.figures.charts import INK, Scale, head
from fairhaul.figures.charts.vega import Row, Spec, horizontal, layers, mark, vertical
from fairhaul.figures.look import colour
from tools.queues.comparison import NEAR, Compared, by_controller

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine

SIDE, SPACE = 168, 14
END = 110


def draw(rows: Sequence[Compared], engines: Sequence[Engine]) -> Spec:
    """Draw a row of panels for each engine, and a panel for each controller."""
    lanes = []
    for number, engine in enumerate(engines):
        last = number == len(engines) - 1
        panels = [
            _panel(own, engine, name, colour(number), titled=(last, place == 0))
            for place, (name, own) in enumerate(by_controller(rows).items())
        ]
        lanes.append(horizontal(panels, spacing=SPACE))
    return vertical(lanes, spacing=SPACE)


def _panel(
    rows: Sequence[Compared], engine: Engine, name: str, hue: str, *, titled: tuple[bool, bool]
) -> Spec:
    """Draw points in a square, with the diagonal and the lines that bound what is near."""
    ticks = [0, 25, 50, 75, 100]
    x = Scale(title="Hardware (% of buffer)" if titled[0] else "", low=0, high=END, ticks=ticks)
    y = Scale(title=f"{engine} (% of buffer)" if titled[1] else "", low=0, high=END, ticks=ticks)
    place = {"x": x.of("x:Q"), "y": y.of("y:Q")}
    points: list[Row] = [
        {"x": _share(of.row.median, of), "y": _share(of.value(engine), of)} for of in rows
    ]
    drawn = [
        mark(
            "line",
            place,
            [{"x": 0, "y": 100 * part}, {"x": END, "y": END + 100 * part}],
            color="var(--quiet)",
            strokeDash=[1, 0] if part == 0 else [4, 3],
            strokeWidth=1,
            clip=True,
        )
        for part in (-NEAR, 0, NEAR)
    ]
    near = sum(of.near(engine) for of in rows)
    drawn.append(mark("point", place, points, color=hue, filled=True, size=26, opacity=0.7))
    drawn.append(head(f"{name}: {near} of {len(rows)}", INK, bold=True))
    return layers(drawn, SIDE, SIDE)


def _share(depth: float, of: Compared) -> float:
    return tidy(100 * depth / of.row.buffer)

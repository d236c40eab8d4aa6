"""Small charts in rows of four, one for each controller, so that none hides another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairhaul.figures.charts import INK, Curve, Look, Scale, head
from fairhaul.figures.charts.vega import Row, Spec, column, horizontal, layers, mark, vertical

COLUMNS = 4
WIDTH, HEIGHT, SPACE = 168, 104, 14


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The chart of one controller: its lines over two axes, and rows with an `x` to be marked."""

    name: str
    curves: Sequence[Curve]
    x: Scale
    y: Scale
    marks: Sequence[Row] = ()


def grid(panels: Sequence[Panel], looks: Sequence[Look] = ()) -> Spec:
    """Draw `panels` in rows; above them the names of `looks`, in their colours.

    Numbers of the horizontal axis stand where no panel is below; the axes are called in the last
    row and the first column.
    """
    drawn = [legend(looks)] if looks else []
    for start in range(0, len(panels), COLUMNS):
        row = [
            _panel(
                panel,
                called=(start + COLUMNS >= len(panels), column == 0),
                numbered=start + column + COLUMNS >= len(panels),
            )
            for column, panel in enumerate(panels[start : start + COLUMNS])
        ]
        drawn.append(horizontal(row, spacing=SPACE))
    return vertical(drawn, spacing=SPACE)


def _panel(panel: Panel, *, called: tuple[bool, bool], numbered: bool) -> Spec:
    x, y = _x(panel.x, called=called[0], numbered=numbered), _y(panel.y, called=called[1])
    drawn: list[Spec] = []
    if panel.marks:
        look: Spec = {"color": "var(--line)", "strokeDash": [2, 2]}
        drawn.append(mark("rule", {"x": x("x:Q")}, panel.marks, **look))
    drawn += [
        mark(
            "line",
            {"x": x("x:Q"), "y": y("mean:Q")},
            curve.points,
            color=curve.look.colour,
            strokeDash=list(curve.look.dash),
            strokeWidth=1 if curve.look.thin else 1.8,
            clip=True,
        )
        for curve in panel.curves
    ]
    drawn.append(head(panel.name, INK, bold=True))
    return layers(drawn, WIDTH, HEIGHT)


def _x(scale: Scale, *, called: bool, numbered: bool) -> Callable[[str], Spec]:
    axis = {
        **{"title": scale.title if called else None, "values": list(scale.ticks)},
        **{"format": scale.form, "labels": numbered, "ticks": numbered},
    }
    return lambda name: column(name, axis=axis, scale=scale.law())


def _y(scale: Scale, *, called: bool) -> Callable[[str], Spec]:
    given: Spec = {"values": list(scale.ticks)} if scale.ticks else {"tickCount": 4}
    # The same room for numbers everywhere, so that panels stand below each other.
    room = {"minExtent": 30, "maxExtent": 30}
    axis = {"title": scale.title if called else None, "format": "~s", **room, **given}
    return lambda name: column(name, axis=axis, scale=scale.law())


def legend(looks: Sequence[Look]) -> Spec:
    """Write the names of lines beside each other, each behind a piece of its line."""
    room = COLUMNS * WIDTH
    wide = room // max(len(looks), 1)
    x = column("x:Q", axis=None, scale={"domain": [0, room]})
    drawn = []
    for number, look in enumerate(looks):
        at = number * wide
        line: Spec = {
            **{"color": look.colour, "strokeDash": list(look.dash)},
            **{"strokeWidth": 1 if look.thin else 2.2},
        }
        drawn.append(
            mark("rule", {"x": x, "x2": {"field": "to"}}, [{"x": at, "to": at + 24}], **line)
        )
        name: Spec = {"align": "left", "color": look.colour, "fontWeight": "bold"}
        rows = [{"x": at + 30, "word": look.label}]
        drawn.append(mark("text", {"x": x, "text": column("word:N")}, rows, **name))
    return layers(drawn, room, 16)

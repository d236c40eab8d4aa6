"""Small charts in rows of four, one for each controller, so that none hides another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

from fairhaul.report.charts import Look, Spec, head, spec, values
from fairhaul.report.plots import INK, Curve, Scale

if TYPE_CHECKING:
    from fairhaul.report.charts import Row

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
    drawn: list[Any] = [legend(looks)] if looks else []
    for start in range(0, len(panels), COLUMNS):
        row = [
            _panel(
                panel,
                called=(start + COLUMNS >= len(panels), column == 0),
                numbered=start + column + COLUMNS >= len(panels),
            )
            for column, panel in enumerate(panels[start : start + COLUMNS])
        ]
        drawn.append(alt.hconcat(*row, spacing=SPACE))
    return spec(alt.vconcat(*drawn, spacing=SPACE))


def _panel(panel: Panel, *, called: tuple[bool, bool], numbered: bool) -> Any:
    x, y = _x(panel.x, called=called[0], numbered=numbered), _y(panel.y, called=called[1])
    drawn: list[Any] = []
    if panel.marks:
        rule = alt.Chart(values(panel.marks)).mark_rule(color="var(--line)", strokeDash=[2, 2])
        drawn.append(rule.encode(x=x("x:Q")))
    for curve in panel.curves:
        look = curve.look
        line = alt.Chart(values(curve.points)).mark_line(
            color=look.colour,
            strokeDash=list(look.dash),
            strokeWidth=1 if look.thin else 1.8,
            clip=True,
        )
        drawn.append(line.encode(x=x("x:Q"), y=y("mean:Q")))
    drawn.append(head(panel.name, INK, bold=True))
    return alt.layer(*drawn).properties(width=WIDTH, height=HEIGHT)


def _x(scale: Scale, *, called: bool, numbered: bool) -> Callable[[str], alt.X]:
    axis = alt.Axis(
        title=scale.title if called else None,
        values=list(scale.ticks),
        format=scale.form,
        labels=numbered,
        ticks=numbered,
    )
    return lambda field: alt.X(field, axis=axis, scale=_law(scale))


def _y(scale: Scale, *, called: bool) -> Callable[[str], alt.Y]:
    given: Mapping[str, Any] = {"values": list(scale.ticks)} if scale.ticks else {"tickCount": 4}
    # The same room for numbers everywhere, so that panels stand below each other.
    axis = alt.Axis(
        title=scale.title if called else None, format="~s", minExtent=30, maxExtent=30, **given
    )
    return lambda field: alt.Y(field, axis=axis, scale=_law(scale))


def _law(scale: Scale) -> alt.Scale:
    ends = [scale.low, scale.high]
    return alt.Scale(type="log" if scale.log else "linear", domain=ends, nice=False, zero=False)


def legend(looks: Sequence[Look]) -> Any:
    """Write the names of lines beside each other, each behind a piece of its line."""
    wide = (COLUMNS * WIDTH) // max(len(looks), 1)
    drawn = []
    for number, look in enumerate(looks):
        at = number * wide
        line = alt.Chart(values([{"x": at, "to": at + 24}])).mark_rule(
            color=look.colour, strokeDash=list(look.dash), strokeWidth=1 if look.thin else 2.2
        )
        place = {"x": alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, COLUMNS * WIDTH]))}
        drawn.append(line.encode(**place, x2="to:Q"))
        text = alt.Chart(values([{"x": at + 30, "word": look.label}])).mark_text(
            align="left", color=look.colour, fontWeight="bold"
        )
        drawn.append(text.encode(**place, text="word:N"))
    return alt.layer(*drawn).properties(width=COLUMNS * WIDTH, height=16)

"""Charts of one quantity against another, and of how values are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairhaul.figures.charts.axes import Scale
from fairhaul.figures.charts.parts import HEIGHT, INK, LABEL_GAP, WIDTH, Look, labels, tip
from fairhaul.figures.charts.vega import Row, Spec, column, layers, mark

SQUARE = 420
BOX = 12


def path(rows: Sequence[Row], x: Scale, y: Scale, colour: str) -> Spec:
    """Draw the way of a point over time: rows of `t`, `x` and `y`, in a square.

    The diagonal is where both are equal; the first point is open and the last one is full.
    """
    place = {"x": x.of("x:Q"), "y": y.of("y:Q")}
    tips = [tip("t:Q", "time (s)", ".4~g"), tip("x:Q", x.title), tip("y:Q", y.title)]
    equal = [{"x": end, "y": end} for end in (x.low, x.high)]
    ends: Spec = {"size": 90, "color": colour, "opacity": 1, "strokeWidth": 2}
    parts = [
        mark("line", place, equal, color="var(--quiet)", strokeDash=[4, 3], strokeWidth=1),
        mark(
            "line",
            {**place, "order": column("t:Q")},
            color=colour,
            strokeWidth=1.2,
            opacity=0.8,
        ),
        mark("point", {**place, "tooltip": tips}, color=colour, filled=True, size=14, opacity=0.5),
        mark("point", place, rows[:1], fill="var(--paper)", **ends),
        mark("point", place, rows[-1:], filled=True, **ends),
    ]
    return {**layers(parts, SQUARE, SQUARE, rows), "usermeta": {"square": True}}


def cloud(clouds: Sequence[tuple[Look, Sequence[Row]]], x: Scale, y: Scale) -> Spec:
    """Draw points of `x`, `y` and `of`, what a point is called; a colour for each look.

    Names stand at the right, in the order of the last points.
    """
    tips = [column("of:N", title=""), tip("x:Q", x.title), tip("y:Q", y.title)]
    place = {"x": x.of("x:Q"), "y": y.of("y:Q"), "tooltip": tips}
    parts = [
        mark(
            "point",
            place,
            rows,
            **{"color": look.colour, "shape": look.shape},
            filled=True,
            size=55,
            opacity=0.75,
        )
        for look, rows in clouds
    ]
    named = [(look, rows) for look, rows in clouds if look.label]
    at = [HEIGHT * (1 - y.place(float(rows[-1]["y"]))) for _, rows in named]
    height = max(HEIGHT, LABEL_GAP * len(named))
    return layers([*parts, *labels([look for look, _ in named], at, height)], WIDTH, height)


@dataclass(frozen=True, kw_only=True)
class Box:
    """The values of a case, which are drawn as points over the box of their quartiles."""

    look: Look
    values: Sequence[float]
    quartiles: tuple[float, float, float]


def boxes(cases: Sequence[Box], x: Scale) -> Spec:
    """Draw a box for each case, from the first to the third quartile, with its median.

    The line reaches from the smallest to the largest value.
    """
    names = [case.look.label for case in cases]
    axis = {"title": None, "labelLimit": 190, "labelColor": INK, "grid": False, "ticks": False}
    y = column("row:N", sort=None, scale={"domain": names}, axis=axis)
    parts: list[Spec] = []
    for case in cases:
        low, middle, high = case.quartiles
        whole = {"row": case.look.label, "x": min(case.values), "to": max(case.values)}
        box = {"row": case.look.label, "x": low, "to": high, "median": middle}
        tips = [tip("x:Q", "first quartile"), tip("median:Q", "median"), tip("to:Q", "third")]
        ends = {"x": x.of("x:Q"), "x2": {"field": "to"}, "y": y}
        points = [{"row": case.look.label, "x": value} for value in case.values]
        colour = case.look.colour
        parts += [
            mark("rule", ends, [whole], color=colour, strokeWidth=1.4),
            mark(
                "bar",
                {**ends, "tooltip": tips},
                [box],
                color="var(--paper)",
                stroke=colour,
                height=BOX,
            ),
            mark(
                "tick",
                {"x": x.of("median:Q"), "y": y},
                [box],
                color=colour,
                thickness=2.4,
                size=BOX + 2,
            ),
            mark("point", {"x": x.of("x:Q"), "y": y}, points, color=colour, size=16, opacity=0.6),
        ]
    return layers(parts, WIDTH, 30 * len(cases))


def distributions(cases: Sequence[tuple[Look, Sequence[float]]], x: Scale) -> Spec:
    """Draw the part of the values of each case that are at most x, as steps with their names."""
    y = Scale(title="Part of the values", low=0, high=1)
    place = {"x": x.of("x:Q"), "y": y.of("y:Q")}
    parts: list[Spec] = []
    for place_of_name, (look, values) in enumerate(cases, start=1):
        ordered = sorted(values)
        rows = [{"x": x.low, "y": 0.0}]
        rows += [{"x": v, "y": (k + 1) / len(ordered)} for k, v in enumerate(ordered)]
        rows.append({"x": x.high, "y": 1.0})
        parts.append(
            mark(
                "line",
                place,
                rows,
                interpolate="step-after",
                color=look.colour,
                strokeDash=list(look.dash),
                strokeWidth=2,
            )
        )
        # All lines end at 1, so each has its name at its own height.
        height = place_of_name / (len(cases) + 1)
        name = {"x": ordered[int(height * len(ordered))], "y": height, "word": look.label}
        written = {**place, "text": column("word:N")}
        parts.append(
            mark("text", written, [name], color=look.colour, align="left", dx=7, fontWeight="bold")
        )
    return layers(parts, WIDTH, HEIGHT)

"""What charts share: lines' looks, the axis of time, labels, and what the pointer shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairhaul.figures.charts.vega import Row, Spec, column, mark, words
from fairhaul.figures.look import case_colour, colour, dash, shape

WIDTH = 740
HEIGHT = 320
LABEL_GAP = 15
TIME = "Time (s)"
INK = "var(--ink)"
MEASURED = "measured from here"
# The width of a letter at most, and the part of its width that a chart has on a page of 400 pixels.
LETTER, NARROW = 7, 0.34
# Where texts stand above a chart, and above these texts.
ABOVE, HIGHER = -9, -24


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a line is called and how it is drawn."""

    label: str
    colour: str
    dash: Sequence[int] = (1, 0)
    thin: bool = False
    shape: str = "circle"


def looks(labels: Iterable[str]) -> list[Look]:
    """Give flows a colour each, dashes and a shape of points."""
    return [flow_look(label, i) for i, label in enumerate(labels)]


def flow_look(label: str, index: int) -> Look:
    """Give the look of the flow `index`."""
    return Look(label=label, colour=colour(index), dash=dash(index), shape=shape(index))


def case_looks(labels: Iterable[str]) -> list[Look]:
    """Give cases or controllers the colours that no flow has, dashes and a shape of points."""
    return [
        Look(label=label, colour=case_colour(i), dash=dash(i), shape=shape(i + 1))
        for i, label in enumerate(labels)
    ]


@dataclass(frozen=True, kw_only=True)
class Span:
    """The time of a run, and how much of it is warm-up, seconds."""

    end_s: float
    warmup_s: float

    def axis(self, *, shown: bool = True) -> Spec:
        """Give the axis of time."""
        axis = {"tickCount": 8, "labels": shown, "ticks": shown, "title": TIME if shown else None}
        return column("t:Q", axis=axis, scale={"domain": [0, self.end_s], "nice": False})

    def shade(self) -> list[Spec]:
        """Shade the warm-up; nothing where there is none."""
        if self.warmup_s <= 0:
            return []
        ends = {"x": column("from:Q"), "x2": {"field": "t"}}
        return [mark("rect", ends, [{"from": 0, "t": self.warmup_s}], color="var(--shade)")]

    def note(self, left: str = "", right: str = "") -> list[Spec]:
        """Say above the chart where the measured time begins.

        `left` and `right` are the texts that stand above the chart already: it stands beside them,
        or above them if there is no room.
        """
        if self.warmup_s <= 0:
            return []
        place = {"x": column("t:Q"), "text": column("word:N")}
        room, length = NARROW * WIDTH, LETTER * len(MEASURED)
        at = room * self.warmup_s / self.end_s
        beside = LETTER * len(left) < at < room - length - LETTER * len(right)
        is_late = at > room - length
        look: Spec = {
            "align": "right" if is_late else "left",
            "dx": -5 if is_late else 5,
            "y": ABOVE if beside else HIGHER,
            "fontSize": 11,
        }
        return [
            mark(
                "text", place, [{"t": self.warmup_s, "word": MEASURED}], **look, color="var(--soft)"
            )
        ]


def over_lines(place: Spec, rows: Sequence[Row], look: Spec) -> list[Spec]:
    """Write texts that can be read over lines: each has an edge in the colour of the page."""
    edge: Spec = {"color": "var(--paper)", "stroke": "var(--paper)", "strokeWidth": 4}
    return [
        mark("text", place, rows, **look, **edge),
        mark("text", place, rows, **look, color="var(--soft)"),
    ]


def limits(values: Sequence[tuple[float, str]], *, across: bool = False) -> list[Spec]:
    """Draw a dashed rule at each value, with its label; `across` along a horizontal axis."""
    if not values:
        return []
    rows = [{"limit": value, "word": label} for value, label in values]
    at = "x" if across else "y"
    rule = mark("rule", {at: column("limit:Q")}, rows, color="var(--soft)", strokeDash=[4, 3])
    place = {at: column("limit:Q"), "text": column("word:N")}
    rows = [row for row in rows if row["word"]]
    if not rows:
        return [rule]
    if across:
        return [rule, mark("text", place, rows, color="var(--soft)", fontSize=11, y=-7)]
    look: Spec = {"align": "right", "baseline": "bottom", "dx": -3, "dy": -3, "fontSize": 11}
    return [rule, *over_lines({"x": {"value": "width"}, **place}, rows, look)]


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


def labels(looks: Sequence[Look], at: Sequence[float], height: int) -> list[Spec]:
    """Write the names of lines behind their ends, moved apart where they would overlap."""
    place = {"x": {"value": "width"}}
    return [
        words(look.label, place, align="left", dx=8, y=y, color=look.colour, fontWeight="bold")
        for look, y in zip(looks, spread_out(at, LABEL_GAP, height), strict=True)
    ]


def spread_out(at: Sequence[float], gap: float, end: float) -> list[float]:
    """Move places in [0, `end`] until two neighbours are `gap` apart, in their order."""
    order = sorted(range(len(at)), key=lambda i: at[i])
    positions = [min(max(at[i], 0.0), end) for i in order]
    for i in range(1, len(positions)):
        positions[i] = max(positions[i], positions[i - 1] + gap)
    limit = max(end, gap * (len(positions) - 1))
    for i in reversed(range(len(positions))):
        positions[i] = min(positions[i], limit - gap * (len(positions) - 1 - i))
    return [positions[order.index(i)] for i in range(len(at))]


def tip(of: str, title: str, form: str = ",.4~g") -> Spec:
    """Give a line of what the pointer shows: a number and its title."""
    return column(of, title=title, format=form)


def tips_of(looks: Sequence[Look]) -> list[Spec]:
    """Give what the pointer shows over time: the time, and the value of each of `looks`."""
    each = [tip(f"v{i}:Q", look.label) for i, look in enumerate(looks)]
    return [tip("t:Q", "time (s)", ".4~g"), *each]


def filling(colour: str) -> Spec:
    """Fill points with a colour, and draw only the outline of those whose row is `hollow`."""
    hollow = {"test": "datum.hollow", "value": "var(--paper)"}
    return {"stroke": {"value": colour}, "fill": {"condition": hollow, "value": colour}}


def estimate_tips(first: Sequence[tuple[str, str]]) -> list[Spec]:
    """Give what the pointer shows of an estimate: `first`, then its mean and its interval."""
    interval = [("mean:Q", "mean"), ("low:Q", "interval from"), ("high:Q", "to")]
    return [
        column(called, title=title, format=".4~g" if called.endswith("Q") else "")
        for called, title in [*first, *interval]
    ]

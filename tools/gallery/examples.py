"""The example scenarios: a small figure of each, for the page that lists them.

A scenario without a sweep shows the goodput of its flows over time. A sweep of one flow shows its
congestion window over time, a line for each variant; a sweep of several flows shows the goodput of
each flow, a bar for each variant, those of one key with words by the share of the first flow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fairhaul.figures import charts
from fairhaul.figures.bins import level, rate, tidy, whole_run
from fairhaul.figures.charts import TIME, Curve, Look, Scale, flow_look, powers
from fairhaul.figures.charts.vega import Row, Spec, column, layers, mark, words
from fairhaul.figures.figures import rates_of
from fairhaul.measures.measures import measure
from fairhaul.text.phrases import value_text
from tools import ROOT
from tools.gallery import Key

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

FOLDER = ROOT / "scenarios" / "examples"
PREFIX = "example-"
QUICK = {"duration": "12 s", "warmup": "2 s"}

WIDTH, HEIGHT = 300, 120
BAR = 14
GOODPUT, WINDOW = "Goodput (Mbit/s)", "cwnd (packets)"
GOODPUT_BINS, WINDOW_BINS = 60, 150
BACKGROUND = "var(--quiet)"
# From this ratio of the largest values of two lines on, their axis is in powers of ten.
FAR = 8


@dataclass(frozen=True, kw_only=True)
class Group:
    """The flows of one group: their name, goodput over time, and goodput after the warm-up."""

    name: str
    measured: bool
    series: Sequence[Row]
    goodput_mbps: float


@dataclass(frozen=True, kw_only=True)
class ExampleRun:
    """What is drawn of a run: the values of its sweep, its groups, its first flow's window."""

    variant: str
    end_s: float
    groups: Sequence[Group]
    window: Sequence[Row]
    marks_mbps: Sequence[float]
    of_words: bool


def names() -> list[str]:
    """Name the example scenarios, by name."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def plan(names: Sequence[str], quick: bool) -> dict[Key, Scenario]:
    """Give a run for each example and each combination of its sweep."""
    from fairhaul.scenario.read import read as read_scenarios

    short = QUICK if quick else {}
    return {
        (name, str(number)): scenario
        for name in names
        for number, scenario in enumerate(read_scenarios(FOLDER / f"{name}.toml", short))
    }


def read(record: Record) -> ExampleRun:
    """Keep what is drawn."""
    scenario = record.meta["scenario"]
    flows = measure(record)["flows"]
    rows = whole_run(record.flow_series, len(flows), scenario)
    goodput = rate(rows, "goodput_bytes", GOODPUT_BINS)
    window = level(rows, "cwnd_packets", WINDOW_BINS)
    members: dict[str, list[int]] = {}
    for number, flow in enumerate(flows):
        members.setdefault(flow["group"], []).append(number)
    groups = [
        Group(
            name=flows[each[0]]["name"].partition("[")[0],
            measured=flows[each[0]]["role"] == "measured",
            series=_rows(goodput.middle_s, goodput.mean[each].sum(axis=0) * 8e-6),
            goodput_mbps=tidy(sum(flows[i]["goodput_bps"] for i in each) * 1e-6),
        )
        for each in members.values()
    ]
    return ExampleRun(
        variant=", ".join(_setting(*pair) for pair in record.meta["variant"].items()),
        end_s=scenario["duration_s"],
        groups=groups,
        window=_rows(window.middle_s, window.mean[0]),
        marks_mbps=[tidy(value * 1e-6) for value, _ in rates_of(scenario, math.inf)],
        of_words=[*map(_is_word, record.meta["variant"].values())] == [True],
    )


def _rows(times_s: Any, values: Any) -> list[Row]:
    return [{"x": tidy(t), "mean": tidy(v)} for t, v in zip(times_s, values, strict=True)]


def _setting(key: str, value: object) -> str:
    """Write a value of a sweep: a word alone, a number with the name of its key."""
    name = key.rpartition(".")[2]
    if isinstance(value, bool):
        return name if value else f"no {name}"
    return value_text(value) if _is_word(value) else f"{name} {value}"


def _is_word(value: object) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, str) and value[:1].isalpha())


def draw(names: Sequence[str], runs: Mapping[Key, ExampleRun]) -> dict[str, Spec]:
    """Draw a figure for each example."""
    return {
        PREFIX + name: _one([run for key, run in runs.items() if key[0] == name]) for name in names
    }


def _one(runs: Sequence[ExampleRun]) -> Spec:
    if len(runs) == 1:
        return _over_time(runs[0])
    if len(runs[0].groups) == 1:
        return _windows(runs)
    return _bars(runs)


def _looks(groups: Sequence[Group]) -> dict[str, Look]:
    """Give each name of a flow its colour: flows of one name share it, the background is grey."""
    looks: dict[str, Look] = {}
    for group in groups:
        background = Look(label=group.name, colour=BACKGROUND, thin=True)
        look = flow_look(group.name, len(looks)) if group.measured else background
        looks.setdefault(group.name, look)
    return looks


def _over_time(run: ExampleRun) -> Spec:
    looks = _looks(run.groups)
    curves = [Curve(look=looks[group.name], points=group.series) for group in run.groups]
    return _lines(curves, run.end_s, GOODPUT)


def _windows(runs: Sequence[ExampleRun]) -> Spec:
    curves = [
        Curve(look=flow_look(run.variant, i), points=run.window) for i, run in enumerate(runs)
    ]
    return _lines(curves, runs[0].end_s, WINDOW)


def _lines(curves: Sequence[Curve], end_s: float, title: str) -> Spec:
    """Draw lines over time; lines of one name are named once, where they end on average."""
    top = 1.06 * max(float(row["mean"]) for curve in curves for row in curve.points)
    x = Scale(title=TIME, low=0, high=end_s)
    y = Scale(title=title, low=0, high=top)
    tops = [max(float(row["mean"]) for row in curve.points) for curve in curves]
    if max(tops) > FAR * min(tops) > 0:  # on a linear axis some lines would lie on zero
        known = [float(row["mean"]) for curve in curves for row in curve.points]
        y = powers(title, [value for value in known if value >= 1])
        curves = [replace(curve, points=_positive(curve.points, y.low)) for curve in curves]
    ends: dict[str, list[float]] = {}
    for curve in curves:
        last = y.place(float(curve.points[-1]["mean"]))
        ends.setdefault(curve.look.label, []).append(last)
    looks = {curve.look.label: curve.look for curve in curves}
    at = [HEIGHT * (1 - sum(of) / len(of)) for of in ends.values()]
    drawn = [charts.line(curve, x, y) for curve in curves]
    return layers([*drawn, *charts.labels(list(looks.values()), at, HEIGHT)], WIDTH, HEIGHT)


def _positive(rows: Sequence[Row], low: float) -> list[Row]:
    return [{**row, "mean": max(float(row["mean"]), low)} for row in rows]


def _bars(runs: Sequence[ExampleRun]) -> Spec:
    """Draw what each group got, one behind the other, in a bar for each run."""
    rows: list[Row] = []
    if runs[0].of_words:
        runs = sorted(runs, key=lambda run: -run.groups[0].goodput_mbps)
    for run in runs:
        end = 0.0
        for group in run.groups:
            start, end = end, end + group.goodput_mbps
            rows.append(
                {"row": run.variant, "of": group.name, "from": tidy(start), "to": tidy(end)}
            )
    looks = _looks(runs[0].groups)
    marks = runs[0].marks_mbps if all(run.marks_mbps == runs[0].marks_mbps for run in runs) else []
    top = 1.02 * max([*(row["to"] for row in rows), *marks])
    words_of_marks = "; dashed: link, fair share" if len(marks) > 1 else "; dashed: link"
    x = Scale(title=GOODPUT + (words_of_marks if marks else ""), low=0, high=top)
    hues = {"domain": list(looks), "range": [look.colour for look in looks.values()]}
    lane = column("row:N", sort=None, axis={"title": None, "labelLimit": 230})
    place: Spec = {
        **{"y": lane, "x": x.of("from:Q"), "x2": {"field": "to"}},
        "color": column("of:N", scale=hues, legend=None),
    }
    parts = [mark("bar", place, fillOpacity=0.85, stroke="var(--paper)", strokeWidth=1)]
    parts += charts.limits([(value, "") for value in marks], across=True)
    room = WIDTH / len(looks)
    parts += [
        words(
            look.label,
            {"x": {"value": round(room * number)}},
            align="left",
            baseline="bottom",
            y=-5,
            color=look.colour,
            fontWeight="bold",
        )
        for number, look in enumerate(looks.values())
    ]
    return layers(parts, WIDTH, BAR * len(runs), rows)

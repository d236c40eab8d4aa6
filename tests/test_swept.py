"""Figures of sweeps: which lines, panels and axes are drawn, and what a reader may choose."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from itertools import product
from typing import Any

import pytest

import fairhaul
from fairhaul.figures.axes import axis_of
from fairhaul.figures.figure import Figure
from fairhaul.figures.swept import View, chart, figures
from fairhaul.measures.types import RunFigures
from fairhaul.results.table import Row, rows_of
from tests.conftest import SMALL

BUFFERS = [f"{buffer} bdp" for buffer in (0.25, 0.5, 1, 2, 4, 8)]
CONTROLLERS = ["reno", "cubic", "bic", "fhstcp"]
RTTS = [f"{rtt} ms" for rtt in (10, 20, 40, 80, 160)]


@pytest.fixture(scope="module")
def run() -> RunFigures:
    return fairhaul.run(SMALL, {"duration": "6 s", "warmup": "1 s"}).measures[0]


def table_of(run: RunFigures, keys: Mapping[str, Sequence[Any]], seeds: int = 1) -> list[Row]:
    """Give a row for each combination of values, whose numbers are those of one run."""
    each: list[list[RunFigures]] = []
    for values in product(*keys.values()):
        variant = dict(zip(keys, values, strict=True))
        each.append([])
        for seed in range(1, seeds + 1):
            made: Any = deepcopy(run)
            made |= {"variant": variant, "seed": seed}
            each[-1].append(made)
    return rows_of(each)


@pytest.fixture(scope="module")
def three(run: RunFigures) -> list[Row]:
    keys = {"bottleneck.queue.capacity": BUFFERS, "flow.*.controller": CONTROLLERS}
    return table_of(run, {**keys, "flow.far.rtt": RTTS})


def panels_of(figure: Figure) -> dict[str, list[str]]:
    """Give the names of the lines of each panel, by the name above it."""
    panels = {}
    for panel in figure.chart.get("concat") or figure.chart["hconcat"]:
        texts = [
            (layer["mark"].get("baseline"), layer["data"]["values"][0]["word"])
            for layer in panel["layer"]
            if layer["mark"]["type"] == "text"
        ]
        (head,) = (word for baseline, word in texts if baseline == "bottom")
        panels[head] = [word for baseline, word in texts if baseline != "bottom"]
    return panels


def test_of_three_keys_every_controller_has_a_line_in_every_panel(three: list[Row]) -> None:
    drawn = {figure.name: figure for figure in figures(three)}
    found = panels_of(drawn["jain"])
    assert list(found) == [f"rtt {rtt}" for rtt in RTTS]
    assert all(lines == CONTROLLERS for lines in found.values())
    assert drawn["jain"].title == "Jain's index, by capacity"
    # Of the panels of shares there are too many: every controller is drawn, and the extremes.
    cases = panels_of(drawn["share"])
    assert drawn["share"].title.endswith(": 12 of 20 cases")
    assert len(cases) == 12
    for controller in CONTROLLERS:
        assert f"{controller}, rtt 10 ms" in cases
        assert f"{controller}, rtt 160 ms" in cases


def test_a_reader_chooses_the_axis_the_figure_and_the_panels(three: list[Row]) -> None:
    (figure, *_) = figures(three, View(x="rtt", y="near.goodput_bps", facet="capacity"))
    assert figure.title == "Goodput of near (Mbit/s), by rtt"
    found = panels_of(figure)
    assert list(found) == [f"capacity {buffer}" for buffer in BUFFERS]
    assert all(lines == CONTROLLERS for lines in found.values())
    assert "rtt (ms)" in json.dumps(figure.chart)
    by_controller = chart(three, "jain", x=None, facet="flow.*.controller").figure
    assert list(panels_of(by_controller)) == CONTROLLERS
    assert chart(three, "goodput_bps", x="rtt", facet=None).title == (
        "Goodput (Mbit/s), by rtt: 12 of 24 cases"
    )


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (View(x="capacty"), "x: 'capacty' is not a swept key; did you mean 'capacity'"),
        (View(facet="controler"), "facet: 'controler' is not a swept key; did you mean 'cont"),
        (View(y="jian"), "unknown figure 'jian'; did you mean 'jain'"),
        (View(y="near.shares"), "did you mean 'near.share'"),
        (View(x="controller"), "x: controller has no numbers; choose from capacity, rtt"),
        (View(x="rtt", facet="rtt"), "x and facet are both rtt"),
    ],
)
def test_a_wrong_word_of_a_view_gets_the_nearest(
    three: list[Row], view: View, message: str
) -> None:
    with pytest.raises(fairhaul.ScenarioError, match=message.replace("*", r"\*")):
        figures(three, view)


def test_two_numbers_are_a_map_for_each_value_of_the_other_keys(three: list[Row]) -> None:
    drawn = {figure.name: figure for figure in figures(three)}
    maps = drawn["jain-map"].chart["concat"]
    assert [view["layer"][-1]["data"]["values"][0]["word"] for view in maps] == CONTROLLERS
    assert all(len(view["data"]["values"]) == len(BUFFERS) * len(RTTS) for view in maps)
    assert drawn["jain-map"].title == "Jain's index, by capacity and rtt"


def test_swept_values_are_the_ticks_of_their_axis() -> None:
    scale = axis_of("queue", "capacity", BUFFERS).scale()
    assert (scale.log, list(scale.ticks)) == (True, [0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
    two = axis_of("queue", "capacity", ["0.25 bdp", "1 bdp"]).scale()
    assert (two.log, list(two.ticks)) == (True, [0.25, 1.0])
    even = axis_of("delay", "delay", ["10 ms", "20 ms", "30 ms", "40 ms"]).scale()
    assert (even.log, list(even.ticks)) == (False, [10.0, 20.0, 30.0, 40.0])
    zero = axis_of("loss", "loss", [0, 1e-6, 1e-4]).scale()
    assert (zero.linear_to, list(zero.ticks)) == (1e-6, [0.0, 1e-6, 1e-4])


def test_a_colour_is_that_of_a_flow_or_of_a_case(three: list[Row]) -> None:
    def colours(figure: Figure) -> set[str]:
        lines = [
            layer["mark"]["color"]
            for view in figure.chart["concat"]
            for layer in view["layer"]
            if layer["mark"]["type"] == "line"
        ]
        return set(lines)

    drawn = {figure.name: figure for figure in figures(three)}
    assert colours(drawn["share"]) == {"var(--c1)", "var(--c2)"}
    assert colours(drawn["jain"]) == {f"var(--k{number})" for number in (1, 2, 3, 4)}

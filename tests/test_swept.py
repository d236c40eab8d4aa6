"""Figures of sweeps: which lines, panels and axes are drawn, and what a reader may choose."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import fairhaul
from fairhaul.figures.axes import axis_of
from fairhaul.figures.figure import Figure
from fairhaul.figures.swept import answering, chart, figures
from fairhaul.figures.view import View
from fairhaul.measures.types import RunFigures
from fairhaul.results.columns import DRAWN
from fairhaul.results.table import OF_ALL, OF_FLOWS, OF_LINKS, OF_ONE, Row, rows_of
from fairhaul.studies.sweep.findings import findings
from tests.conftest import SMALL, Fairhaul
from tests.test_sweep import SWEEP

BUFFERS = [f"{buffer} bdp" for buffer in (0.25, 0.5, 1, 2, 4, 8)]
CONTROLLERS = ["reno", "cubic", "bic", "fhstcp"]
RTTS = [f"{rtt} ms" for rtt in (10, 20, 40, 80, 160)]


@pytest.fixture(scope="module")
def run() -> RunFigures:
    return fairhaul.run(SMALL, {"duration": "6 s", "warmup": "1 s"}).measures[0]


def table_of(
    run: RunFigures,
    keys: Mapping[str, Sequence[Any]],
    seeds: int = 1,
    jain: Callable[[Mapping[str, Any], int], float] = lambda _, __: 0.9,
) -> list[Row]:
    """Give a row for each combination of values, whose numbers are those of one run but `jain`."""
    each: list[list[RunFigures]] = []
    for values in product(*keys.values()):
        variant = dict(zip(keys, values, strict=True))
        each.append([])
        for seed in range(1, seeds + 1):
            made: Any = deepcopy(run)
            made |= {"variant": variant, "seed": seed, "stationary": True}
            made["fairness"]["jain"] = jain(variant, seed)
            each[-1].append(made)
    return rows_of(each)


@pytest.fixture(scope="module")
def three(run: RunFigures) -> list[Row]:
    keys = {"bottleneck.queue.capacity": BUFFERS, "flow.*.controller": CONTROLLERS}
    return table_of(run, {**keys, "flow.far.rtt": RTTS})


def views(figure: Figure) -> list[dict[str, Any]]:
    """Give the panels of a figure, which stand in rows."""
    rows = figure.chart.get("vconcat", [figure.chart])
    return [view for row in rows for view in row["hconcat"]]


def panels_of(figure: Figure) -> dict[str, list[str]]:
    """Give the names of the lines of each panel, by the name above it."""
    panels = {}
    for panel in views(figure):
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


def test_of_many_numbers_the_title_says_how_many_lines_are_drawn(run: RunFigures) -> None:
    rates = [f"{rate} ms" for rate in range(10, 30)]
    table = table_of(run, {"flow.far.rtt": rates, "flow.near.rtt": [*rates, "30 ms"]})
    drawn = {figure.name: figure for figure in figures(table)}
    assert drawn["jain"].title == "Jain's index, by near.rtt: 8 of 20 lines"
    assert drawn["share"].title.endswith(": 12 of 20 cases")
    text = json.dumps(drawn["jain"].chart)
    assert "far.rtt 10 ms" in text
    assert "far.rtt 29 ms" in text


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
    maps = views(drawn["jain-map"])
    assert [view["layer"][-1]["data"]["values"][0]["word"] for view in maps] == CONTROLLERS
    assert all(len(view["data"]["values"]) == len(BUFFERS) * len(RTTS) for view in maps)
    assert drawn["jain-map"].title == "Jain's index, by capacity and rtt"


def test_every_column_of_the_table_can_be_drawn() -> None:
    assert {*OF_FLOWS, *OF_ONE, *OF_LINKS, *OF_ALL} == set(DRAWN)


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
            for view in views(figure)
            for layer in view["layer"]
            if layer["mark"]["type"] == "line"
        ]
        return set(lines)

    drawn = {figure.name: figure for figure in figures(three)}
    assert colours(drawn["share"]) == {"var(--c1)", "var(--c2)"}
    assert colours(drawn["jain"]) == {f"var(--k{number})" for number in (1, 2, 3, 4)}


TWO = {"bottleneck.queue.capacity": BUFFERS, "flow.*.controller": ["cubic", "fhstcp"]}


def fairer_where_small(setting: Mapping[str, Any], seed: int) -> float:
    """An index with much noise, which is that of the seed; fhstcp adds to it in small buffers."""
    small = BUFFERS.index(setting["bottleneck.queue.capacity"]) < 3
    more = {(True, "fhstcp"): 0.1, (False, "fhstcp"): -0.001}
    own = more.get((small, setting["flow.*.controller"]), 0.0)
    return 0.7 + own + 0.03 * (seed % 5) + 0.0005 * ((seed * len(str(setting))) % 7)


def test_a_sweep_says_which_controller_is_fairer_at_how_many_points(run: RunFigures) -> None:
    # Between seeds it differs by 0.12, between the runs of one seed by 0.1 and little noise.
    table = table_of(run, TWO, 10, fairer_where_small)
    _, found = findings(table, None)
    assert found == (
        "fhstcp is fairer than cubic at 3 of 6 points; the runs cannot tell at 3 "
        "(on average 0.811 and 0.761)."
    )
    few = findings(table_of(run, TWO, 4, fairer_where_small), None)
    assert few == ["Whether points differ beyond chance requires at least 5 seeds."]


def test_the_figure_that_a_reader_chose_is_the_one_that_is_compared(run: RunFigures) -> None:
    def cubic_has_more(setting: Mapping[str, Any], seed: int) -> float:
        more = 0.1 if setting["flow.*.controller"] == "cubic" else 0.0
        return 0.8 + more + 0.001 * seed

    table = table_of(run, TWO, 5, cubic_has_more)
    for row in table:
        for of in row.runs:
            of["flows"][0]["goodput_bps"] = 1e6 * float(of["fairness"]["jain"] or 0)
    assert findings(table, "near.goodput_bps")[0] == (
        "With cubic the goodput of near is larger than with fhstcp at 6 of 6 points "
        "(on average 0.903 and 0.803 Mbit/s)."
    )


def test_points_that_are_too_short_are_not_compared(run: RunFigures) -> None:
    table = table_of(run, TWO, 10, fairer_where_small)
    for row in table[:2]:
        row.runs[0]["stationary"] = False
    assert "at 2 of 5 stationary points" in findings(table, None)[-1]


def test_a_sweep_says_where_a_controller_is_fairer(run: RunFigures) -> None:
    keys = {**TWO, "flow.far.rtt": [f"{rtt} ms" for rtt in range(10, 90, 10)]}
    found = findings(table_of(run, keys, 6, fairer_where_small), None)
    assert (
        "fhstcp is fairer than cubic at 24 of 48 points, mostly where capacity below 2 bdp"
        in (found[1])
    )


def test_a_wrong_view_is_refused_before_any_run(fairhaul: Fairhaul, tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(SWEEP)
    for option, word, meant in (
        ("--x", "capcity", "capacity"),
        ("--facet", "contoller", "controller"),
        ("--y", "goodputs_bps", "goodput_bps"),
    ):
        done = fairhaul("sweep", file, option, word)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"did you mean '{meant}'?" in done.stderr
    assert not (tmp_path / "out").exists() or not [*(tmp_path / "out").rglob("*.parquet")]
    assert fairhaul("sweep", file, "--seeds", "1", "--y", "ours.goodput_bps").returncode == 0
    wrong = fairhaul("report", "out/two", "--y", "our.goodput_bps")
    assert (wrong.returncode, "did you mean 'ours.goodput_bps'?" in wrong.stderr) == (2, True)
    assert fairhaul("report", "out/two", "--y", "share", "--facet", "controller").returncode == 0
    assert "Share of all goodput (%), by capacity" in (tmp_path / "out/two/report.html").read_text()


def test_what_the_answer_is_about_comes_first_and_the_rest_is_folded(three: list[Row]) -> None:
    drawn = figures(three)
    assert [figure.name for figure in answering(drawn)] == ["jain", "jain-map"]
    two = figures(three[:5] + three[20:25])
    assert [figure.name for figure in answering(two)] == ["share", "jain"]

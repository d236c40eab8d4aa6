"""What results are in Python: frames, charts, and what a notebook shows of them."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

import fairhaul
from fairhaul.figures.axes import axes
from fairhaul.figures.swept import figures
from fairhaul.measures.harm import harm
from fairhaul.results.table import Row, rows_of
from fairhaul.runs import progress as notebook
from fairhaul.runs.run_pool import Progress
from tests.test_sweep import SWEEP

ONE = SWEEP.partition("[sweep]")[0]


@pytest.fixture(scope="module")
def answers() -> fairhaul.Answers:
    return fairhaul.run_many(fairhaul.read(SWEEP), seeds=2)


def test_frames_are_tidy(answers: fairhaul.Answers) -> None:
    frame = answers.frame()
    assert frame.height == 6 * 2 * 2, "points, seeds, flows"
    assert frame.columns[:2] == ["bottleneck.queue.capacity", "flow.ours.controller"]
    assert set(frame["name"]) == {"ours", "theirs"}
    assert answers[0].frame().height == 4
    assert float(answers[0].frame()["share"].sum()) == pytest.approx(2.0)


def test_a_sweep_is_curves_over_its_number(answers: fairhaul.Answers) -> None:
    table = rows_of([answer.measures for answer in answers])
    assert [axis.numbers for axis in axes(table)] == [[0.5, 1.0, 2.0], None]
    assert axes(table)[0].title == "capacity (bdp)"
    assert axes(table)[0].is_logarithmic
    drawn = {figure.name: figure for figure in figures(table)}
    assert list(drawn)[:2] == ["share", "jain"]
    assert "bands reach from the smallest" in drawn["jain"].caption
    assert answers.chart("jain").title == "Jain's index, by capacity"
    with pytest.raises(fairhaul.ScenarioError, match="did you mean 'jain'"):
        answers.chart("jian")


@pytest.mark.parametrize(
    ("sweep", "names"),
    [
        ('"flow.ours.controller" = ["cubic", "reno"]', ["points"]),
        (
            '"bottleneck.queue.capacity" = { from = "0.5 bdp", to = "2 bdp", points = 3 }\n'
            '"flow.ours.rtt" = ["20 ms", "30 ms", "50 ms"]',
            ["share", "jain", "jain-map", "bottleneck-utilization"],
        ),
        (
            'points = 5\n"bottleneck.queue.capacity" = { from = "0.5 bdp", to = "2 bdp" }\n'
            '"flow.ours.rtt" = { from = "20 ms", to = "60 ms" }',
            ["jain", "bottleneck-utilization", "bottleneck-queue-mean-s"],
        ),
    ],
)
def test_each_kind_of_sweep_has_its_figure(sweep: str, names: list[str]) -> None:
    answers = fairhaul.run_many(fairhaul.read(f"{ONE}[sweep]\n{sweep}\n"))
    table = rows_of([answer.measures for answer in answers])
    found = [figure.name for figure in figures(table)]
    for name in found:
        assert answers.chart(name)._repr_svg_().startswith("<svg")
    assert found[: len(names)] == names
    assert ("jain-map" in found) == (len(axes(table)) == 2 and "points = 5" not in sweep)


def test_charts_are_saved_by_their_ending(tmp_path: Path) -> None:
    answer = fairhaul.run(ONE)
    chart = answer.chart("cwnd")
    for ending in ("svg", "png", "pdf"):
        assert chart.save(tmp_path / f"c.{ending}").stat().st_size > 1000
    assert "var(--" not in (tmp_path / "c.svg").read_text()
    with pytest.raises(fairhaul.ScenarioError, match="must end with"):
        chart.save(tmp_path / "c.jpg")


def test_a_notebook_shows_tables(answers: fairhaul.Answers) -> None:
    for shown, words in (
        (answers[0]._repr_html_(), ["got the most", "ours", "Jain", "bottleneck"]),
        (answers._repr_html_(), ["capacity", "0.5 bdp", "queue ms"]),
        (answers[0].records[0]._repr_html_(), ["flow_series", "cwnd_packets"]),
        (fairhaul.read(ONE)[0]._repr_html_(), ["theirs", "reno", "delay ms"]),
    ):
        assert "<table>" in shown
        for word in words:
            assert word in shown
    crowd = ONE.replace('name = "theirs"', 'name = "theirs"\ncount = 30', 1)
    many = fairhaul.run(crowd, {"duration": "6 s", "warmup": "1 s"})._repr_html_()
    assert "Quantiles of all 31 flows" in many
    assert many.count("<td") < 31 * 9
    hostile = fairhaul.read(ONE.replace("Two flows", "<script>alert(1)</script>"))[0]
    assert "<script>" not in hostile._repr_html_()


def test_progress_is_shown_in_a_notebook_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert notebook.progress() is None
    shell = types.SimpleNamespace(kernel=object())
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    clock = iter([0.0, 0.5, 2.0, 2.1, 9.0])
    monkeypatch.setattr("fairhaul.runs.progress.time.monotonic", lambda: next(clock))
    shown = notebook.progress()
    assert shown is not None
    for part in (0.1, 0.25, 0.26, 1.0):
        state = Progress(
            reached_s=part, total_s=1.0, part=part, finished=int(4 * part), runs=4, running=()
        )
        shown(state)
    lines = [line.strip() for line in capsys.readouterr().err.split("\r")[1:]]
    assert lines == ["1/4 runs, 25 %, about 6 s left", "4/4 runs, 100 %"]


def test_harm_is_the_part_that_is_lost() -> None:
    def figures_of(**flow: object) -> object:
        zero = {"rtt_mean_s": None, "loss_rate": None, "completion_s": None}
        return {"flows": [{"name": "f", "goodput_bps": 0.0, **zero, **flow}]}

    alone = figures_of(goodput_bps=8.0, rtt_mean_s=0.1, loss_rate=0.0, completion_s=3.0)
    beside = figures_of(goodput_bps=2.0, rtt_mean_s=0.4, loss_rate=0.1, completion_s=12.0)
    assert harm(beside, alone) == [  # type: ignore[arg-type]
        {"name": "f", "goodput": 0.75, "rtt": pytest.approx(0.75), "loss": 1.0, "completion": 0.75}
    ]
    assert harm(alone, alone)[0] == {  # type: ignore[arg-type]
        **{"name": "f", "goodput": 0.0, "rtt": 0.0, "loss": 0.0, "completion": 0.0}
    }
    other = {"flows": [{"name": "g"}]}
    assert harm(other, alone) == []  # type: ignore[arg-type]


def test_rows_without_a_store_have_their_runs(answers: fairhaul.Answers) -> None:
    table: list[Row] = rows_of([answer.measures for answer in answers])
    assert [len(row.runs) for row in table] == [2] * 6
    assert table[0].point.variant == {
        "bottleneck.queue.capacity": "0.5 bdp",
        "flow.ours.controller": "cubic",
    }

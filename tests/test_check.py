"""`fairhaul check`: expectations in scenarios, their verdicts, the exit status, and JUnit."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import fairhaul
from fairhaul import ScenarioError
from fairhaul.cli import status_of
from fairhaul.measures.formula import read_formula
from fairhaul.scenario.read import read_one
from fairhaul.statistics.estimate import Estimate
from fairhaul.studies.expectations import disagree, judge, numbers, read_expectations, verdict
from fairhaul.studies.expectations.words import measured

CONFORMANCE = Path(__file__).parents[1] / "scenarios/conformance"

SCENARIO = """\
title    = "A flow alone"
duration = "6 s"
warmup   = "2 s"
profile  = "plain"

[bottleneck]
rate  = "5 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "1 bdp" }

[[flow]]
name       = "a"
rtt        = "40 ms"
controller = "CONTROLLER"
"""

FULL = """
[[expect]]
what     = "the flow uses the link"
number   = "links.bottleneck.utilization"
at_least = 0.9
source   = "RFC 5681"
"""
EMPTY = """
[[expect]]
what    = "the link is idle"
number  = "links.bottleneck.utilization"
at_most = 0.1
"""


def scenario(expect: str, controller: str = "reno") -> str:
    return SCENARIO.replace("CONTROLLER", controller) + expect


def written(folder: Path, expect: str, name: str = "a.toml") -> Path:
    file = folder / name
    file.write_text(scenario(expect))
    return file


def expect(number: str, bound: str = "at_least = 0", more: str = "") -> str:
    return f"[[expect]]\nwhat = 'a number'\nnumber = '{number}'\n{bound}\n{more}\n"


def value(number: str, controller: str = "reno", more: str = "") -> float | None:
    text = scenario(expect(number, more=more), controller)
    [found] = fairhaul.read(text)
    answer = fairhaul.run(text)
    return numbers(answer.records[0], read_expectations(found))[0]


# 4 to 6, mean 5, standard deviation 1 / sqrt(2), half an interval of 2.776 x 0.316 = 0.88.
VALUES = [4.0, 4.5, 5.0, 5.5, 6.0]


@pytest.mark.parametrize(
    ("at_least", "at_most", "judged"),
    [
        (4.0, None, "met"),
        (None, 6.0, "met"),
        (4.0, 6.0, "met"),
        (6.0, None, "not met"),
        (None, 4.0, "not met"),
        (4.5, None, "undecided"),
        (4.9, 5.1, "undecided"),
    ],
)
def test_a_verdict_follows_from_the_whole_interval(
    at_least: float | None, at_most: float | None, judged: str
) -> None:
    assert verdict(VALUES, at_least, at_most) == judged


def test_equal_numbers_have_no_spread_and_few_runs_decide_nothing() -> None:
    assert verdict([1.0] * 5, 1.0, 1.0) == "met"
    assert verdict([1.0] * 5, 1.1) == "not met"
    assert verdict([1.0] * 4, 1.1) == "undecided"


def test_a_run_without_the_number_is_not_within_the_bounds() -> None:
    assert verdict([None] * 5, 0.0) == "not met"
    assert verdict([*[1.0] * 5, None], 0.5) == "undecided"
    assert verdict([*[1.0] * 5, None], 2.0) == "not met"


@pytest.mark.parametrize(
    ("number", "bound", "value", "shown"),
    [
        ("links.bottleneck.queue_mean_s", "<= 50 ms", 0.01534, "15.3 ms"),
        ('max(flows["F*"].goodput_bps)', "<= 0.05 bit/s", 12.5e6, "12.5 Mbit/s"),
        ("links.bottleneck.queue_mean_s / 0.04", "<= 0.05", 0.01534, "0.01534"),
        ("count(events.F.timeout)", "<= 0.05", 3.0, "3"),
    ],
)
def test_numbers_have_the_unit_of_their_bound(
    number: str, bound: str, value: float, shown: str
) -> None:
    expectation = replace(
        read_expectations(read_one(scenario(FULL)))[0],
        number=number,
        formula=read_formula(number, records=True),
        at_least=None,
        at_most=0.05,
    )
    assert expectation.bound() == bound
    assert measured(judge(expectation, [value]), expectation.form) == shown


def test_the_table_says_how_many_runs_are_stationary(tmp_path: Path) -> None:
    done = fairhaul.check(written(tmp_path, FULL), {"duration": "4 s"}, seeds=1)
    [case] = done.cases
    [expectation] = case.expectations
    steady = replace(expectation, by={"sim": replace(expectation.by["sim"], stationary=(True,))})
    long = replace(done, cases=(replace(case, expectations=(steady,)),))
    assert ", 0 of 1 runs stationary" in done.markdown()
    assert "the other runs say little about the long term" in done.markdown()
    assert "stationary" not in long.markdown()


def test_engines_disagree_if_their_intervals_have_no_number_in_common() -> None:
    one = Estimate(mean=1, low=0.9, high=1.1, runs=5)
    assert disagree(one, Estimate(mean=2, low=1.2, high=2.8, runs=5)) is True
    assert disagree(one, Estimate(mean=2, low=1.0, high=3.0, runs=5)) is False
    assert disagree(one, Estimate(mean=2, low=1.9, high=2.1, runs=4)) is None


def test_the_exit_status_says_whether_an_expectation_is_not_met(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = written(tmp_path, FULL), written(tmp_path, FULL + EMPTY, "b.toml")
    assert status_of(["check", str(good)]) == 0
    assert "Expectations: 1 met, 0 not met, 0 undecided." in capsys.readouterr().out
    assert status_of(["check", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "Expectations: 2 met, 1 not met, 0 undecided." in out
    # The scenario that fails comes first, and in it the expectation that fails.
    assert out.index("b.toml") < out.index("a.toml")
    assert [*re.findall(r"  (met|not met)\s*$", out, re.MULTILINE)] == ["not met", "met", "met"]
    assert status_of(["check", str(bad), "--seeds", "2"]) == 0
    assert status_of(["check", str(good), "--seeds", "2", "--strict"]) == 1
    out = capsys.readouterr().out
    assert "Fewer than 5 seeds decide nothing." in out


def test_a_strict_check_looks_again_at_what_is_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A bound below the mean that the interval of five seeds holds, and that of twenty does not.
    noisy = tmp_path / "noisy.toml"
    bound = expect("flows.a.goodput_bps / 1e6", "at_least = 1.85")
    noisy.write_text(scenario(bound).replace("[[flow]]", "loss = 0.01\n\n[[flow]]", 1))
    [first] = fairhaul.check(noisy).cases[0].expectations
    assert first.verdict == "undecided"
    done = fairhaul.check(noisy, strict=True)
    [again] = done.cases[0].expectations
    assert again.verdict == "met"
    found = again.by["sim"].estimate
    assert found is not None
    assert (found.runs, found.interval) == (20, "99 %")
    assert done.passed()
    assert status_of(["check", str(noisy), "--strict"]) == 0
    out = capsys.readouterr().out
    assert " of 20 runs" in out
    assert "judged once more, by a 99 % interval" in out
    # What five seeds decide is not run again.
    done = fairhaul.check(written(tmp_path, FULL, "full.toml"), strict=True)
    [checked] = done.cases[0].expectations
    assert len(checked.by["sim"].values) == 5


def test_runs_that_a_store_has_are_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, FULL)
    command = ["check", str(file), "--json", "--out", str(tmp_path / "kept")]
    assert status_of(["check", str(file), "--json"]) == 0
    without = capsys.readouterr().out
    assert status_of(command) == 0
    assert capsys.readouterr().out == without
    ran: list[int] = []

    def nothing(plan: list[object], *_: object, **__: object) -> list[None]:
        ran.append(len(plan))
        return []

    monkeypatch.setattr("fairhaul.jobs.values.for_each", nothing)
    assert status_of(command) == 0
    assert capsys.readouterr().out == without
    # Another bound needs no other run, another number does.
    file.write_text(file.read_text().replace("at_least", "at_most"))
    assert status_of(command) == 1
    file.write_text(file.read_text().replace("utilization", "drop_rate"))
    status_of(command)
    assert ran == [0, 0, 5]


def test_a_cluster_requires_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["check", str(written(tmp_path, FULL))], ["evaluate", "cubic"]):
        assert status_of([*command, "--dask", "tcp://127.0.0.1:9"]) == 2
        assert "--dask requires --out" in capsys.readouterr().err


def test_a_sweep_is_checked_at_each_of_its_points(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = '\n[sweep]\n"bottleneck.rate" = ["4 Mbit/s", "5 Mbit/s"]\n'
    file = written(tmp_path, FULL.replace("0.9", "0.85") + sweep)
    assert status_of(["check", str(file), "--json", "--set", "flow.a.rtt=30 ms"]) == 0
    found = json.loads(capsys.readouterr().out)["values"]
    assert [case["variant"] for case in found["cases"]] == [
        {"bottleneck.rate": "4 Mbit/s"},
        {"bottleneck.rate": "5 Mbit/s"},
    ]
    [expectation] = found["cases"][0]["expectations"]
    assert expectation["results"]["sim"]["verdict"] == expectation["verdict"] == "met"
    assert len(expectation["results"]["sim"]["values"]) == 5
    assert (found["passed"], found["counts"]["met"]) == (True, 2)


def test_junit_has_a_suite_for_each_scenario(tmp_path: Path) -> None:
    title = 'title    = "A \\u001b<b> & \\"c\\""'
    text = scenario(FULL + EMPTY + EMPTY.replace("at_most = 0.1", "at_least = 0.99"))
    file = tmp_path / "a.toml"
    file.write_text(text.replace('title    = "A flow alone"', title))
    junit = tmp_path / "out.xml"
    assert status_of(["check", str(file), "--junit", str(junit)]) == 1
    root = ET.parse(junit).getroot()
    counts = ("tests", "failures", "skipped")
    assert [root.get(count) for count in counts] == ["3", "1", "0"]
    [suite] = root
    assert suite.get("file") == str(file)
    assert [test.find("failure") is not None for test in suite] == [False, True, False]
    assert [path.name for path in tmp_path.iterdir()] == ["a.toml", "out.xml"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (expect("flows.b.goodput_bps"), "no flow 'b'; choose from a"),
        (expect("flows.a.goodput"), "unknown figure 'goodput'; did you mean 'goodput_bps'?"),
        (expect("count(modes.a.probing)"), "unknown figure 'probing' of modes"),
        (expect("count(events.a.timeouts)"), "did you mean 'timeout'?"),
        (expect("max(flow_series.a.cwnd_packet)"), "did you mean 'cwnd_packets'?"),
        (expect("link.bottleneck.utilization"), "did you mean 'links'?"),
        (expect("1 +"), "is not a formula"),
        (expect("1", bound=""), 'needs "at_least" or "at_most"'),
        (expect("1", bound="at_most = 1\nat_lest = 1"), 'did you mean "at_least"?'),
        ("", "the scenario has no [[expect]] to check"),
    ],
)
def test_a_mistake_is_named_before_anything_runs(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["check", str(written(tmp_path, text))]) == 2
    message = capsys.readouterr().err
    assert said in message
    assert message.startswith(str(tmp_path / "a.toml"))


def test_a_folder_without_scenarios_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no scenario"):
        fairhaul.check(tmp_path)


def test_expectations_change_neither_the_record_nor_the_identity() -> None:
    [one], [other] = fairhaul.read(scenario("")), fairhaul.read(scenario(FULL))
    assert one.identity() == other.identity()
    assert one.describe() == other.describe()


def test_a_formula_may_count_the_modes_and_the_events_of_a_flow() -> None:
    # BBR has one start, and later its probes; Reno halves its window again and again.
    assert value("count(modes.a.startup)", "bbr3", 'from = "0 s"') == 1
    assert value("count(modes.a.startup)", "bbr3", 'from = "4 s"') == 0
    assert value("sum(modes.a.startup)", "bbr3", 'from = "4 s"') == 0
    assert value('sum(modes.a["0"]) - sum(modes.a.startup)', "bbr3", 'from = "0 s"') == 0
    reductions = value("count(events.a.reduction)")
    assert reductions is not None
    assert reductions > 1
    assert reductions == value("flows.a.loss_events")
    assert value("count(events.a.timeout)") == 0
    smallest = value("min(flow_series.a.cwnd_packets)")
    largest = value("max(flow_series.a.cwnd_packets)")
    mean = value("flows.a.cwnd_mean")
    assert smallest is not None
    assert largest is not None
    assert mean is not None
    assert smallest < mean < largest


def test_figures_are_those_of_the_time_that_an_expectation_names() -> None:
    text = scenario(
        expect("flows.a.goodput_bps")
        + expect("flows.a.goodput_bps", more='from = "2 s"\nuntil = "4 s"')
        + expect("flows.a.goodput_bps", more='from = "4 s"')
        + expect("flows.a.loss_events")
        + expect("flows.a.loss_events", more='from = "2 s"\nuntil = "4 s"')
        + expect("flows.a.loss_events", more='from = "4 s"')
    )
    [found] = fairhaul.read(text)
    record = fairhaul.run(text).records[0]
    all_, early, late, *events = numbers(record, read_expectations(found))
    assert all_ is not None
    assert early is not None
    assert late is not None
    # The edges of bins are at most a bin away.
    assert all_ == pytest.approx((early + late) / 2, rel=1e-3)
    assert events[0] == sum(each for each in events[1:] if each is not None)


# Requirement: bbrv3-5.1-a
@pytest.mark.parametrize("document", ["bbr", "rfc9438"])
def test_the_conformance_scenarios_are_met(document: str) -> None:
    for case in fairhaul.check(CONFORMANCE / document, seeds=5).cases:
        if any(checked.verdict != "met" for checked in case.expectations):
            (more,) = fairhaul.check(case.case.file, seeds=20).cases
            assert {checked.verdict for checked in more.expectations} == {"met"}, more.case.title


def test_each_of_the_22_cases_of_the_draft_has_a_scenario() -> None:
    titles = {fairhaul.read(file)[0].title for file in CONFORMANCE.glob("bbr/*.toml")}
    assert len(titles) == 22


def test_a_conformance_scenario_is_not_met_by_another_rule() -> None:
    file = CONFORMANCE / "bbr/06-probe-up-loss-app-limited.toml"
    assert not fairhaul.check(file, {"flow.bbr.controller.loss_threshold": 0.5}).passed()


@pytest.mark.parametrize(("controller", "in_the_lab"), [("bbr3", True), ("bbr", False)])
def test_the_lab_has_the_modes_of_controllers_whose_port_reports_them(
    controller: str, in_the_lab: bool
) -> None:
    [found] = fairhaul.read(scenario(expect("count(modes.a.up)") + FULL, controller))
    modes, figures = read_expectations(found)
    assert [modes.has_number_on(engine) for engine in ("sim", "lab")] == [True, in_the_lab]
    assert figures.has_number_on("lab")

"""`fairhaul evaluate`: every heading has a place, and rows say what the runs were."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fairhaul
from fairhaul import ScenarioError, cli, report
from fairhaul.studies.evaluation import SCENARIOS, Evaluation, evaluate, words
from fairhaul.studies.evaluation import rows as rows_module
from fairhaul.studies.evaluation.rows import DOES_NOT_APPLY, HEADINGS
from fairhaul.studies.expectations import MET, NOT_MET, UNDECIDED, verdict_of
from fairhaul.studies.expectations.cases import files_of, read_cases


class Greedy(fairhaul.Controller):
    """Hardly gives way."""

    every = "round"

    def on_round(self, window: Any, _report: Any) -> None:
        """Add ten packets per round trip."""
        window.growth = 10.0

    def on_congestion(self, window: Any, _event: Any) -> None:
        """Give up a fiftieth."""
        window.give_up(0.02)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """Evaluate two controllers by four of the scenarios."""
    folder = tmp_path_factory.mktemp("scenarios")
    for name in ("shallow-buffer", "call", "itself-by-rtt", "high-loss"):
        text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
        for long, short in (('"120 s"', '"30 s"'), ('"90 s"', '"40 s"'), ('"60 s"', '"30 s"')):
            text = text.replace(f"duration = {long}", f"duration = {short}")
        (folder / f"{name}.toml").write_text(text.replace('warmup   = "30 s"', 'warmup = "10 s"'))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("fairhaul.studies.evaluation.SCENARIOS", folder)
        return evaluate(["cubic", Greedy], seeds=5)


def test_every_heading_has_rows_or_a_reason_and_every_row_a_heading() -> None:
    cases = read_cases(files_of([SCENARIOS]), [])
    found = {
        rows_module.SOURCE.match(expectation.source)[1]  # type: ignore[index]
        for case in cases
        for expectation in case.expectations
    }
    assert found == {heading.section for heading in HEADINGS if not heading.missing}
    assert len(HEADINGS) == 26
    for case in cases:
        names = [flow["name"] for flow in json.loads(case.scenario.describe())["flows"]]
        assert any(name.startswith("mine") for name in names), case.file


# What the words of a bound mean, the longer ones first.
WORDS = {
    **{"three quarters": 0.75, "a quarter longer": 1.25, "a quarter": 0.25, "half": 0.5},
    **{"a fifth": 0.2, "four fifths": 0.8, "seven tenths": 0.7, "nine tenths": 0.9},
    **{"a tenth longer": 1.1, "a tenth more": 1.1, "a tenth": 0.1, "85 %": 0.85},
    **{"one packet in a hundred": 0.01, "one datagram in a hundred": 0.01},
    **{"one packet in twenty": 0.05, "twice": 2.0, "three times": 3.0, "five": 5.0},
    **{"300": 300.0, "100 ms": 0.1, "50 ms": 0.05, "one round-trip time": 1.0},
}


def test_what_is_expected_says_the_bound() -> None:
    told = 0
    for case in read_cases(files_of([SCENARIOS]), []):
        for of in case.expectations:
            for begin, bound in (("at least ", of.at_least), ("at most ", of.at_most)):
                _, found, rest = of.what.partition(begin)
                named = [value for word, value in WORDS.items() if rest.startswith(word)]
                if found and named:
                    told += 1
                    assert bound == named[0], f"{case.file}: {of.what}"
    assert told > 30


def test_a_controller_that_hardly_gives_way_is_found_out(few: Evaluation) -> None:
    assert few.controllers == ("cubic", "greedy")
    assert few.verdict("5.1.3", "cubic") == MET
    assert few.verdict("5.1.3", "greedy") == NOT_MET
    assert few.verdict("7.10", "cubic") is None
    relative = next(row for row in few.rows if row.expectation.relative_to)
    # Relative to itself, in the same runs.
    assert relative.found["cubic"].by["sim"].values == (1.0,) * 5
    assert [row.label for row in few.of("5.2.2")] == ["5.2.2a", "5.2.2b", "5.2.2c"]
    margin = few.of("5.2.2")[1].found["cubic"].margin
    assert margin is not None
    assert margin[1] <= margin[0] <= margin[2]


def test_it_is_written_as_page_markdown_and_json(few: Evaluation, tmp_path: Path) -> None:
    page = report.write(tmp_path / "report.html", few).read_text(encoding="utf-8")
    text = few.markdown()
    for heading in HEADINGS:
        assert f"{heading.section} {heading.title}" in text
        assert heading.title in page
    assert "not evidenced, connections here have one path." in text
    command = words.commands(few)[0]
    assert command in text
    assert "--set 'flow.mine*.controller=\"cubic\"' --seeds 5" in command
    written = few.to_dict()
    assert json.loads(json.dumps(written)) == written
    assert sum(bool(one["rows"]) for one in written["values"]["criteria"]) == 3
    assert words.answer(few).startswith("Of 26 criteria: cubic: ")


@pytest.fixture(scope="module")
def senders(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """Evaluate two L4S senders and three other controllers by two of the scenarios with ECT(1)."""
    folder = tmp_path_factory.mktemp("scenarios")
    for name in ("dual-queue", "rtt"):
        text = (SCENARIOS / f"l4s-sender-{name}.toml").read_text(encoding="utf-8")
        text = text.replace('"60 s"', '"20 s"').replace('warmup   = "20 s"', 'warmup = "5 s"')
        (folder / f"l4s-sender-{name}.toml").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("fairhaul.studies.evaluation.SCENARIOS", folder)
        return evaluate(["prague", "dctcp", "cubic", "bbr3", Greedy], seeds=5)


def test_an_l4s_sender_is_judged_by_what_its_codepoint_requires(senders: Evaluation) -> None:
    assert [row.label for row in senders.rows] == [f"7.1L{letter}" for letter in "abcde"]
    by = {row.expectation.what: row.found for row in senders.rows}
    waits = by["it waits for at most 5 ms on average"]
    assert waits["prague"].verdict == waits["dctcp"].verdict == MET
    # Rates of DCTCP are proportional to the inverse square of round-trip times; Prague's are not.
    far = by["the far flow has at least half of the goodput of the near one"]
    assert (far["prague"].verdict, far["dctcp"].verdict) == (MET, NOT_MET)


def test_the_points_of_a_sweep_can_be_relative_to_one_that_is_not_among_them(
    tmp_path: Path,
) -> None:
    file = SCENARIOS / "l4s-sender-scales.toml"
    rates = [
        [json.loads(of.describe())["links"][0]["rate_bps"] for of in case.runs]
        for case in read_cases([file], [])
    ]
    assert rates == [[80e6, 20e6], [160e6, 20e6]]
    both = tmp_path / "both.toml"
    text = file.read_text(encoding="utf-8")
    both.write_text(text.replace("[sweep]", '[sweep]\n"flow.mine.rtt" = ["10 ms", "20 ms"]'))
    with pytest.raises(ScenarioError, match="sets one of several keys of the sweep"):
        read_cases([both], [])


def test_a_controller_that_cannot_be_an_l4s_sender_says_why(senders: Evaluation) -> None:
    for name in ("cubic", "bbr3", "greedy"):
        assert senders.verdict("7.1L", name) == DOES_NOT_APPLY
        for row in senders.rows:
            found = row.found[name]
            assert f"{name} reduces as for a loss" in found.reason
            assert found.reason.endswith("less than its share in an L4S queue")
            assert (found.margin, found.text(), found.points) == (None, "", 0)
    assert senders.verdict("7.1L", "dctcp") == NOT_MET
    text = senders.markdown()
    assert re.search(r"Does not apply to cubic: 7.1La, 7.1Lb.*, because ECT.1. says", text)
    assert "1 that does not apply" in words.answer(senders)
    assert json.loads(json.dumps(senders.to_dict())) == senders.to_dict()


def test_a_row_says_how_many_of_its_runs_are_stationary(few: Evaluation) -> None:
    each = {row.label: row.found["cubic"] for row in few.of("5.1.4")}
    short = each["5.1.4a"]
    (judged,) = short.by.values()
    assert judged.stationary == (False,) * 5, "30 s are too short for the far flow"
    assert ", 0 of 5 runs stationary" in short.text()
    assert judged.to_dict()["stationary"] == 0
    assert short.worst is not None
    steady = replace(judged, stationary=(True,) * 5)
    long = replace(short, worst=replace(short.worst, by={"sim": steady}))
    assert "stationary" not in long.text()


def test_what_fails_comes_first_and_the_rest_is_named(few: Evaluation) -> None:
    section = words.outcome_of(few).evidence()[0]
    (table,) = section.tables
    verdicts = [row[3:] for row in table.rows]
    order = (NOT_MET, UNDECIDED, MET)
    assert len(verdicts) < len(HEADINGS)
    worst = [min(map(order.index, each)) for each in verdicts]
    assert worst == sorted(worst)
    assert worst[0] == 0
    assert all({*each} not in ({MET}, {"not evidenced"}) for each in verdicts)
    assert "Not evidenced here: " in table.notes[-1]
    assert all(": not met. Expected: " in point for point in section.points[:1])


def test_verdicts_of_rows_are_combined() -> None:
    assert verdict_of([MET, UNDECIDED, NOT_MET]) == NOT_MET
    assert verdict_of([MET, UNDECIDED]) == UNDECIDED
    assert verdict_of([MET, MET]) == MET
    assert verdict_of([]) is None


def test_mistakes_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ScenarioError, match='did you mean "cubic"'):
        evaluate(["cubik"], seeds=1)
    with pytest.raises(ScenarioError, match=r"xcp.*needs routers"):
        evaluate(["xcp"], seeds=1)
    assert cli.status_of(["evaluate"]) == 2
    assert "fairhaul evaluate fhstcp cubic" in capsys.readouterr().err
    assert cli.status_of(["evaluate", "cubic", "--quick", "--seeds", "3"]) == 2
    assert "give one of them" in capsys.readouterr().err

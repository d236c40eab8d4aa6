"""The report of a paper reproduced: a section, a table and a figure for every experiment."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from fairhaul import report
from fairhaul.cli import status_of
from fairhaul.statistics.estimate import Estimate
from fairhaul.statistics.evidence import judge
from fairhaul.studies import papers
from fairhaul.studies.papers.fhstcp.flows import exponents
from fairhaul.studies.papers.results import (
    Claim,
    Key,
    Measured,
    Numbers,
    Results,
    Verdict,
    judged,
)
from fairhaul.studies.papers.run import Reproduction

from .conftest import Fairhaul
from .test_report import read

# Short enough for a fraction of a second each; says nothing of any protocol.
PAPER = papers.paper_of("fhstcp")
SHORT = {"bottleneck.rate": "10 Mbit/s", "duration": "8 s", "warmup": "2 s"}


@pytest.fixture(scope="module")
def done() -> Reproduction:
    return papers.reproduce("fhstcp", quick=True, seeds=5, overrides=SHORT)


def test_every_experiment_has_its_section_table_and_figure(
    done: Reproduction, tmp_path: Path
) -> None:
    path = report.write(tmp_path / "out" / "fhstcp-report" / "report.html", done)
    html = path.read_text(encoding="utf-8")
    page = read(path)
    assert all(found.startswith(("#", "figures/")) for found in page.fetched)
    assert not re.search(r"url\(|@import", "".join(re.findall(r"<style>.*?</style>", html, re.S)))
    sections = re.findall(r"<section.*?</section>", html, re.S)
    assert [part.name for part in done.parts] == list(PAPER.experiments)
    for one in PAPER.experiments.values():
        (section,) = [text for text in sections if f"<h2>{one.heading}</h2>" in text]
        assert "<table" in section, one.heading
        assert "<figure" in section, one.heading
    for name in page.figures:
        for ending in ("svg", "png", "pdf"):
            assert (path.parent / "figures" / f"{name}.{ending}").stat().st_size > 1000
    for words in (PAPER.question, "What the paper claims", "Differences and their reasons"):
        assert words in page.text
    for words in (
        "Assumptions where the paper is silent",
        "fairhaul reproduce fhstcp --quick --seeds 5",
    ):
        assert words in page.text
    # Table 1, c = 10 and F1: the paper's number, and a word for whether ours agrees.
    assert "32.22" in page.text
    assert re.search(r"(✓ agrees|≠ differs)", page.text)
    assert "nan" not in page.text


def test_the_answer_counts_the_claims(done: Reproduction) -> None:
    held = [claim for claim in done.claims if claim.verdict is Verdict.HOLDS]
    assert len(done.claims) == 12
    assert done.answer().startswith(f"{len(held) or 'None'} of 12 claims of the paper hold")
    for claim in done.claims:
        assert (claim.text in done.answer()) is (claim.verdict is not Verdict.OPEN)
    assert json.loads(json.dumps(done.to_dict(), allow_nan=False))["values"]["claims"][0]["claim"]


def test_claims_come_first_in_every_form(done: Reproduction) -> None:
    first, *others = (section.heading for section in done.outcome().evidence())
    assert first == "What the paper claims"
    assert [part.experiment.heading for part in done.parts] == others[: len(done.parts)]


def test_one_seed_leaves_every_claim_undecided(tmp_path: Path) -> None:
    only = ["figure3", "rtt", "ablation", "table1"]
    done = papers.reproduce("fhstcp", quick=True, seeds=1, overrides=SHORT, only=only)
    assert {claim.verdict for claim in done.claims} == {Verdict.OPEN}
    one = replace(done, parts=done.parts[-1:])
    assert report.write(tmp_path / "report.html", one).is_file()


def test_the_command_says_where_the_report_is(
    done: Reproduction,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = replace(done, parts=done.parts[:1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(papers, "reproduce", lambda *_, **__: one)
    assert status_of(["reproduce", "fhstcp"]) == 0
    assert capsys.readouterr().out.endswith("\nReport: fhstcp-report/report.html\n")
    monkeypatch.setattr(papers, "PAPERS", ("fhstcp",))
    assert status_of(["reproduce", "all", "--out", "all", "--json"]) == 0
    paper, *others = json.loads(capsys.readouterr().out)["outcomes"]
    assert len(others) == len(papers.PAPERS) - 1
    assert paper["values"]["paper"] == "fhstcp"
    assert Path("all/fhstcp-report/report.html").is_file()


def test_a_paper_is_printed_and_its_report_written_before_the_next_one_runs(
    done: Reproduction,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one = replace(done, parts=done.parts[-1:])

    def pretended(name: str, **_: object) -> Reproduction:
        if name == "ghstcp":
            assert (tmp_path / "fhstcp-report" / "report.html").is_file()
            assert one.answer() in capsys.readouterr().out.replace("\n", " ")
        return one

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(papers, "PAPERS", ("fhstcp", "ghstcp"))
    monkeypatch.setattr(papers, "reproduce", pretended)
    assert status_of(["reproduce", "all"]) == 0
    assert capsys.readouterr().out.endswith("Report: ghstcp-report/report.html\n")


def test_the_demo_has_a_command_that_the_pages_name_and_ends_with_a_figure() -> None:
    root = Path(__file__).parents[1]
    recipe = (root / "Makefile").read_text().partition("\ndemo:")[2].partition("\n\n")[0]
    commands = re.findall(r"fairhaul reproduce (\S+) --quick --only (\S+)", recipe)
    assert commands == [("cubic-fairness", "short-path")]
    page = (root / "docs" / "paper.md").read_text()
    for name, experiment in commands:
        assert experiment in papers.paper_of(name).experiments
        assert f"`fairhaul reproduce {name} --quick --only {experiment}`" in page
    assert "out/demo/figures/short-path.png" in recipe


def test_an_unusable_directory_is_reported_before_anything_runs(
    fairhaul: Fairhaul, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    for place in ("file", "file/below"):
        refused = fairhaul("reproduce", "fhstcp", "--out", place)
        assert refused.returncode == 2
        assert "file exists and is not a directory" in refused.stderr


def test_a_claim_is_judged_by_its_parts() -> None:
    assert judged([True, True]) is Verdict.HOLDS
    assert judged([True, False, None]) is Verdict.PART
    assert judged([False, False]) is Verdict.NOT
    assert judged([True, None]) is Verdict.OPEN
    assert judged([]) is Verdict.OPEN
    assert str(Verdict.NOT) == "✗ does not hold"
    index = Measured(
        number="index",
        case="c = 10",
        ours=Estimate(mean=0.9, low=0.8, high=1.0, runs=9),
        form=".2f",
    )
    claim = Claim(text="fair", verdict=Verdict.PART, measured=[index])
    assert claim.numbers() == "index: 0.90 [0.80, 1.00] (c = 10)."
    ours = {"mean": 0.9, "low": 0.8, "high": 1.0, "interval": "95 %"}
    found = {"number": "index", "case": "c = 10", "ours": ours}
    assert claim.to_dict() == {"claim": "fair", "verdict": "in part", "numbers": [found]}


def test_cases_are_told_apart_by_the_differences_of_their_runs() -> None:
    # Seeds move both cases alike: their ranges overlap, and each difference is near 1.
    near: list[Numbers] = [{"x": 0.0}, {"x": 2.0}, {"x": 4.0}, {"x": 6.0}, {"x": 8.0}]
    far: list[Numbers] = [{"x": 1.1}, {"x": 2.9}, {"x": 5.0}, {"x": 7.1}, {"x": 8.9}]
    wide: list[Numbers] = [{"x": 9.0}, {"x": 0.0}, {"x": 5.0}, {"x": 6.0}, {"x": 0.0}]
    runs: dict[Key, list[Numbers]] = {("a",): near, ("b",): far, ("c",): wide}
    found = Results(runs=runs, seeds=dict.fromkeys(runs, range(1, 6)))

    def above(key: str, other: str, name: str = "x") -> bool | None:
        return judge([found.above((key,), (other,), name)])[0]

    assert (above("b", "a"), above("a", "b"), above("a", "c")) == (True, False, None)
    assert above("a", "b", "y") is None


def test_the_power_of_the_round_trip_is_fitted_per_seed() -> None:
    # 2 and 3 times the round trip: ratios of 4 and 9 are the power 2, of 2 and 3 the power 1.
    runs: dict[Key, list[Numbers]] = {("1", "fhstcp"): [{"ratio": 1.0}] * 2}
    for n in (2.0, 3.0):
        runs[f"{n:g}", "fhstcp"] = [{"ratio": n * n}, {"ratio": n}]
    found = exponents(Results(runs=runs, seeds=dict.fromkeys(runs, (1, 2))), "fhstcp")
    assert found == {1: pytest.approx(2), 2: pytest.approx(1)}


def test_cases_are_paired_by_the_seed_of_their_runs() -> None:
    # Of the first case the run of seed 2 does not count, and that of seed 4 lacks the number.
    here, there = ("a",), ("b",)
    found = Results(
        runs={
            here: [{"x": 1.0}, {"x": 3.0}, {"x": None}],
            there: [{"x": 10.0}, {"x": 20.0}, {"x": 30.0}, {"x": 40.0}],
        },
        seeds={here: [1, 3, 4], there: [1, 2, 3, 4]},
    )
    assert found.pairs(here, there, "x") == [(1.0, 10.0), (3.0, 30.0)]
    assert found.values(here, "x") == [1.0, 3.0]

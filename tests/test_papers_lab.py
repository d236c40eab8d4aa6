"""Papers on real hosts: what the simulator predicted, stored before, and held against them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairhaul import Scenario, _core, report
from fairhaul.cli import status_of
from fairhaul.host.process import Refused
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import ScenarioError
from fairhaul.statistics.estimate import Estimate
from fairhaul.studies import papers
from fairhaul.studies.papers.outcome import MISSED, UNCOUNTED, remarks
from fairhaul.studies.papers.results import Results
from fairhaul.studies.papers.run import PREDICTION
from fairhaul.studies.papers.table import Cell, Row, Table
from tests.kernel_host import locked, needs_kernel
from tests.linux_program import pretended
from tests.test_report import read

# Short enough for a fraction of a second each in virtual time; says nothing of any protocol.
SHORT = {"bottleneck.rate": "10 Mbit/s", "duration": "8 s", "warmup": "2 s"}


def cell(mean: float, half: float | None, paper: tuple[float, ...] = ()) -> Cell:
    low, high = (None, None) if half is None else (mean - half, mean + half)
    ours = [Estimate(mean=mean, low=low, high=high, runs=1 if half is None else 5)]
    return Cell(paper=paper, steps=[0.1] * len(paper), ours=ours, form=".1f")


def table(*cells: Cell) -> Table:
    columns = [f"x{i}" for i in range(len(cells))]
    return Table(title="T", parameter="c", columns=columns, rows=[Row(label="5", cells=cells)])


class Pretended:
    """An engine for the lab's place that simulates, and whose second seed the machine spoilt."""

    place: Path
    told: list[Any]

    def __init__(self, scenario: Scenario, _kept: Path | None) -> None:
        self._run = _core.Run(scenario, None)
        reasons = ["the router was busy"] if scenario.seed == 2 else []
        lag = {"p99_s": 5e-3 if reasons else 5e-5}
        trust = {"valid": not reasons, "reasons": reasons, "lag": lag}
        self.notes = {"trust": trust, "tries": 1}
        self.reached_s = 0.0

    def stop(self) -> None:
        self._run.stop()

    def run(self) -> _core.Outcome:
        self.told.append(json.loads((self.place / PREDICTION).read_text(encoding="utf-8")))
        return self._run.run()


def pretend(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the pretended engine into the place of the lab, also for those who are not root."""
    Pretended.place, Pretended.told = place, []
    monkeypatch.setattr("fairhaul.runs.run_pool.lab.Run", Pretended)
    monkeypatch.setattr("os.geteuid", lambda: 0)


def test_a_prediction_of_few_runs_is_wider_than_the_interval_of_the_mean() -> None:
    # Four seeds and one run: the half width times sqrt(1 + 4 / 1); one seed has none.
    found = table(cell(10, 2), cell(3, None)).predicting(seeds=4, runs=1)
    wide, bare = (one.ours[0] for one in found.rows[0].cells)
    assert wide.low == pytest.approx(10 - 2 * math.sqrt(5))
    assert wide.high == pytest.approx(10 + 2 * math.sqrt(5))
    assert bare == Estimate(mean=3, low=None, high=None)


def test_a_miss_is_a_mean_of_the_kernel_outside_what_was_predicted() -> None:
    before = table(cell(10, 2, (9.5,)), cell(10, 2), cell(10, None))
    found = before.beside(table(cell(11.9, None), cell(12.1, 5), cell(50, None)))
    assert [one.missed() for one in found.rows[0].cells] == [False, True, None]
    assert found.misses() == [
        "c = 5, x1: predicted was 10.0 [8.0, 12.0], the kernel has 12.1 [7.1, 17.1]"
    ]
    assert [who for who, _ in found.rows[0].lines()] == ["paper", "simulator", "kernel"]
    assert found.to_dict()["rows"][0]["x1"]["missed"] is True
    assert [who for who, _ in before.rows[0].lines()] == ["paper", "ours"]
    assert "missed" not in before.to_dict()["rows"][0]["x1"]


def test_the_papers_number_is_held_against_the_kernels_where_it_was_asked() -> None:
    before = table(cell(10, 2, (9.5,)), cell(10, 2, (15.0,)))
    found = before.beside(table(cell(20, 1), cell(15, 1)))
    assert [one.agrees() for one in before.rows[0].cells] == [True, False]
    assert [one.agrees() for one in found.rows[0].cells] == [False, True]
    assert found.differences() == ["c = 5, x0: the paper has 9.5, the kernel has 20.0 [19.0, 21.0]"]


def test_the_prediction_is_stored_before_real_hosts_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(tmp_path, monkeypatch)
    done = papers.reproduce(
        "fhstcp",
        quick=True,
        seeds=2,
        only=["kernel"],
        overrides=SHORT,
        engine=("sim", "lab"),
        out=tmp_path,
    )
    (part,) = done.parts
    # Four cases of two runs, all after the prediction, which is not written anew.
    assert len(Pretended.told) == 8
    assert all(one == Pretended.told[0] for one in Pretended.told)
    stored = Pretended.told[0]["predicted"]["kernel"]
    assert [row["flows"] for row in stored[0]["rows"]] == ["c = 5", "c = 10", "c = 20", "HSTCP"]
    [kernel] = part.kernels
    shown = done.values()["tables"][0]["rows"][0]["F1"]
    assert shown["ours"] == stored[0]["rows"][0]["F1"]["ours"]
    assert shown["kernel"]["mean"] == kernel.results.mean(("c = 5",), "F1")
    # Of each two runs one does not count.
    assert all(len(runs) == 1 for runs in kernel.results.runs.values())
    assert len(remarks(done)[UNCOUNTED]) == 4
    assert MISSED in remarks(done)
    page = read(report.write(tmp_path / "report.html", done))
    said = "fairhaul reproduce fhstcp --engine sim,lab --quick --only kernel --seeds 2"
    assert said in page.text
    assert "Kernel: Table 1 beside HSTCP at 10 Mbit/s" in page.text
    assert {"kernel-laws", "kernel-windows-fhstcp", "kernel-windows-hstcp"} <= set(page.figures)
    assert "What the simulator missed" in page.text
    assert "the router was busy" in page.text
    # Of those that count.
    assert "2 runs of the kernel (packets late by 50 us at most, at p99)" in page.text


def test_where_no_run_of_a_case_counts_the_page_is_written_without_its_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(tmp_path, monkeypatch)
    spoilt = {**SHORT, "seed": 2}
    for paper in ("fhstcp", "cubic-fairness"):
        done = papers.reproduce(
            paper,
            quick=True,
            seeds=1,
            only=["kernel"],
            overrides=spoilt,
            engine=["lab"],
            out=tmp_path,
        )
        assert not any(done.parts[0].kernels[0].results.runs.values())
        assert "nan" not in read(report.write(tmp_path / "report.html", done)).text
    # The last claims nothing, and has numbers.
    assert done.answer() == "These runs are too few to compare the paper's numbers with."
    (part,) = done.parts
    before = table(cell(10, 2, (9.5,)), cell(10, 2, (15.0,)))
    known = [before.beside(table(cell(9, 1), cell(10, 1)))]
    done = replace(done, parts=[replace(part, tables=known)])
    assert done.answer() == "1 of the 2 numbers of the paper lie in the kernel's intervals."


def test_what_cannot_run_on_real_hosts_is_told_with_what_can() -> None:
    with pytest.raises(ScenarioError) as refusal:
        papers.reproduce("fhstcp", only=["table1", "kernel"], engine=("sim", "lab"))
    told = ("table1 of fhstcp runs in the simulator alone", "in the lab: kernel")
    assert refusal.value.args == told


def test_without_root_nothing_is_predicted_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(question: Mapping[str, Any]) -> None:
        assert question["do"] == "ready"
        assert all("fhstcp" in scenario["text"] for scenario in question["scenarios"])
        raise Refused("only root can load it")

    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("fairhaul.runs.lab.ask", refuse)
    with pytest.raises(Refused, match="only root can load it"):
        papers.reproduce("fhstcp", engine=("lab",), out=tmp_path)
    assert not (tmp_path / PREDICTION).exists()


def test_engines_are_a_list_of_known_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["reproduce", "fhstcp", "--engine", "sim,lap"]) == 2
    told = capsys.readouterr().err
    assert "unknown engine 'lap'" in told
    assert "lab" in told


@needs_kernel
def test_the_kernels_cubic_beside_its_reno_stands_beside_its_prediction(tmp_path: Path) -> None:
    length = {"duration": "4 s", "warmup": "2 s"}
    with locked():
        done = papers.reproduce(
            "cubic-fairness",
            quick=True,
            only=["kernel"],
            overrides=length,
            engine="lab",
            out=tmp_path,
        )
    (part,) = done.parts
    [kernel] = part.kernels
    counted = {key: runs for key, runs in kernel.results.runs.items() if runs}
    # On a busy machine runs may not count, and each of them is told.
    assert len(counted) + len(kernel.uncounted) == len(kernel.results.runs) == 4
    for key in counted:
        # How much of the link they have hangs on the senders' share of the processors, too, which
        # the router, that was on time, does not know.
        assert 0 < kernel.results.mean(key, "utilisation in %") <= 100.5
        assert kernel.results.mean(key, "CUBIC in %") > 0
    assert (tmp_path / PREDICTION).is_file()


def test_linux_stands_beside_the_prediction_and_beside_the_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(tmp_path, monkeypatch)
    with pretended(monkeypatch):
        done = papers.reproduce(
            "fhstcp",
            quick=True,
            seeds=2,
            only=["kernel"],
            overrides=SHORT,
            engine=("sim", "linux", "lab"),
            out=tmp_path,
        )
    (part,) = done.parts
    assert [kernel.name for kernel in part.kernels] == ["linux", "kernel"]
    row = part.tables[0].rows[0]
    assert [who for who, _ in row.lines()] == ["paper", "simulator", "linux", "kernel"]
    # In simulated time both runs count, and none is late.
    assert len(part.kernels[0].results.runs["c = 5",]) == 2
    assert "2 runs of Linux in simulated time, 2 runs of the kernel (packets late" in part.how()
    assert {"ours", "linux", "kernel", "missed"} <= set(row.cells[0].to_dict())
    page = read(report.write(tmp_path / "report.html", done))
    assert "fairhaul reproduce fhstcp --engine sim,linux,lab --quick" in page.text


def test_a_paper_may_have_settings_of_its_own_for_linux() -> None:
    kernel = papers.paper_of("fhstcp").experiments["kernel"]
    linux, lab = kernel.on(["linux"]), kernel.on(["linux", "lab"])
    assert linux is not None
    assert lab is not None
    assert linux.settings(False)["bottleneck.rate"] == "1 Gbit/s"
    assert "bottleneck.rate" not in lab.settings(False)
    assert lab.settings(False)["duration"] == "150 s"


@pytest.mark.parametrize(
    ("engine", "quick", "rate", "buffer"),
    [
        # 20 ms in packets of 1000 and of 1500 bytes.
        ("linux", False, "1 Gbit/s", "2500 packets"),
        ("linux", True, "200 Mbit/s", "500 packets"),
        ("lab", False, "200 Mbit/s", "334 packets"),
    ],
)
def test_texts_have_the_rate_the_buffer_and_the_packets_of_the_runs(
    engine: Engine, quick: bool, rate: str, buffer: str
) -> None:
    kernel = papers.paper_of("fhstcp").experiments["kernel"]
    how = kernel.on([engine])
    assert how is not None
    cases = kernel.cases(quick, how.settings(quick))
    experiment = kernel.quoting([case.scenario for case in cases])
    none = Results(runs={case.key: [] for case in cases})
    assert [table.title for table in experiment.tables(none)] == [
        f"Kernel: Table 1 beside HSTCP at {rate}"
    ]
    first = experiment.assumptions[0]
    assert first.startswith(f"Kernel: {rate} and a buffer of 20 ms, {buffer}, with")
    assert ("1000 bytes" if engine == "linux" else "1500 bytes") in first


def test_texts_name_each_rate_of_an_experiment_once() -> None:
    kernel = papers.paper_of("cubic-fairness").experiments["kernel"]
    scenarios = [case.scenario for case in kernel.cases(True, {})]
    about = replace(kernel, about="CUBIC beside Reno at {rate}.")
    assert about.quoting(scenarios).about == "CUBIC beside Reno at 20 Mbit/s and 200 Mbit/s."

"""Sweeps: a plan, its results in a store, and the table of all points."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fairhaul
from fairhaul import ScenarioError, cli
from fairhaul.jobs.plan import planned, read_plan, rows
from fairhaul.jobs.store import Store
from fairhaul.jobs.values import Running, attempt, shard
from fairhaul.measures.measures import figures
from fairhaul.results.precision import Precision
from fairhaul.results.table import OF_QUEUES, flows_frame, grid, points_frame
from fairhaul.runs.run_pool import RunPool
from fairhaul.studies.sweep import read_sweep
from fairhaul.text.phrases import short_text, value_text

SWEEP = """
title = "Two flows"
duration = "2 s"
profile = "plain"
[bottleneck]
rate = "20 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", capacity = "1 bdp" }
[[flow]]
name = "ours"
controller = "cubic"
rtt = "20 ms"
[[flow]]
name = "theirs"
controller = "reno"
rtt = "20 ms"
[sweep]
"bottleneck.queue.capacity" = { from = "0.5 bdp", to = "2 bdp", points = 3, scale = "log" }
"flow.ours.controller" = ["cubic", "reno"]
"""


def file_of(folder: Path, text: str = SWEEP) -> Path:
    file = folder / "two.toml"
    file.write_text(text)
    return file


def sweep(folder: Path, *options: str) -> int:
    return cli.status_of(["sweep", str(folder / "two.toml"), "--out", str(folder / "s"), *options])


def values(place: Path) -> dict[str, str]:
    """The results of a store without what differs between two runs of the same: processor time."""
    found = {}
    for result in Store(place).results():
        value = result.decoded()
        value.pop("cpu_s")
        found[result.key] = json.dumps(value, sort_keys=True)
    return found


def test_a_sweep_gives_a_row_per_point_and_goes_on_with_more_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file_of(tmp_path)
    assert sweep(tmp_path, "--seeds", "2", "--csv", str(tmp_path / "t.csv")) == 0
    printed = capsys.readouterr()
    assert "12 of 12 results are in" in printed.err
    lines = [line.split()[:3] for line in printed.out.splitlines() if " bdp " in line]
    assert lines == [[c, "bdp", k] for c in ("0.5", "1", "2") for k in ("cubic", "reno")]
    table = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert len(table) == 6
    assert table[0]["bottleneck.queue.capacity"] == "0.5 bdp"
    assert table[0]["runs"] == "2"
    assert float(table[0]["ours.share_low"]) <= float(table[0]["ours.share"])
    first = values(tmp_path / "s")
    assert sweep(tmp_path, "--seeds", "3") == 0
    assert "12 of 18 results are in" in capsys.readouterr().err
    after = values(tmp_path / "s")
    assert len(after) == 18
    assert first.items() <= after.items()
    assert sweep(tmp_path, "--seeds", "3", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["values"]["scenarios"][0]["runs"]) == 3


def test_results_are_those_of_run(tmp_path: Path) -> None:
    file_of(tmp_path)
    assert sweep(tmp_path, "--seeds", "1") == 0
    table = rows(read_plan(tmp_path / "s"), Store(tmp_path / "s"))
    answers = fairhaul.run_many(fairhaul.read(tmp_path / "two.toml"), seeds=1)
    for row, answer in zip(table, answers, strict=True):
        stored, ours = dict(row.runs[0]), dict(answer.measures[0])
        stored.pop("cpu_s"), ours.pop("cpu_s")
        assert stored == ours


def test_shards_run_every_job_once_and_give_the_same(tmp_path: Path) -> None:
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
        file_of(tmp_path / name)
    assert sweep(tmp_path / "whole", "--seeds", "2") == 0
    for part in ("1/3", "2/3", "3/3"):
        assert sweep(tmp_path / "parts", "--seeds", "2", "--shard", part) == 0
    keys = Store(tmp_path / "parts" / "s").column("result", "key")
    assert len(keys) == len(set(keys)) == 12
    assert values(tmp_path / "whole" / "s") == values(tmp_path / "parts" / "s")
    plan, jobs = planned(fairhaul.read(tmp_path / "whole" / "two.toml"), [2] * 6, "sim")
    parts = [shard(jobs, number, 5) for number in range(1, 6)]
    assert sorted(job.key for part in parts for job in part) == sorted(job.key for job in jobs)
    assert [point.seeds for point in plan.points] == [2] * 6


def test_a_sweep_that_is_killed_again_and_again_loses_nothing(tmp_path: Path) -> None:
    long = SWEEP.replace('"2 s"', '"5 s"').replace("20 Mbit/s", "200 Mbit/s")
    long = long.replace("points = 3", "points = 6")
    (tmp_path / "whole").mkdir()
    for folder in (tmp_path, tmp_path / "whole"):
        file_of(folder, long)
    command = [sys.executable, "-m", "fairhaul", "sweep", str(tmp_path / "two.toml")]
    command += ["--out", str(tmp_path / "s"), "--seeds", "4"]
    chance, before, kills = random.Random(19), 0, 0
    while True:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(0.4 + chance.random() + 0.1 * kills)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        kills += 1
        if (tmp_path / "s" / "store.json").exists():
            now = len(Store(tmp_path / "s"))
            assert now >= before, "a finished run was lost"
            before = now
        assert kills < 200
    assert process.returncode == 0
    assert kills > 0
    keys = Store(tmp_path / "s").column("result", "key")
    assert len(keys) == len(set(keys)) == 48, "no run is stored twice"
    assert sweep(tmp_path / "whole", "--seeds", "4") == 0
    assert values(tmp_path / "s") == values(tmp_path / "whole" / "s")


def test_a_run_that_fails_costs_its_own_result_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file_of(tmp_path)

    prepared = RunPool._prepared

    def breaks(
        pool: RunPool, scenario: fairhaul.Scenario, traced: int | None, kept: Path | None
    ) -> object:
        if scenario.seed == 2 and dict(scenario.variant)["flow.ours.controller"] == '"reno"':
            raise fairhaul.RunError(f"{scenario.title}: it broke")
        return prepared(pool, scenario, traced, kept)

    monkeypatch.setattr(RunPool, "_prepared", breaks)
    assert sweep(tmp_path, "--seeds", "2") == 1
    printed = capsys.readouterr()
    assert "3 runs failed: Two flows: it broke" in printed.err
    assert len(Store(tmp_path / "s")) == 9
    monkeypatch.undo()
    assert sweep(tmp_path, "--seeds", "2") == 0
    assert len(Store(tmp_path / "s")) == 12


def test_a_changed_scenario_is_run_again_and_a_new_title_is_not(tmp_path: Path) -> None:
    file_of(tmp_path)
    assert sweep(tmp_path, "--seeds", "1") == 0
    file_of(tmp_path, SWEEP.replace("Two flows", "Another name"))
    assert sweep(tmp_path, "--seeds", "1") == 0
    assert len(Store(tmp_path / "s")) == 6
    table = rows(read_plan(tmp_path / "s"), Store(tmp_path / "s"))
    assert {row.runs[0]["title"] for row in table} == {"Another name"}
    file_of(tmp_path, SWEEP.replace("20 Mbit/s", "21 Mbit/s"))
    assert sweep(tmp_path, "--seeds", "1") == 0
    assert len(Store(tmp_path / "s")) == 12


def test_a_scenario_has_one_identity_in_every_process(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    code = "import fairhaul, sys; from fairhaul.jobs.store import digest_of\n"
    code += "print([digest_of(s) for s in fairhaul.read(sys.argv[1])])"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(3)
    }
    assert len(printed) == 1


def test_a_part_of_the_runs_is_the_first_seeds_of_all_points(tmp_path: Path) -> None:
    _, jobs = planned(fairhaul.read(file_of(tmp_path)), [2, 2, 2, 2, 3, 1], "sim")
    assert [job.scenario.seed for job in jobs] == [1] * 6 + [2] * 5 + [3]
    assert len({job.digest for job in jobs[:6]}) == 6


def test_a_table_has_a_column_for_each_figure_and_a_row_without_runs(tmp_path: Path) -> None:
    plan, jobs = planned(fairhaul.read(file_of(tmp_path)), [2] * 6, "sim")
    attempt([jobs[0], jobs[6], jobs[1]], figures, Running(out=tmp_path / "s", jobs=1))
    table = rows(plan, Store(tmp_path / "s"))
    assert [len(row.runs) for row in table] == [2, 1, 0, 0, 0, 0]
    frame = points_frame(table)
    assert frame["runs"].to_list() == [2, 1, 0, 0, 0, 0]
    assert frame["jain"].null_count() == 4
    assert frame["theirs.goodput_bps_low"].null_count() == 5, "a single run has no range"
    # 0.5 bdp of 20 Mbit/s x 20 ms in packets of 1000 B.
    first = frame.row(0, named=True)
    assert [first[f"bottleneck.{name}"] for name in OF_QUEUES] == [20e6, 25, 0.01, 0.5]
    flows = flows_frame(table)
    assert flows.height == 6
    assert flows["seed"].to_list() == ["1", "1", "2", "2", "1", "1"]


def test_points_without_results_are_counted_and_no_rows_of_dashes(tmp_path: Path) -> None:
    plan, jobs = planned(fairhaul.read(file_of(tmp_path)), [1] * 6, "sim")
    attempt([jobs[0], jobs[2]], figures, Running(out=tmp_path / "s", jobs=1))
    plan.store(tmp_path / "s")
    table = grid(rows(plan, Store(tmp_path / "s")))
    assert len(table.rows) == 2
    # 20 Mbit/s x 20 ms are 50 packets of 1000 B, of which the points have 0.5 and 1.
    assert "The queue of bottleneck holds 25 to 50 packets, depending on the point." in table.notes
    assert "4 of 6 points have no result yet." in table.notes
    assert "4 of 6 points have no result yet." in read_sweep(tmp_path / "s").outcome().answer


def test_a_table_as_a_value_is_written_in_words() -> None:
    law = {"kind": "law", "increase": "1"}
    other = {"kind": "law", "increase": "2"}
    assert short_text(law, ["cubic", law]) == "law"
    assert short_text(law, [law, other]) == "law (increase = 1)"
    assert short_text(law, ["law", law]) == "law (increase = 1)"
    assert value_text({"kind": "red"}) == "red"
    assert value_text([{"rate": "1 Mbit/s"}, "x"]) == "rate = 1 Mbit/s, x"


def test_a_point_says_how_many_of_its_runs_are_stationary(tmp_path: Path) -> None:
    # With the smaller buffer a flow has 20 loss events in 30 s, and with the larger one it has not.
    keys = '"bottleneck.queue.capacity" = ["0.2 bdp", "8 bdp"]\nduration = ["30 s"]'
    text = SWEEP.partition("[sweep]")[0] + f"[sweep]\n{keys}\n"
    done = fairhaul.sweep(file_of(tmp_path, text), tmp_path / "s", seeds=2)
    assert done.frame()["stationary"].to_list() == [1.0, 0.0]
    assert done.frame("flows")["stationary"].to_list() == [True] * 4 + [False] * 4
    outcome = done.outcome()
    assert "At 1 of 2 points runs are too short to say anything about the long term" in (
        outcome.answer
    )
    points, _, every, *_ = outcome.evidence()
    assert [row[-1] for row in every.tables[0].rows] == ["2 of 2", "0 of 2"]
    for figure in points.drawn()[:2]:
        assert '"hollow": true' in json.dumps(figure.chart), figure.name
        assert figure.caption.endswith("Hollow points have runs that are not stationary.")


def test_before_the_first_sweep_the_list_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.status_of(["results", "list"]) == 0
    assert capsys.readouterr().out == ("No results yet in out: `fairhaul sweep FILE` makes some.\n")
    assert cli.status_of(["results", "list", "."]) == 2
    assert ". has no results of a sweep" in capsys.readouterr().err


def test_mistakes_of_a_sweep_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file_of(tmp_path)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "mine.txt").write_text("mine")
    assert sweep(tmp_path) == 2
    assert "exists and is not a store of results" in capsys.readouterr().err
    assert sweep(tmp_path, "--shard", "4/3") == 2
    assert "'4/3' is not a shard" in capsys.readouterr().err
    assert cli.status_of(["results", "table", str(tmp_path)]) == 2
    assert "no sweep.json" in capsys.readouterr().err


@pytest.mark.parametrize("more", [("--y", "nosuch"), ("--set", "flow.*.start=later")])
def test_a_refused_sweep_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    file = file_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.status_of(["sweep", file.name, *more]) == 2
    assert list(tmp_path.iterdir()) == [file]
    (tmp_path / "empty").mkdir()
    assert cli.status_of(["sweep", file.name, *more, "--out", "empty"]) == 2
    assert sorted(tmp_path.iterdir()) == [tmp_path / "empty", file]
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_sweep_that_does_not_fit_into_memory_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> int:
        raise ScenarioError("the run needs more memory than there is")

    monkeypatch.setattr("fairhaul.runs.run_pool.per_run", refused)
    with pytest.raises(ScenarioError, match="more memory"):
        fairhaul.sweep(file_of(tmp_path), tmp_path / "made" / "s")
    assert not (tmp_path / "made").exists()


def test_results_are_listed_exported_and_queried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file_of(tmp_path)
    assert sweep(tmp_path, "--seeds", "1") == 0
    place = str(tmp_path / "s")
    capsys.readouterr()
    assert cli.status_of(["results", "list", str(tmp_path)]) == 0
    assert "6 of 6" in capsys.readouterr().out
    for name in ("t.csv", "t.parquet", "t.json"):
        assert cli.status_of(["results", "export", place, str(tmp_path / name)]) == 0
        assert (tmp_path / name).stat().st_size > 500
    assert cli.status_of(["results", "export", place, "t.xls"]) == 2
    capsys.readouterr()
    query = "SELECT count(*) AS n FROM flows WHERE name = 'ours'"
    assert cli.status_of(["results", "sql", place, query, "--csv"]) == 0
    assert capsys.readouterr().out == "n\n6\n"
    assert cli.status_of(["results", "sql", place, "SELECT nothing FROM flows"]) == 2
    assert "nothing" in capsys.readouterr().err


def test_seeds_are_added_until_a_figure_is_precise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file_of(tmp_path)
    auto = ("--seeds", "auto", "--precise", "ours.share=0.05")
    assert sweep(tmp_path, *auto) == 0
    done = fairhaul.sweep(tmp_path / "two.toml", tmp_path / "s", seeds="ours.share=0.05")
    frame = done.frame()
    counts = frame["runs"].to_list()
    assert min(counts) >= 5
    assert max(counts) > 5, "some point needs more runs than the first five"
    for mean, low, high in frame.select("ours.share", "ours.share_low", "ours.share_high").rows():
        assert max(high - mean, mean - low) <= 0.05
    capsys.readouterr()
    assert sweep(tmp_path, "--seeds", "auto", "--precise", "ours.share=0.1%", "--budget", "1s") == 0
    assert "the budget ended before" in capsys.readouterr().err


def test_mistakes_in_a_precision_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file_of(tmp_path)
    for options, message in (
        (("--seeds", "auto"), "--seeds auto requires --precise"),
        (("--precise", "jain=0.1"), "--precise requires --seeds auto"),
        (("--seeds", "auto", "--precise", "jain"), "'jain' is not a precision"),
        (("--seeds", "auto", "--precise", "jian=0.1"), "did you mean 'jain'?"),
        (("--seeds", "auto", "--precise", "jain=0.1", "--budget", "soon"), "--budget soon"),
        (("--seeds", "auto", "--precise", "jain=0.1", "--shard", "1/2"), "--shard"),
        (("--seeds", "0"), "0 is not in the range"),
    ):
        assert sweep(tmp_path, *options) == 2, options
        assert message in capsys.readouterr().err


def test_the_number_of_runs_grows_with_the_square_of_the_width() -> None:
    precise = Precision(figure="x", within=0.1)
    estimates = {"x": {"mean": 0.5, "low": 0.38, "high": 0.61}}
    assert precise.runs(estimates, 3) == 5
    assert precise.runs(estimates, 10) == 15, "10 (0.12 / 0.1)^2 = 14.4"
    assert Precision(figure="x", within=0.01).runs(estimates, 10) == 20, "at most twice as many"
    assert Precision(figure="x", within=0.24, relative=True).runs(estimates, 10) == 10
    with pytest.raises(fairhaul.ScenarioError, match="unknown figure 'y'"):
        Precision(figure="y", within=1.0).runs(estimates, 10)

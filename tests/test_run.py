"""Runs, from the command line and from Python: what they print, write and leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fairhaul as package
from fairhaul import _core
from fairhaul.cli import status_of
from fairhaul.measures.types import Fairness, FlowFigures, LinkFigures, RunFigures
from fairhaul.record.record import TABLES
from fairhaul.runs import runs
from fairhaul.scenario import read as scenarios

from .conftest import ENDLESS, SMALL, Fairhaul

COLUMNS = {
    "flow_series": [
        *("t_s", "flow", "delivered_bytes", "goodput_bytes", "carried_bytes"),
        *("sent", "retransmitted", "copied", "lost"),
        *("cwnd_packets", "ssthresh_packets", "rtt_s", "one_way_s", "rtt_samples"),
    ],
    "link_series": [
        *("t_s", "link", "busy_s", "arrived", "dropped", "marked"),
        *("backlog_packets", "backlog_bytes"),
    ],
    "transfer": ["flow", "start_s", "end_s", "bytes"],
    "event": ["t_s", "kind", "flow", "value"],
    "gauge": ["t_s", "link", "gauge", "value"],
    "flow_gauge": ["t_s", "flow", "gauge", "value"],
}


OBJECT = {*("schema", "study", "title", "question", "answer", "values", "version", "command")}


def scenarios_of(printed: str) -> list[dict[str, Any]]:
    """The results of each scenario in what `run --json` prints."""
    found: list[dict[str, Any]] = json.loads(printed)["values"]["scenarios"]
    return found


def test_a_run_prints_one_object(small: Path, fairhaul: Fairhaul) -> None:
    done = fairhaul("run", small, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    whole = json.loads(done.stdout)
    assert whole.keys() == OBJECT
    assert (whole["schema"], whole["study"], whole["title"]) == (5, "run", "Two flows")
    assert whole["question"].startswith("How do 2 flows of reno share 10 Mbit/s")
    (of,) = whole["values"]["scenarios"]
    assert (of["title"], of["variant"]) == ("Two flows", {})
    (found,) = of["runs"]
    assert of["summary"]["fairness"]["jain"]["mean"] == found["fairness"]["jain"]
    assert of["summary"]["fairness"]["jain"]["low"] is None
    assert (found["engine"], found["seed"]) == ("sim", 1)
    assert found["version"] == package.__version__
    assert [flow["name"] for flow in found["flows"]] == ["near", "far"]
    assert [link["name"] for link in found["links"]] == ["bottleneck", "bottleneck (reverse)"]
    # Two flows that never stop fill 10 Mbit/s; of 1000 bytes 960 are payload.
    assert 0.8 < found["links"][0]["utilization"] <= 1
    assert 7.5e6 < sum(flow["goodput_bps"] for flow in found["flows"]) <= 9.6e6
    assert sum(flow["share"] for flow in found["flows"]) == pytest.approx(1)
    # What may wait in front of the bottleneck is 20 ms at the most.
    assert 0.04 < found["flows"][0]["rtt_mean_s"] < 0.065
    assert 0.5 < found["fairness"]["jain"] <= 1
    assert found["cpu_s"] > 0


def test_a_run_prints_a_table(small: Path, fairhaul: Fairhaul) -> None:
    done = fairhaul("run", small)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("measured; seed 1.", "near", "far", "bottleneck (reverse)", "Jain's index"):
        assert word in done.stdout


def test_seeds_give_runs_and_a_summary(small: Path, fairhaul: Fairhaul) -> None:
    (found,) = scenarios_of(fairhaul("run", small, "--seeds", 3, "--json").stdout)
    assert [run["seed"] for run in found["runs"]] == [1, 2, 3]
    rates = [run["flows"][1]["goodput_bps"] for run in found["runs"]]
    mean = found["summary"]["flows"][1]["goodput_bps"]
    assert mean["mean"] == pytest.approx(sum(rates) / 3)
    assert (mean["low"], mean["high"], mean["interval"]) == (min(rates), max(rates), "range")
    assert len(set(rates)) == 3


def shape(value: Any) -> Any:
    """The keys of an object, all the way down; of a list the shape of its first item."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(value[0])] if isinstance(value, list) and value else None


def test_results_have_one_shape_whatever_the_number_of_seeds(
    small: Path, fairhaul: Fairhaul
) -> None:
    shapes = []
    for args, seeds in (((), None), (("--seeds", 1), 1), (("--seeds", 2), 2)):
        printed = json.loads(fairhaul("run", small, *args, "--json").stdout)
        from_python = package.run(small, seeds=seeds).to_dict()
        json.dumps(from_python, allow_nan=False)
        shapes += [shape(printed), shape(from_python)]
    assert all(one == shapes[0] for one in shapes)
    assert shapes[0].keys() == OBJECT


def test_several_scenarios_are_a_list_from_both(small: Path, fairhaul: Fairhaul) -> None:
    small.write_text(SMALL + '[sweep]\n"flow.near.rtt" = ["40 ms", "60 ms"]\n')
    printed = json.loads(fairhaul("run", small, "--json").stdout)
    from_python = package.run_many(package.read(small)).to_dict()
    assert shape(printed) == shape(from_python)
    assert len(printed["values"]["scenarios"]) == 2
    assert printed["values"]["scenarios"][0].keys() == {"title", "variant", "runs", "summary"}


def test_the_types_of_results_name_every_key() -> None:
    found: Any = package.run(SMALL).measures[0]
    assert found.keys() <= RunFigures.__required_keys__ | RunFigures.__optional_keys__
    assert found.keys() >= RunFigures.__required_keys__
    assert found["flows"][0].keys() >= FlowFigures.__required_keys__
    assert found["links"][0].keys() == LinkFigures.__required_keys__
    assert found["fairness"].keys() == Fairness.__required_keys__


def test_answers_come_one_by_one_and_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    real = _core.Run

    def counted(scenario: package.Scenario, *rest: Any) -> _core.Run:
        begun.append(scenario.seed)
        return real(scenario, *rest)

    monkeypatch.setattr("fairhaul._core.Run", counted)
    scenarios = [package.read(SMALL, {"duration": "6 s", "seed": i})[0] for i in range(40)]
    answers = package.run_each(scenarios, jobs=2)
    first = next(answers)
    assert first.measures[0]["seed"] == 0
    # 4 for each of 2 at a time, and those of one answer, are begun before they are taken.
    assert len(begun) <= 1 + 4 * 2 + 1
    assert [answer.measures[0]["seed"] for answer in answers] == list(range(1, 40))


def test_an_interrupt_while_an_answer_is_awaited_stops_the_runs() -> None:
    # Without the interrupt it would end by the limit of time of a test alone.
    with pytest.raises(KeyboardInterrupt):
        next(package.run_each(package.read(ENDLESS), on_progress=_interrupt))


def _interrupt(_: runs.Progress) -> None:
    raise KeyboardInterrupt


def test_numpy_numbers_are_accepted() -> None:
    number: Any = np.int64
    answer = package.run(SMALL, {"seed": np.int64(3)}, seeds=number(2), jobs=number(1))
    assert [run["seed"] for run in answer.measures] == [3, 4]
    json.dumps(answer.to_dict(), allow_nan=False)
    done = package.compare(["reno"], rate="5 Mbit/s", rtt="20 ms", buffer="1 bdp", seeds=number(1))
    json.dumps(done.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (("flow.near.rtt=10 h",), "its path has a round-trip time of 36000 s"),
        (("flow.near.start=19.99 s",), "it starts at 19.99 s"),
        (("bottleneck.rate=1 bit/s",), "a packet of 1000 B takes 9600 s"),
        ((), None),
    ],
)
def test_a_flow_of_which_nothing_can_be_delivered_is_a_warning(
    settings: tuple[str, ...], why: str | None, small: Path, fairhaul: Fairhaul
) -> None:
    set_ = [part for one in settings for part in ("--set", one)]
    done = fairhaul("run", small, *set_)
    assert (done.returncode, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    assert ("Warning: flow 'near' cannot deliver any data" in said) == (why is not None)
    (found,) = scenarios_of(fairhaul("run", small, *set_, "--json").stdout)[0]["runs"]
    if why is None:
        assert "warnings" not in found
        return
    assert why in found["warnings"][0]
    assert found["flows"][0]["goodput_bps"] == 0


def test_settings_change_the_scenario(small: Path, fairhaul: Fairhaul) -> None:
    args = ("--set", "flow.near.controller=scalable", "--set", "duration=10 s", "--set", "seed=9")
    (found,) = scenarios_of(fairhaul("run", small, *args, "--json").stdout)[0]["runs"]
    assert found["flows"][0]["controller"] == "scalable"
    assert found["seed"] == 9
    assert found["fairness"]["jain_by_window"].keys() == {"0.1", "0.2", "0.5", "1", "2", "5"}


def test_a_sweep_runs_every_variant(small: Path, fairhaul: Fairhaul) -> None:
    small.write_text(SMALL + '[sweep]\n"flow.near.rtt" = ["40 ms", "60 ms"]\n')
    found = scenarios_of(fairhaul("run", small, "--json").stdout)
    assert [one["variant"] for one in found] == [
        {"flow.near.rtt": "40 ms"},
        {"flow.near.rtt": "60 ms"},
    ]


def test_a_transfer_has_a_completion_time(small: Path, fairhaul: Fairhaul) -> None:
    # 960 kB at 10 Mbit/s take at least 1000 packets x 0.8 ms.
    args = ("--set", "flow.near.traffic=960 kB", "--set", "flow.far.start=6 s")
    (found,) = scenarios_of(fairhaul("run", small, *args, "--json").stdout)[0]["runs"]
    assert 0.8 < found["flows"][0]["completion_s"] < 3
    assert found["flows"][1]["completion_s"] is None


def test_a_record_is_written_and_read_back(small: Path, fairhaul: Fairhaul) -> None:
    done = fairhaul("run", small, "--out", "deep/out", "--json")
    out = small.parent / "deep" / "out"
    names = {"meta.json", *(f"{name}.parquet" for name in TABLES)}
    assert {file.name for file in out.iterdir()} == names
    for name, columns in COLUMNS.items():
        assert pl.read_parquet(out / f"{name}.parquet").columns == columns
    again = package.measure(package.read_record(out))
    # The processor time of a run is not a part of its record.
    assert [again] == [{**run, "cpu_s": None} for run in scenarios_of(done.stdout)[0]["runs"]]
    assert sorted(out.parent.iterdir()) == [out]


def test_many_records_get_a_directory_each(small: Path, fairhaul: Fairhaul) -> None:
    done = fairhaul("run", small, "--seeds", 2, "--out", "out")
    assert done.returncode == 0
    out = small.parent / "out"
    names = ["001-two-flows-seed-1", "002-two-flows-seed-2"]
    assert sorted(place.name for place in out.iterdir()) == names
    assert package.read_record(out / names[1]).meta["seed"] == 2
    # Of a sweep, by what was swept.
    small.write_text(
        f'{small.read_text()}\n[sweep]\n"bottleneck.rate" = ["1.5 Mbit/s", "2 Mbit/s"]\n'
    )
    assert fairhaul("run", small, "--out", "swept").returncode == 0
    names = ["001-rate-1.5-mbit-s-seed-1", "002-rate-2-mbit-s-seed-1"]
    assert sorted(place.name for place in (small.parent / "swept").iterdir()) == names


def test_the_same_scenario_and_seed_give_the_same_tables() -> None:
    one, other = (package.run(SMALL).records[0] for _ in range(2))
    for name, table in one.tables().items():
        assert table.equals(other.tables()[name], null_equal=True), name
    different = package.run(SMALL, {"seed": 2}).records[0]
    assert not one.flow_series.equals(different.flow_series)


def test_many_runs_are_those_run_alone() -> None:
    scenarios = package.read(SMALL) + package.read(SMALL, {"seed": 5})
    answers = package.run_many(scenarios, seeds=2, jobs=3)
    assert [[m["seed"] for m in answer.measures] for answer in answers] == [[1, 2], [5, 6]]
    alone = package.run(SMALL, {"seed": 6}).records[0]
    assert answers[1].records[1].flow_series.equals(alone.flow_series)


def test_a_value_that_is_missing_is_null() -> None:
    record = package.run(SMALL, {"flow.far.start": "10 s"}).records[0]
    before = record.flow_series.filter((pl.col("flow") == "far") & (pl.col("t_s") < 9))
    assert before["rtt_s"].null_count() == before.height
    assert record.transfer["end_s"].null_count() == 2


def test_progress_is_reported_and_ends_at_the_total() -> None:
    seen: list[runs.Progress] = []
    package.run(SMALL, seeds=2, on_progress=seen.append)
    assert seen[-1].runs == 2
    assert seen[-1].total_s == 40
    assert seen[-1].reached_s == 40


def test_a_failing_run_is_one_line(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = "Two flows, seed 1, at 3 s of simulated time: a packet is missing"

    class Broken:
        reached_s = 3.0

        def __init__(self, *_: object) -> None:
            pass

        def run(self) -> None:
            raise package.RunError(reason)

        def stop(self) -> None:
            pass

    monkeypatch.setattr("fairhaul._core.Run", Broken)
    assert status_of(["run", str(small), "--out", str(small.parent / "out")]) == 1
    said = capsys.readouterr()
    assert said.err == f"fairhaul: {reason}\n"
    assert said.out == ""
    assert sorted(small.parent.iterdir()) == [small]


def test_a_stopped_run_raises_stopped() -> None:
    from fairhaul import _core

    run = _core.Run(package.read(ENDLESS)[0])
    run.stop()
    with pytest.raises(package.Stopped, match="seed 1: stopped"):
        run.run()
    assert issubclass(package.Stopped, package.RunError)


@pytest.mark.parametrize(
    ("args", "how"),
    [
        ([], signal.SIGINT),
        (["--seeds", "3", "--json"], signal.SIGINT),
        ([], signal.SIGTERM),
        ([], signal.SIGHUP),
    ],
)
def test_an_interrupt_ends_at_once_and_leaves_nothing(
    tmp_path: Path, args: list[str], how: signal.Signals
) -> None:
    file = tmp_path / "endless.toml"
    file.write_text(ENDLESS)
    command = [sys.executable, "-m", "fairhaul", "run", str(file), "--out", "out", *args]
    # A suite that runs under nohup ignores SIGHUP, and so would the command.
    process = subprocess.Popen(
        ["env", "--default-signal", *command],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while len(list(tmp_path.iterdir())) == 1:  # until the draft of `out` is there
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        before = time.monotonic()
        os.kill(process.pid, how)
        out, err = process.communicate(timeout=10)
    finally:
        process.kill()
    assert time.monotonic() - before < 2
    assert process.returncode == 128 + how
    assert out == ""
    assert err.splitlines()[-1] == "fairhaul: interrupted"
    assert sorted(tmp_path.iterdir()) == [file]


def test_a_progress_bar_names_the_runs_briefly() -> None:
    (alone,) = package.read(SMALL)
    swept = package.read(SMALL + '[sweep]\n"flow.near.rtt" = ["40 ms", "60 ms"]\n')
    assert scenarios.label(alone) == "Two flows, seed 1"
    assert scenarios.label(swept[1].with_seed(7)) == "rtt = 60 ms, seed 7"


@pytest.mark.parametrize(
    ("capacity", "overhead", "warns"),
    [("2 packets", None, True), ("2 packets", "0 s", False), ("3 packets", None, False)],
)
def test_a_queue_of_two_packets_under_the_default_overhead_is_a_warning(
    capacity: str, overhead: str | None, warns: bool
) -> None:
    keys: dict[str, Any] = {"bottleneck.queue.capacity": capacity}
    if overhead is not None:
        keys |= {"flow.*.overhead": overhead}
    (found,) = package.run(SMALL, keys, engine="sim").measures
    said = [text for text in found.get("warnings", ()) if "holds 2 packets" in text]
    assert [text.startswith("the queue of 'bottleneck' holds") for text in said] == [True] * warns

"""The cells on which both engines are compared, and what is kept of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fairhaul import RunError, cells
from fairhaul.answers import valid_runs
from fairhaul.cells import work
from fairhaul.cells.table import CELLS
from fairhaul.record import Record
from fairhaul.runs import Engine
from fairhaul.scenario import ScenarioError, read_one
from tests.conftest import Fairhaul

NAME = "reno-20M-20ms-1bdp"
OTHER = "reno-100M-40ms-1bdp"
FIGURES = {"link_share": 0.99, "rtt_ms": 31.0, "cycle_s": 1.0}


def test_there_are_24_cells_of_which_8_are_quoted() -> None:
    assert len(CELLS) == 24
    assert sum(cell.quoted for cell in CELLS.values()) == 8
    used = {name for cell in CELLS.values() for name in cell.controllers}
    assert used == {"reno", "cubic", "bbr", "highspeed", "fhstcp", "ghstcp", "scalable"}
    assert {cell.rate_mbps for cell in CELLS.values()} >= {20, 200}
    assert {rtt for cell in CELLS.values() for rtt in cell.rtts_ms} >= {20, 100}
    assert {cell.buffer_bdp for cell in CELLS.values()} == {0.5, 1, 2}


@pytest.mark.parametrize("name", CELLS)
def test_every_cell_is_a_scenario(name: str) -> None:
    described = json.loads(read_one(CELLS[name].scenario(30.0)).describe())
    assert len(described["flows"]) == len(CELLS[name].controllers)
    assert described["duration_s"] == 40.0


class Engines:
    """Both engines, without a run."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, cycle_s: float | None, out: Path | None = None
    ) -> None:
        self.calls: list[tuple[Engine, str, int]] = []
        self.out = out
        self.fails_at: str | None = None
        monkeypatch.setattr(work, "predicted_cycle_s", lambda _: cycle_s)
        monkeypatch.setattr(work, "_run", self._run)
        monkeypatch.setattr("fairhaul.lab.refuse_without_root", lambda: None)

    def _run(self, tasks: Any, engine: Engine, _jobs: Any, _watch: Any, done: Any) -> None:
        for task in tasks:
            if engine == "lab" and task.cell.name == self.fails_at:
                raise RunError("it broke")
            if engine == "lab" and self.out is not None:
                before = json.loads((self.out / f"{task.cell.name}.json").read_text())
                assert (before["lab"], before["sim"]["link_share"]) == (None, [0.99] * 5)
            self.calls.append((engine, task.cell.name, task.repeats))
            figures = {key: [value] * task.repeats for key, value in FIGURES.items()}
            done(task.cell, figures, 0)


def test_what_the_simulator_says_is_written_down_before_the_kernel_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engines = Engines(monkeypatch, 1.0, tmp_path)
    one, two = cells.compare([NAME, OTHER], out=tmp_path)
    assert engines.calls == [
        ("sim", NAME, 5),
        ("sim", OTHER, 5),
        ("lab", NAME, 5),
        ("lab", OTHER, 1),
    ]
    assert [one.ratio("rtt_ms"), two.ratio("rtt_ms")] == [1.0, 1.0]


def test_what_is_there_is_not_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engines = Engines(monkeypatch, 1.0)
    first = cells.compare([NAME], out=tmp_path, repeats=2)
    again = cells.compare([NAME], out=tmp_path, repeats=2)
    assert engines.calls == [("sim", NAME, 5), ("lab", NAME, 2)]
    assert [one.to_dict() for one in first] == [one.to_dict() for one in again]
    # More runs than there are: those of the kernel are made anew.
    cells.compare([NAME], out=tmp_path, repeats=3)
    assert engines.calls[2:] == [("lab", NAME, 3)]
    # All of a cell is, where its file is half of one.
    (tmp_path / f"{NAME}.json").write_text("{")
    cells.compare([NAME], out=tmp_path, repeats=3)
    assert engines.calls[3:] == [("sim", NAME, 5), ("lab", NAME, 3)]


def test_what_another_build_simulated_is_run_again_and_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engines = Engines(monkeypatch, 1.0)
    cells.compare([NAME], out=tmp_path, repeats=2)
    engines.calls = []
    monkeypatch.setattr(work, "build", lambda: "another")
    told: list[str] = []
    cells.compare([NAME], out=tmp_path, repeats=2, on_event=told.append)
    # What the kernel gave does not hang on the simulator.
    assert engines.calls == [("sim", NAME, 5)]
    assert "were simulated by another build" in told[0]
    kept = json.loads((tmp_path / f"{NAME}.json").read_text())
    assert (kept["build"], len(kept["lab"]["rtt_ms"])) == ("another", 2)
    # A cell that has become another scenario is none of ours.
    kept["scenario"]["packet"] = "1000 B"
    (tmp_path / f"{NAME}.json").write_text(json.dumps(kept))
    cells.compare([NAME], out=tmp_path, repeats=2)
    assert engines.calls[1:] == [("sim", NAME, 5), ("lab", NAME, 2)]


def test_what_was_interrupted_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engines = Engines(monkeypatch, 1.0)
    engines.fails_at = OTHER
    with pytest.raises(RunError, match="it broke"):
        cells.compare([NAME, OTHER], out=tmp_path)
    engines.calls, engines.fails_at = [], None
    cells.compare([NAME, OTHER], out=tmp_path)
    assert engines.calls == [("lab", OTHER, 1)]


def test_a_long_cycle_is_the_simulators_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engines = Engines(monkeypatch, 20.5)
    (done,) = cells.compare([NAME], out=tmp_path)
    (again,) = cells.compare([NAME], out=tmp_path)
    assert engines.calls == [("sim", NAME, 5)]
    assert done.lab is None
    assert again.alone
    assert done.ratio("rtt_ms") is None


def test_runs_are_gathered_by_cell_and_those_that_do_not_count_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def measured(valid: bool, rtt_s: float) -> dict[str, Any]:
        trust = {"valid": valid, "reasons": [], "lag": {"p99_s": 5e-5}}
        return run("lab", 1448) | {
            "title": "x",
            "trust": trust,
            "flows": [run("lab", 1448)["flows"][0] | {"rtt_mean_s": rtt_s}],
        }

    # The runs of two cells end in any order.
    ends = {0: (True, 0.03), 1: (False, 9.0), 2: (True, 0.04), 3: (True, 0.05)}

    def for_each(plan: Any, then: Any, **_: Any) -> None:
        assert len(plan) == 4
        for index in (3, 2, 0, 1):
            then(index, index)

    monkeypatch.setattr("fairhaul.runs.for_each", for_each)
    monkeypatch.setattr("fairhaul.measures.measure", lambda index: measured(*ends[index]))
    monkeypatch.setattr(work, "cycle_s", lambda _: 3.0)
    told: list[Any] = []
    tasks = [
        work.Task(cell=CELLS[NAME], measured_s=30.0, repeats=3),
        work.Task(cell=CELLS[OTHER], measured_s=30.0, repeats=1),
    ]
    work._run(tasks, "lab", None, None, lambda cell, f, bad: told.append((cell.name, f, bad)))
    (other, figures, none), (name, both, bad) = told
    assert (other, figures["rtt_ms"], none) == (OTHER, [50.0], 0)
    assert (name, both["rtt_ms"], bad) == (NAME, [30.0, 40.0], 1)
    assert both["lag_p99_us"] == [pytest.approx(50.0)] * 2


def run(engine: str, payload: int) -> dict[str, Any]:
    flow = {
        "goodput_bps": 20e6 * payload / 1500,
        "share": 1.0,
        "rtt_mean_s": 0.03,
        "cwnd_mean": 50.0,
    }
    links, fairness = [{"drop_rate": 1e-3}], {"jain": 1.0}
    return {
        "engine": engine,
        "flows": [flow],
        "links": links,
        "fairness": fairness,
        "cycle_s": 3.0,
    }


def test_goodput_is_held_against_what_full_packets_carry() -> None:
    for engine, payload in (("lab", 1448), ("sim", 1460)):
        found = work.figures_of(run(engine, payload), CELLS[NAME])
        assert found["link_share"] == pytest.approx(1.0)
        assert found["cycle_s"] == 3.0


def test_a_cycle_is_from_the_first_loss_that_is_measured_to_the_last() -> None:
    def record(times: list[float]) -> Record:
        event = pl.DataFrame(
            {"t_s": times, "kind": "reduction", "flow": "1", "value": 9.0},
            schema={"t_s": pl.Float64, "kind": pl.String, "flow": pl.String, "value": pl.Float64},
        )
        scenario = {"flows": [{"name": "1"}, {"name": "2"}], "warmup_s": 10.0}
        none = pl.DataFrame()
        tables: Any = dict.fromkeys(("flow_series", "link_series", "transfer"), none)
        return Record(meta={"scenario": scenario}, event=event, **tables)

    assert work.cycle_s(record([3.0, 12.0, 15.5, 18.0])) == 3.0
    assert work.cycle_s(record([3.0, 12.0])) is None
    assert work.cycle_s(record([])) is None


def test_a_run_that_is_not_to_be_believed_is_never_averaged_in() -> None:
    good: Any = {"title": "x", "trust": {"valid": True, "reasons": []}}
    bad: Any = {"title": "x", "trust": {"valid": False, "reasons": ["late"]}}
    assert valid_runs([good, bad]) == [good]
    with pytest.raises(RunError, match="x: no run is valid: late"):
        valid_runs([bad, bad])


def test_an_unknown_cell_is_told_the_nearest(fairhaul: Fairhaul) -> None:
    with pytest.raises(ScenarioError, match=NAME):
        cells.compare(["reno-20M-20ms-1bpd"])
    done = fairhaul("lab", "cells", "--cells", "reno-20M-20ms-1bpd")
    assert done.returncode == 2
    assert NAME in done.stderr
    assert fairhaul("lab", "cells", "--list").stdout.split() == list(CELLS)

"""The cells on which both engines are compared, and what is kept of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from fairhaul import RunError, _core
from fairhaul.jobs.store import Store
from fairhaul.record.record import Record
from fairhaul.results.summary import valid_runs
from fairhaul.scenario.read import ScenarioError, read_one
from fairhaul.studies import cells
from fairhaul.studies.cells import figures, work
from fairhaul.studies.cells.table import CELLS
from tests.conftest import Fairhaul

NAME = "reno-20M-20ms-1bdp"
OTHER = "reno-100M-40ms-1bdp"
FIGURES: dict[str, float | None] = {"link_share": 0.99, "cycle_s": 1.0}


def test_there_are_34_cells_of_which_13_are_quoted() -> None:
    assert len(CELLS) == 34
    assert sum(cell.quoted for cell in CELLS.values()) == 13
    used = {name for cell in CELLS.values() for name in cell.controllers}
    assert used == {"reno", "cubic", "bbr", "bbr3", "highspeed", "fhstcp", "ghstcp", "scalable"}
    assert {cell.rate_mbps for cell in CELLS.values()} >= {20, 200}
    assert {rtt for cell in CELLS.values() for rtt in cell.rtts_ms} >= {20, 100}
    assert {cell.buffer_bdp for cell in CELLS.values()} == {0.25, 0.5, 1, 2, 4}
    assert "bbr3-50M-40ms-1bdp-1%loss" in CELLS


@pytest.mark.parametrize("name", CELLS)
def test_every_cell_is_a_scenario(name: str) -> None:
    described = json.loads(read_one(CELLS[name].scenario(30.0)).describe())
    assert len(described["flows"]) == len(CELLS[name].controllers)
    assert described["duration_s"] == 40.0


@dataclass
class Ran:
    """A run that nothing has run: what `compare` looks at of a record."""

    meta: Mapping[str, Any]


class Engines:
    """Both engines, without a run: what they are told to run, and what they give."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cycle_s: float | None, out: Path) -> None:
        self.calls: list[tuple[str, str, int]] = []
        self.out = out
        self.fails_at: str | None = None
        self.invalid: set[int] = set()
        monkeypatch.setattr(work, "predicted", lambda *_: {"cycle_s": cycle_s})
        monkeypatch.setattr(work, "figures_of", self._figures)
        monkeypatch.setattr("fairhaul.jobs.values.for_each", self._for_each)
        monkeypatch.setattr("fairhaul.runs.lab.refuse_if_impossible", lambda _: None)

    def _for_each(self, plan: Any, then: Any, *, engine: str, **_: Any) -> list[None]:
        if engine == "lab" and plan:
            kept = Store(self.out)
            assert {"cell prediction", "cell figures"} == set(kept.column("result", "of"))
        for index, scenario in enumerate(plan):
            if engine == "lab" and scenario.title == self.fails_at:
                raise RunError("it broke")
            trust = {"valid": index not in self.invalid, "reasons": ["late"]}
            told = {"engine": engine, "cpu_s": 1.0, "packets": 9, "seed": scenario.seed}
            then(index, Ran(told | ({"trust": trust} if engine == "lab" else {})))
            of = f"{engine} {scenario.duration_s:g} s"
            self.calls.append((of, scenario.title, scenario.seed))
        return []

    def _figures(self, _: Any, record: Ran) -> dict[str, float | None]:
        return FIGURES | {"rtt_ms": 30.0 + record.meta["seed"]}

    def told(self) -> dict[tuple[str, str], int]:
        """Give the number of runs of each cell on each engine since the last call."""
        counts = Counter((of, title) for of, title, _ in self.calls)
        self.calls = []
        return dict(counts)


def test_what_the_simulator_says_is_stored_before_the_kernel_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engines = Engines(monkeypatch, 1.0, tmp_path)
    one, two = cells.compare([NAME, OTHER], out=tmp_path).cells
    assert engines.told() == {
        ("sim 310 s", NAME): 1,
        ("sim 310 s", OTHER): 1,
        ("sim 40 s", NAME): 5,
        ("sim 40 s", OTHER): 5,
        ("lab 40 s", NAME): 5,
        ("lab 40 s", OTHER): 1,
    }
    assert one.by["sim"] is not None
    assert one.by["sim"]["rtt_ms"] == [31.0, 32.0, 33.0, 34.0, 35.0]
    assert one.ratio("rtt_ms") == 1.0
    assert two.ratio("rtt_ms") == pytest.approx(33 / 31)


def test_what_is_there_is_not_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engines = Engines(monkeypatch, 1.0, tmp_path)
    first = cells.compare([NAME], out=tmp_path, seeds=2)
    engines.told()
    again = cells.compare([NAME], out=tmp_path, seeds=2)
    assert engines.told() == {}
    assert first.to_dict() == again.to_dict()
    cells.compare([NAME], out=tmp_path, seeds=3)
    assert engines.told() == {("lab 40 s", NAME): 1}


def test_another_build_runs_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engines = Engines(monkeypatch, 1.0, tmp_path)
    cells.compare([NAME], out=tmp_path, seeds=2)
    first = engines.told()
    monkeypatch.setattr(_core, "__version__", "99.0")
    cells.compare([NAME], out=tmp_path, seeds=2)
    assert engines.told() == first


def test_what_was_interrupted_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engines = Engines(monkeypatch, 1.0, tmp_path)
    engines.fails_at = OTHER
    with pytest.raises(RunError, match="it broke"):
        cells.compare([NAME, OTHER], out=tmp_path)
    engines.told()
    engines.fails_at = None
    cells.compare([NAME, OTHER], out=tmp_path)
    assert engines.told() == {("lab 40 s", OTHER): 1}


def test_a_long_cycle_is_measured_for_longer_and_one_of_over_20_s_by_the_simulator_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engines = Engines(monkeypatch, 8.1, tmp_path / "long")
    cells.compare([NAME], out=tmp_path / "long", seeds=1)
    assert engines.told() == {
        ("sim 310 s", NAME): 1,
        ("sim 60 s", NAME): 5,
        ("lab 60 s", NAME): 1,
    }
    engines = Engines(monkeypatch, 20.5, tmp_path / "longer")
    (done,) = cells.compare([NAME], out=tmp_path / "longer").cells
    assert engines.told() == {("sim 310 s", NAME): 1, ("sim 120 s", NAME): 5}
    assert done.by["lab"] is None
    assert done.ratio("rtt_ms") is None


def test_an_invalid_run_is_neither_averaged_nor_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engines = Engines(monkeypatch, 1.0, tmp_path)
    engines.invalid = {1}
    (done,) = cells.compare([NAME], out=tmp_path, seeds=3).cells
    assert done.by["lab"]
    assert done.by["lab"]["rtt_ms"] == [31.0, 33.0]
    engines.told()
    engines.invalid = {0}
    with pytest.raises(RunError, match="no run is valid: late"):
        cells.compare([OTHER], out=tmp_path, seeds=1)
    engines.told()
    engines.invalid = set()
    (done,) = cells.compare([NAME], out=tmp_path, seeds=3).cells
    assert engines.told() == {("lab 40 s", NAME): 1}
    assert done.by["lab"]
    assert done.by["lab"]["rtt_ms"] == [31.0, 32.0, 33.0]


def test_a_cell_without_a_valid_run_is_named_and_leaves_the_others_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engines = Engines(monkeypatch, 1.0, tmp_path)
    engines.invalid = {0}
    told: list[str] = []
    done = cells.compare([NAME, OTHER], out=tmp_path, seeds=1, on_event=told.append)
    assert [one.by["lab"] is None for one in done.cells] == [True, False]
    assert told[-1] == f"{NAME}: no run is valid: late"


def test_a_directory_that_is_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(ScenarioError, match="is not a store of results"):
        cells.compare([NAME], out=tmp_path)


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
    }


def test_goodput_is_held_against_what_full_packets_carry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "cycle_s", lambda _: 3.0)
    scenario = read_one(CELLS[NAME].scenario(30.0))
    plain = read_one(CELLS[NAME].scenario(30.0), {"profile": "plain"})
    for of, engine, payload in (
        (scenario, "lab", 1448),
        (plain, "lab", 1448),
        (scenario, "sim", 1448),
        (plain, "sim", 1460),
    ):
        monkeypatch.setattr(figures, "measure", partial(lambda done, _: done, run(engine, payload)))
        record: Any = SimpleNamespace(meta={"scenario": of.described})
        found = figures.figures_of(of, record)
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

    assert figures.cycle_s(record([3.0, 12.0, 15.5, 18.0])) == 3.0
    assert figures.cycle_s(record([3.0, 12.0])) is None
    assert figures.cycle_s(record([])) is None


def test_a_run_that_is_not_to_be_believed_is_never_averaged_in() -> None:
    good: Any = {"title": "x", "trust": {"valid": True, "reasons": []}}
    bad: Any = {"title": "x", "trust": {"valid": False, "reasons": ["late"]}}
    assert valid_runs([good, bad]) == [good]
    with pytest.raises(RunError, match="x: no run is valid: late"):
        valid_runs([bad, bad])


def test_an_unknown_cell_is_told_the_nearest(fairhaul: Fairhaul, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=NAME):
        cells.compare(["reno-20M-20ms-1bpd"], out=tmp_path)
    done = fairhaul("lab", "cells", "--cells", "reno-20M-20ms-1bpd")
    assert done.returncode == 2
    assert NAME in done.stderr
    assert fairhaul("lab", "cells", "--list").stdout.split() == list(CELLS)

"""The cells on which both engines are compared, and what is kept of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairhaul import RunError, cells
from fairhaul.cells import work
from fairhaul.cells.table import CELLS
from fairhaul.runs import Engine, believed
from fairhaul.scenario import ScenarioError, read_one
from tests.conftest import Fairhaul

NAME = "reno-20M-20ms-1bdp"
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

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cycle_s: float | None) -> None:
        self.calls: list[tuple[Engine, int]] = []
        self.seen_before_lab: Any = None
        self.place: Path | None = None
        monkeypatch.setattr(work, "predicted_cycle_s", lambda _: cycle_s)
        monkeypatch.setattr(work, "_run", self._run)

    def _run(self, _cell: Any, _s: float, repeats: int, on: Engine, _watch: Any) -> Any:
        self.calls.append((on, repeats))
        if on == "lab" and self.place is not None:
            self.seen_before_lab = json.loads(self.place.read_text())
        return {key: [value] * repeats for key, value in FIGURES.items()}, 0


def test_what_the_simulator_says_is_written_down_before_the_kernel_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engines = Engines(monkeypatch, 1.0)
    engines.place = tmp_path / f"{NAME}.json"
    (done,) = cells.compare([NAME], out=tmp_path)
    assert engines.calls == [("sim", 5), ("lab", 5)]
    assert engines.seen_before_lab["lab"] is None
    assert engines.seen_before_lab["sim"]["link_share"] == [0.99] * 5
    assert done.ratio("rtt_ms") == 1.0


def test_what_is_there_is_not_run_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engines = Engines(monkeypatch, 1.0)
    first = cells.compare([NAME], out=tmp_path, repeats=2)
    again = cells.compare([NAME], out=tmp_path, repeats=2)
    assert engines.calls == [("sim", 5), ("lab", 2)]
    assert [one.to_dict() for one in first] == [one.to_dict() for one in again]
    # More runs than there are: all of the cell is run anew.
    cells.compare([NAME], out=tmp_path, repeats=3)
    assert engines.calls[2:] == [("sim", 5), ("lab", 3)]
    # As is one whose file is half of one.
    (tmp_path / f"{NAME}.json").write_text("{")
    cells.compare([NAME], out=tmp_path, repeats=3)
    assert engines.calls[4:] == [("sim", 5), ("lab", 3)]


def test_a_long_cycle_is_the_simulators_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engines = Engines(monkeypatch, 20.5)
    (done,) = cells.compare([NAME], out=tmp_path)
    assert engines.calls == [("sim", 5)]
    assert done.lab is None
    assert done.ratio("rtt_ms") is None


def test_goodput_is_held_against_what_full_packets_carry() -> None:
    def run(engine: str, payload: int) -> dict[str, Any]:
        flow = {
            "goodput_bps": 20e6 * payload / 1500,
            "share": 1.0,
            "rtt_mean_s": 0.03,
            "cwnd_mean": 50.0,
            "loss_events": 10,
        }
        links, fairness = [{"drop_rate": 1e-3}], {"jain": 1.0}
        return {"engine": engine, "flows": [flow], "links": links, "fairness": fairness}

    for engine, payload in (("lab", 1448), ("sim", 1460)):
        found = work.figures_of(run(engine, payload), CELLS[NAME], 30.0)
        assert found["link_share"] == pytest.approx(1.0)
        assert found["cycle_s"] == 3.0


def test_a_run_that_is_not_to_be_believed_is_never_averaged_in() -> None:
    good: dict[str, Any] = {"title": "x", "trust": {"valid": True, "reasons": []}}
    bad: dict[str, Any] = {"title": "x", "trust": {"valid": False, "reasons": ["late"]}}
    assert believed([good, bad]) == [good]
    with pytest.raises(RunError, match="x: no run is to be believed: late"):
        believed([bad, bad])


def test_an_unknown_cell_is_told_the_nearest(fairhaul: Fairhaul) -> None:
    with pytest.raises(ScenarioError, match=NAME):
        cells.compare(["reno-20M-20ms-1bpd"])
    done = fairhaul("lab", "cells", "--cells", "reno-20M-20ms-1bpd")
    assert done.returncode == 2
    assert NAME in done.stderr
    assert fairhaul("lab", "cells", "--list").stdout.split() == list(CELLS)

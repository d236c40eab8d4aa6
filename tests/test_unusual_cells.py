"""The unusual cells, and the judgement of their figures."""

from __future__ import annotations

import json

import pytest

from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_one
from fairhaul.studies.cells import UNUSUAL, Compared, agreement
from fairhaul.studies.cells.figures import figures_of
from tests.conftest import Fairhaul
from tools.unusual import compared, kept, measure

KINDS = {"pause", "reorder", "ack", "undone", "longer", "rate", "policer", "shallow", "marks"}
# The controllers of the kernel that no other test compares with it.
OF_LINUX = {"yeah", "veno", "hybla", "lp", "nv", "cdg"}


def test_there_is_a_cell_of_each_kind_for_every_controller_that_it_means_something_to() -> None:
    kinds = {cell.kind.partition("-")[0] for cell in UNUSUAL.values()}
    assert kinds >= KINDS
    single = [cell for cell in UNUSUAL.values() if len(cell.controllers) == 1]
    for kind in {cell.kind for cell in single} - {"marks"}:
        controllers = {cell.controllers[0] for cell in single if cell.kind == kind}
        assert controllers in ({"reno", "cubic", "bbr", "bbr3", "fhstcp"}, OF_LINUX)
    for name in OF_LINUX:
        assert sum(name in cell.controllers for cell in UNUSUAL.values()) == 4


@pytest.mark.parametrize("name", UNUSUAL)
def test_every_unusual_cell_is_a_scenario(name: str) -> None:
    described = json.loads(read_one(UNUSUAL[name].scenario()).describe())
    assert len(described["flows"]) == len(UNUSUAL[name].controllers)
    assert all(flow["profile"] == "linux-tcp" for flow in described["flows"])


def test_a_cell_with_a_step_has_the_round_trip_of_each_half_second() -> None:
    cell = UNUSUAL["rate-down-cubic"]
    found = []
    scenario = read_one(cell.scenario())
    for_each(
        [scenario],
        lambda _, record: found.append(figures_of(scenario, record)),
        jobs=1,
        on_progress=None,
    )
    halves = [value for figure, value in found[0].items() if figure.startswith("rtt_ms_")]
    assert len(halves) == 10
    # From 20 to 10 Mbit/s: what is in the queue takes twice as long.
    assert halves[0] is not None
    assert halves[-1] is not None
    assert halves[-1] > 1.3 * halves[0]


def _compared(sim: list[float | None], kernel: list[float | None]) -> Compared:
    figures = {"link_share": [0.9] * 5, "rtt_ms": [50.0] * 5, "cwnd": [60.0] * 5}
    return Compared(
        cell=UNUSUAL["shallow-reno"],
        cycle_s=None,
        by={"sim": {**figures, "rtt_ms": sim}, "linux": {**figures, "rtt_ms": kernel}},
    )


@pytest.mark.parametrize(
    ("sim", "kernel", "agrees"),
    [
        ([54.0], [50.0], True),  # 8 %
        ([56.0], [50.0], False),  # 12 %
        ([56.0], [44.0, 56.5], True),  # between the runs
    ],
)
def test_a_round_trip_may_differ_by_a_tenth_or_lie_between_the_runs_of_the_kernel(
    sim: list[float | None], kernel: list[float | None], agrees: bool
) -> None:
    found = {each.figure: each.agrees for each in agreement(_compared(sim, kernel))}
    assert found == {"link_share": True, "rtt_ms": agrees, "cwnd": True}


def test_the_unusual_cells_can_be_listed_and_an_unknown_one_is_refused(fairhaul: Fairhaul) -> None:
    listed = fairhaul("lab", "cells", "--unusual", "--list")
    assert listed.stdout.split() == list(UNUSUAL)
    wrong = fairhaul("lab", "cells", "--unusual", "--cells", "pause-3s-cubik", "--out", "none")
    assert wrong.returncode == 2
    assert "pause-3s-cubic" in wrong.stderr


# What differs, and why, as docs/unusual-cells.md says.
DIFFER = {"shorter-route-bbr3"}


def test_the_simulator_agrees_with_what_linux_did_in_the_unusual_cells() -> None:
    linux = kept()
    assert set(linux) == set(UNUSUAL), "measure what is new: python -m tools.unusual measure"
    found = measure(UNUSUAL.values(), "sim")
    differ = {
        name
        for name, (_, figures) in found.items()
        if not all(each.agrees for each in agreement(compared(name, figures, linux[name][1])))
    }
    assert differ == DIFFER

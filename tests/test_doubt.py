"""Places drawn at random at which the simulator is compared with Linux, and their table."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tools import ROOT
from tools.doubt import places
from tools.doubt.places import Compared


@pytest.mark.parametrize(
    ("sim", "agrees"), [([104.0], True), ([94.0, 114.0], True), ([110.0], False), ([80.0], False)]
)
def test_a_figure_agrees_near_the_mean_or_between_the_runs(sim: list[float], agrees: bool) -> None:
    # 5 % of the mean, 100, are 95 to 105; the runs are further apart.
    of = Compared(group="own", figure="goodput_bps", sim=sim, others=[92.0, 100.0, 108.0])
    assert of.agrees is agrees


def test_a_number_always_draws_the_same_place() -> None:
    first, again = places.drawn(17), places.drawn(17)
    assert (first, first.key) == (again, again.key)
    assert first.key != places.drawn(18).key
    assert first.scenario(2).described["seed"] == 2


def test_every_place_that_is_kept_has_its_runs() -> None:
    sim, linux = places.kept("sim"), places.kept("linux")
    assert sim.keys() == linux.keys()
    for number, rows in sim.items():
        seeds, theirs = ({int(row["seed"]) for row in of} for of in (rows, linux[number]))
        assert seeds >= {*places.FEW, *places.OTHERS}
        assert theirs in ({*places.FEW}, {*places.MANY})
        assert seeds - {*places.OTHERS} <= theirs


def test_the_page_has_the_table_of_all_places() -> None:
    command = [sys.executable, "-m", "tools.doubt", "table"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed in (ROOT / "docs/doubt.md").read_text(encoding="utf-8")

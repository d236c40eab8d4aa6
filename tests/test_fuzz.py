"""Figures stay within their bounds: of every scenario that once broke an invariant, and of some that are drawn."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.figures import KEPT, judge, wrong

ROOT = Path(__file__).parent.parent
# Where the run itself fails on a defect, the Rust side of the check says so, in a process with bounds.
WINDOWS = sorted(path for path in KEPT.glob("*.toml") if path.stem.endswith("above-one"))
SEED, CASES = 30, 40


def test_a_figure_out_of_its_bounds_is_named() -> None:
    flow = {"name": "f", "share": 1.0, "link_share": 1.5, "loss_rate": None}
    figures = {"flows": [flow], "links": [], "fairness": {"jain": float("nan")}}
    assert wrong(figures) == ["link_share of f is 1.5", "Jain's index (jain) is nan"]


@pytest.mark.parametrize("path", WINDOWS, ids=lambda path: path.stem)
def test_figures_of_a_window_that_once_were_above_one_are_not(path: Path) -> None:
    assert judge(path.read_text()) == "fine"


def test_figures_of_drawn_scenarios_lie_within_their_bounds(tmp_path: Path) -> None:
    command = [
        "cargo",
        "run",
        "--quiet",
        "--locked",
        "--profile",
        "test",
        "-p",
        "fairhaul-fuzz",
        "--",
    ]
    options = [
        "--kept",
        str(KEPT),
        "--seed",
        str(SEED),
        "--count",
        str(CASES),
        "--out",
        str(tmp_path),
    ]
    subprocess.run([*command, "draw", *options], cwd=ROOT, env=os.environ, check=True)
    texts = {path.stem: path.read_text() for path in sorted(tmp_path.glob("*.toml"))}
    assert len(texts) == CASES
    found = {stem: said for stem, text in texts.items() if (said := judge(text)) != "fine"}
    assert not found, "\n\n".join(f"{said}\n{texts[stem]}" for stem, said in found.items())

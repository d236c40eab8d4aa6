"""Figures stay within their bounds, and a damaged record is an error or the same record."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from fairhaul.record import record
from fairhaul.runs.runs import run
from tests.compiled import program
from tests.figures import KEPT, judge, wrong

# Where a run itself is at fault, the Rust side says so, in a process with bounds.
WINDOWS = sorted(path for path in KEPT.glob("*.toml") if path.stem.endswith("above-one"))
SEED, CASES = 30, 40


def test_a_figure_out_of_its_bounds_is_named() -> None:
    flow = {"name": "f", "share": 1.0, "link_share": 1.5, "loss_rate": None}
    figures = {"flows": [flow], "links": [], "fairness": {"jain": float("nan")}}
    assert wrong(figures) == ["link_share of f is 1.5", "jain (jain) is nan"]


@pytest.mark.parametrize("path", WINDOWS, ids=lambda path: path.stem)
def test_figures_of_a_window_that_once_were_above_one_are_not(path: Path) -> None:
    assert judge(path.read_text()) == "fine"


def test_figures_of_drawn_scenarios_lie_within_their_bounds(tmp_path: Path) -> None:
    cases = ["--seed", str(SEED), "--count", str(CASES), "--out", str(tmp_path)]
    subprocess.run([program("fairhaul-fuzz"), "draw", "--kept", str(KEPT), *cases], check=True)
    texts = {path.stem: path.read_text() for path in sorted(tmp_path.glob("*.toml"))}
    assert len(texts) == CASES
    found = {stem: said for stem, text in texts.items() if (said := judge(text)) != "fine"}
    assert not found, "\n\n".join(f"{said}\n{texts[stem]}" for stem, said in found.items())


SMALL = """
duration = "200 ms"
profile = "plain"
[bottleneck]
rate = "5 Mbit/s"
delay = "5 ms"
queue = { kind = "red", capacity = "20 packets" }
[[flow]]
name = "f"
controller = "reno"
"""


def test_a_record_with_a_bit_flipped_or_its_end_cut_off_is_an_error_or_the_same(
    tmp_path: Path,
) -> None:
    whole = run(SMALL).records[0]
    chance = random.Random(1)
    told = 0
    for name in (*(f"{table}.parquet" for table in record.TABLES), "meta.json"):
        for number in range(20):
            folder = tmp_path / f"{name}-{number}"
            record.write_record(whole, folder)
            data = bytearray((folder / name).read_bytes())
            if number < 15:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            else:
                del data[chance.randrange(len(data)) :]
            (folder / name).write_bytes(data)
            try:
                found = record.read_record(folder)
            except (OSError, ValueError):
                told += 1
                continue
            same = all(found.tables()[key].equals(table) for key, table in whole.tables().items())
            assert same, f"{name}, case {number}: other numbers without a word"
            assert found.meta == whole.meta
    assert told > 50

"""Where the simulator is wrong: searches, and places drawn at random, kept in the project.

A row of `tests/doubt/random.csv` is a figure of a group of flows at a place: the mean of the
simulator, and mean, least and most of Linux over the same seeds. A row of
`tests/doubt/searches.csv` is a search by `fairhaul attack --objective disagree`; what it found is a
scenario beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from fairhaul.files.files import csv_text
from fairhaul.files.files import replace as write_file
from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import read_one
from fairhaul.studies.attack import read_question
from fairhaul.studies.attack.differences import CLOSE, values_of
from fairhaul.studies.attack.figures import figures_of
from fairhaul.studies.attack.place import Place
from tools import ROOT, csv_rows

FOLDER = ROOT / "tests" / "doubt"
RANDOM, SEARCHES = FOLDER / "random.csv", FOLDER / "searches.csv"
CONTROLLERS = ("reno", "cubic", "bbr", "bbr3", "fhstcp", "ghstcp", "dctcp", "highspeed")
COUNT, SEED, SEEDS = 1000, 2026, 3
# As in the unusual cells; numbers of loss events are only in the searches.
FIGURES = ("goodput_bps", "cwnd", "rtt_s", "completion_s")
ENGINES: tuple[Engine, ...] = ("sim", "linux")
COLUMNS = ("number", "controller", "kind", "path", "kernel", "group", "figure")
NUMBERS = ("sim", "linux", "least", "most")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A figure of a group of flows at a place, in the unit of its name."""

    number: int
    controller: str
    kind: str
    """The impairment."""
    path: str
    kernel: str
    group: str
    figure: str
    sim: float
    linux: float
    least: float
    most: float

    @property
    def agrees(self) -> bool:
        """Whether the means differ little, or the simulator's lies between the runs of Linux."""
        near = abs(self.sim - self.linux) <= CLOSE[self.figure] * abs(self.linux)
        return near or self.least <= self.sim <= self.most


def place(number: int) -> tuple[str, Place]:
    """Give a controller and a place of its box, each as probable as any other, by a number."""
    random = np.random.default_rng([SEED, number])
    controller = CONTROLLERS[random.integers(len(CONTROLLERS))]
    box = read_question(controller, "disagree").box
    return controller, box.place(random.random(len(box.names)).tolist())


def measure(number: int) -> list[Row]:
    """Run a place on both engines with the same seeds.

    Raises:
        RunError: a run failed.
    """
    controller, at = place(number)
    attacked = read_question(controller, "disagree").attacked
    scenarios = [read_one(attacked.keys(at, seed + 1)) for seed in range(SEEDS)]
    found = {
        engine: for_each(
            scenarios, lambda index, record: figures_of(scenarios[index], record), engine=engine
        )
        for engine in ENGINES
    }
    sim, linux = (found[engine] for engine in ENGINES)
    rows = []
    for group in sim[0]["flows"]:
        for figure in FIGURES:
            ours, theirs = (values_of(at, of, group, figure) for of in (sim, linux))
            if not ours:
                continue
            rows.append(
                Row(
                    number=number,
                    controller=controller,
                    kind=at.impairment,
                    path=at.text(),
                    kernel=str(linux[0]["kernel"]),
                    group=group,
                    figure=figure,
                    sim=fmean(ours),
                    linux=fmean(theirs),
                    least=min(theirs),
                    most=max(theirs),
                )
            )
    return rows


def kept() -> list[Row]:
    """Give all rows that are kept."""
    return [_read(row) for row in csv_rows(RANDOM)]


def _read(row: Mapping[str, str]) -> Row:
    values: dict[str, Any] = {**row, "number": int(row["number"])}
    return Row(**values | {name: float(row[name]) for name in NUMBERS})


def keep(rows: Sequence[Row]) -> None:
    """Write the rows in the order of their numbers."""
    ordered = sorted(rows, key=lambda row: row.number)
    lines = (
        [getattr(row, name) for name in COLUMNS] + [f"{getattr(row, name):.6g}" for name in NUMBERS]
        for row in ordered
    )
    write_table(RANDOM, [*COLUMNS, *NUMBERS], lines)


def write_table(file: Path, head: Sequence[str], rows: Iterator[Sequence[object]]) -> None:
    """Write a table, whole or not at all."""
    file.parent.mkdir(exist_ok=True)
    write_file(file, csv_text([head, *rows]).encode())


def by_kind(rows: Sequence[Row]) -> list[tuple[str, int, int]]:
    """Give for each impairment how many places there are, and at how many all figures agree."""
    places: dict[tuple[str, int], bool] = {}
    for row in rows:
        key = (row.kind, row.number)
        places[key] = places.get(key, True) and row.agrees
    found: dict[str, list[bool]] = defaultdict(list)
    for (kind, _), agrees in places.items():
        found[kind].append(agrees)
    return [(kind, len(each), sum(each)) for kind, each in sorted(found.items())]

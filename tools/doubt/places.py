"""Places drawn at random: their figures in Linux, run by run, and in the simulator.

A row of `tests/doubt/linux.csv` is a group of flows in a run of Linux, and one of
`tests/doubt/sim.csv` the same in the simulator, which has a row more, the means over three other
seeds: compared with its first runs they show how often the rule finds a difference by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2s
from statistics import fmean
from typing import Any

import numpy as np

from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import Scenario, read_one
from fairhaul.studies.attack import read_question
from fairhaul.studies.attack.differences import CLOSE, values_of
from fairhaul.studies.attack.figures import Figures, figures_of
from fairhaul.studies.attack.place import Place, queue_of
from tools import csv_rows
from tools.doubt import CONTROLLERS, FOLDER, write_table

FILES: Mapping[Engine, Any] = {"linux": FOLDER / "linux.csv", "sim": FOLDER / "sim.csv"}
COUNT, SEED, SEEDS = 1000, 2026, 3
# As in the unusual cells; numbers of loss events are only in the searches.
FIGURES = ("goodput_bps", "cwnd", "rtt_s", "completion_s")
HEAD = ("number", "place", "kernel", "seeds", "group", *FIGURES)
SETS: Mapping[Engine, Sequence[Sequence[int]]] = {
    "linux": [[1], [2], [3]],
    "sim": [[1], [2], [3], [4, 5, 6]],
}
"""The seeds of the runs of each row of a group of flows."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A place of the box of a controller, drawn by its number."""

    number: int
    controller: str
    at: Place

    @property
    def key(self) -> str:
        """Tell it from the place that another box has for this number."""
        return blake2s(f"{self.controller} {self.at}".encode(), digest_size=3).hexdigest()

    @property
    def kinds(self) -> Mapping[str, str]:
        """Give the words by which places are counted."""
        queue = str(queue_of(self.at.queue)["kind"])
        return {"impairment": self.at.impairment, "controller": self.controller, "queue": queue}

    def scenario(self, seed: int) -> Scenario:
        """Read its scenario."""
        return read_one(self.keys(seed))

    def keys(self, seed: int) -> dict[str, Any]:
        """Give the keys of its scenario."""
        return read_question(self.controller, "disagree").attacked.keys(self.at, seed)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A figure of a group of flows: the runs of both engines, and a mean of other seeds."""

    group: str
    figure: str
    sim: Sequence[float]
    again: float
    linux: Sequence[float]

    @property
    def agrees(self) -> bool:
        """Whether the means differ little, or the simulator's lies between the runs of Linux."""
        return _agrees(self.figure, fmean(self.sim), self.linux)

    @property
    def agrees_again(self) -> bool:
        """Whether the mean of other seeds agrees in the same way with the simulator's own runs."""
        return _agrees(self.figure, self.again, self.sim)

    def __str__(self) -> str:
        sim, linux = (" ".join(f"{of:.4g}" for of in each) for each in (self.sim, self.linux))
        return f"{self.group} {self.figure}: {sim} ({self.again:.4g}) / {linux}"


Row = Mapping[str, str]


def drawn(number: int) -> Drawn:
    """Give a controller and a place of its box, each as probable as any other, by a number."""
    random = np.random.default_rng([SEED, number])
    controller = CONTROLLERS[random.integers(len(CONTROLLERS))]
    box = read_question(controller, "disagree").box
    at = box.place(random.random(len(box.names)).tolist())
    return Drawn(number=number, controller=controller, at=at)


def measure(places: Sequence[Drawn], engine: Engine) -> list[Row]:
    """Run places on an engine, and give their rows.

    Raises:
        RunError: a run failed.
    """
    each = [(place, seeds, seed) for place in places for seeds in SETS[engine] for seed in seeds]
    scenarios = [place.scenario(seed) for place, _, seed in each]
    done = for_each(
        scenarios, lambda index, record: figures_of(scenarios[index], record), engine=engine
    )
    sets: dict[tuple[int, str], list[Figures]] = defaultdict(list)
    for (place, seeds, _), figures in zip(each, done, strict=True):
        sets[place.number, _words(seeds)].append(figures)
    by_number = {place.number: place for place in places}
    return [
        _row(by_number[number], seeds, group, runs)
        for (number, seeds), runs in sets.items()
        for group in runs[0]["flows"]
    ]


def _words(seeds: Sequence[int]) -> str:
    return f"{seeds[0]}-{seeds[-1]}" if len(seeds) > 1 else str(seeds[0])


def _row(place: Drawn, seeds: str, group: str, runs: Sequence[Figures]) -> Row:
    found = {figure: values_of(place.at, runs, group, figure) for figure in FIGURES}
    return {
        "number": str(place.number),
        "place": place.key,
        "kernel": str(runs[0]["kernel"] or ""),
        "seeds": seeds,
        "group": group,
        **{figure: f"{fmean(of):.4g}" if of else "" for figure, of in found.items()},
    }


def kept(engine: Engine) -> dict[int, list[Row]]:
    """Give the rows that are kept, of each place that the box still has."""
    found: dict[int, list[Row]] = defaultdict(list)
    for row in csv_rows(FILES[engine]):
        found[int(row["number"])].append(row)
    return {number: rows for number, rows in found.items() if rows[0]["place"] == drawn(number).key}


def keep(engine: Engine, rows: Mapping[int, Sequence[Row]]) -> None:
    """Write the rows in the order of their numbers."""
    ordered = (row for _, each in sorted(rows.items()) for row in each)
    write_table(FILES[engine], HEAD, ([row[key] for key in HEAD] for row in ordered))


def compare(sim: Sequence[Row], linux: Sequence[Row]) -> Iterator[Compared]:
    """Compare the figures of a place."""
    for group in dict.fromkeys(row["group"] for row in linux):
        for figure in FIGURES:
            ours, theirs = (
                [float(row[figure]) for row in rows if row["group"] == group and row[figure]]
                for rows in (sim, linux)
            )
            if theirs:
                *ours, again = ours
                yield Compared(group=group, figure=figure, sim=ours, again=again, linux=theirs)


def _agrees(figure: str, mean: float, runs: Sequence[float]) -> bool:
    near = abs(mean - fmean(runs)) <= CLOSE[figure] * abs(fmean(runs))
    return near or min(runs) <= mean <= max(runs)

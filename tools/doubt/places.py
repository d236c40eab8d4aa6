"""Places drawn at random: their figures in Linux, run by run, and in the simulator.

A row of a file in `tests/doubt/linux` is a group of flows in a run of Linux, and one in
`tests/doubt/sim` the same in the simulator; a file has a hundred places. A place whose figures do
not agree with three seeds runs with twelve. Three further seeds of the simulator, compared with its
first three, show how often the rule finds a difference by chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2s
from statistics import fmean
from typing import Any

import numpy as np

from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import Scenario, read_one
from fairhaul.studies.attack import Question, read_question
from fairhaul.studies.attack.differences import CLOSE, values_of
from fairhaul.studies.attack.figures import Figures, figures_of
from fairhaul.studies.attack.place import Place, queue_of
from fairhaul.studies.cells.agreement import agrees
from tools import csv_rows
from tools.doubt import CONTROLLERS, FOLDER, write_table

COUNT, SEED = 1000, 2026
IN_FILE = 100
FEW, MORE, MANY = range(1, 4), range(4, 13), range(1, 13)
"""Seeds: of each place, further ones of one that does not agree with those, and both."""
OTHERS = range(101, 104)
"""Those with which the simulator is compared with itself."""
# As in the unusual cells; numbers of loss events are only in the searches.
FIGURES = ("goodput_bps", "cwnd", "rtt_s", "completion_s")
HEAD = ("number", "place", "kernel", "seed", "group", *FIGURES)


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
        return _question(self.controller).attacked.keys(self.at, seed)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A figure of a group of flows in runs, and in other runs: of Linux, or with other seeds."""

    group: str
    figure: str
    sim: Sequence[float]
    others: Sequence[float]

    @property
    def agrees(self) -> bool:
        """Whether the means differ little, or the simulator's lies between the runs of Linux.

        A figure that no run of the simulator has does not agree.
        """
        return bool(self.sim) and agrees(fmean(self.sim), self.others, CLOSE[self.figure])

    def __str__(self) -> str:
        sim, others = (" ".join(f"{of:.4g}" for of in each) for each in (self.sim, self.others))
        return f"{self.group} {self.figure}: {sim} / {others}"


Row = Mapping[str, str]


@cache
def _question(controller: str) -> Question:
    return read_question(controller, "disagree")


def drawn(number: int) -> Drawn:
    """Give a controller and a place of its box, each as probable as any other, by a number."""
    random = np.random.default_rng([SEED, number])
    controller = CONTROLLERS[random.integers(len(CONTROLLERS))]
    box = _question(controller).box
    at = box.place(random.random(len(box.names)).tolist())
    return Drawn(number=number, controller=controller, at=at)


def measure(places: Sequence[Drawn], engine: Engine, seeds: Iterable[int]) -> list[Row]:
    """Run places on an engine with seeds, and give their rows.

    Raises:
        RunError: a run failed.
    """
    each = [(place, seed) for place in places for seed in seeds]
    scenarios = [place.scenario(seed) for place, seed in each]
    done = for_each(
        scenarios, lambda index, record: figures_of(scenarios[index], record), engine=engine
    )
    return [
        _row(place, seed, group, run)
        for (place, seed), run in zip(each, done, strict=True)
        for group in run["flows"]
    ]


def _row(place: Drawn, seed: int, group: str, run: Figures) -> Row:
    found = {figure: values_of(place.at, [run], group, figure) for figure in FIGURES}
    return {
        "number": str(place.number),
        "place": place.key,
        "kernel": str(run["kernel"] or ""),
        "seed": str(seed),
        "group": group,
        **{figure: f"{of[0]:.4g}" if of else "" for figure, of in found.items()},
    }


def kept(engine: Engine) -> dict[int, list[Row]]:
    """Give the rows that are kept, of each place that the box still has."""
    found: dict[int, list[Row]] = defaultdict(list)
    for file in sorted((FOLDER / engine).iterdir()):
        for row in csv_rows(file):
            found[int(row["number"])].append(row)
    return {number: rows for number, rows in found.items() if rows[0]["place"] == drawn(number).key}


def keep(engine: Engine, rows: Mapping[int, Sequence[Row]]) -> None:
    """Write the rows in the order of their numbers."""
    files: dict[int, list[Row]] = defaultdict(list)
    for number, each in sorted(rows.items()):
        files[number // IN_FILE * IN_FILE] += each
    for first, ordered in files.items():
        file = FOLDER / engine / f"{first:03}-{first + IN_FILE - 1:03}.csv"
        write_table(file, HEAD, ([row[key] for key in HEAD] for row in ordered))


def compare(
    sim: Iterable[Row], others: Iterable[Row], seeds: Container[int], again: Container[int] = ()
) -> Iterator[Compared]:
    """Compare the figures of a place over seeds; `again`: of the other rows, if they differ."""
    ours, theirs = _by_figure(sim, seeds), _by_figure(others, again or seeds)
    for (group, figure), values in theirs.items():
        yield Compared(group=group, figure=figure, sim=ours[group, figure], others=values)


def agree(
    sim: Iterable[Row], others: Iterable[Row], seeds: Container[int], again: Container[int] = ()
) -> bool:
    """Whether all figures of a place agree."""
    return all(figure.agrees for figure in compare(sim, others, seeds, again))


def lacks(rows: Iterable[Row], seeds: Iterable[int]) -> bool:
    """Whether a place has not run with all of these seeds."""
    return not {int(row["seed"]) for row in rows}.issuperset(seeds)


def _by_figure(rows: Iterable[Row], seeds: Container[int]) -> dict[tuple[str, str], list[float]]:
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        for figure in FIGURES:
            if row[figure] and int(row["seed"]) in seeds:
                found[row["group"], figure].append(float(row[figure]))
    return found

"""The search: CMA-ES for the worst place [HANSEN], MAP-Elites for variety [MOURET 2015].

The archive has a cell for each combination of bandwidth-delay product and buffer, and keeps the
worst place of each. The first generations spread over the box; later ones come in turn from CMA-ES,
which starts at the worst places of the archive one after the other, and from variations of places
of all cells. Points are asked and answered in whole generations, so that the number of cores makes
no difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from fairhaul.runs.cost import PACKETS_PER_CPU_S
from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.attack.box import Box
from fairhaul.studies.attack.trials import Trial, Trials
from fairhaul.text.durations import rough_duration_text

Points = NDArray[np.float64]

MISSING = "an attack requires cmaes, which comes with the extra: pip install 'fairhaul[attack]'"

GENERATION = 16
# The part of the search that spreads over the box before CMA-ES begins.
SPREAD = 0.3
# A budget has to suffice for this many generations of the mean cost.
LEAST_GENERATIONS = 4
# Of three generations after the spread, CMA-ES makes two.
ROTATION = ("cma", "cma", "vary")
STEP, VARIATION, SWITCH = 0.15, 0.15, 0.1
# CMA-ES starts elsewhere if the best of this many generations is no better than before.
PATIENCE = 4
CELLS = 8

Cell = tuple[int, int]
OnGeneration = Callable[[int, float, Trial], None]


@dataclass(frozen=True, kw_only=True)
class Elite:
    """The worst place of a cell, and its point in the box."""

    point: tuple[float, ...]
    trial: Trial


@dataclass(kw_only=True)
class Archive:
    """The worst place found in each cell."""

    box: Box
    cells: dict[Cell, Elite] = field(default_factory=dict)

    def cell(self, trial: Trial) -> Cell:
        """Give the cell of a place: by bandwidth-delay product, and by buffer."""
        bdp = self.box.bdp.place(trial.place.bdp_packets, CELLS)
        return bdp, self.box.buffer.place(trial.place.buffer_bdp, CELLS)

    def add(self, point: Sequence[float], trial: Trial) -> None:
        """Take a place if it is worse than that of its cell."""
        cell = self.cell(trial)
        held = self.cells.get(cell)
        if held is None or trial.value > held.trial.value:
            self.cells[cell] = Elite(point=tuple(float(part) for part in point), trial=trial)

    def ranked(self) -> list[tuple[Cell, Elite]]:
        """Give the cells, the worst first."""
        return sorted(self.cells.items(), key=lambda item: (-item[1].trial.value, item[0]))

    def distinct(self, weak: float, most: int) -> list[Elite]:
        """Give the worst places that count as weaknesses, of cells that are no neighbours."""
        chosen: list[tuple[Cell, Elite]] = []
        for cell, elite in self.ranked():
            far = all(
                max(abs(a - b) for a, b in zip(cell, of, strict=True)) > 1 for of, _ in chosen
            )
            if elite.trial.value >= weak and far and len(chosen) < most:
                chosen.append((cell, elite))
        return [elite for _, elite in chosen]


def search(
    box: Box, trials: Trials, seed: int, packets: float, on_generation: OnGeneration | None = None
) -> Archive:
    """Search a box until `packets` are spent, at most one generation more.

    Raises:
        ScenarioError: the budget is too small for this box, or a package is missing.
    """
    if find_spec("cmaes") is None:
        raise ScenarioError(MISSING)
    archive = Archive(box=box)
    random = np.random.default_rng(seed)
    size = len(box.names)
    _refuse_too_small(box, trials, packets)
    climb, climbed = _climb(archive, size, random), None
    number, turn = 0, 0
    while trials.packets < packets:
        before, is_climb = trials.runs, False
        if size == 0:
            points: Points = np.zeros((1, 0))
        elif trials.packets < SPREAD * packets:
            points = spread(random, GENERATION, size)
        else:
            # CMA-ES needs two dimensions.
            is_climb = size > 1 and ROTATION[turn % len(ROTATION)] == "cma"
            points = climb.send(climbed) if is_climb else _varied(archive, random)
            turn += 1
        found = [trial for (trial,) in trials.run([box.place(point) for point in points], [seed])]
        for point, trial in zip(points, found, strict=True):
            archive.add(point, trial)
        if is_climb:
            climbed = [trial.value for trial in found]
        number += 1
        if on_generation is not None:
            on_generation(number, trials.packets / packets, archive.ranked()[0][1].trial)
        # In a box of a few places there is nothing new to find.
        if trials.runs == before and number > LEAST_GENERATIONS:
            break
    return archive


def _refuse_too_small(box: Box, trials: Trials, packets: float) -> None:
    places = spread(np.random.default_rng(0), GENERATION, len(box.names))
    wanted = LEAST_GENERATIONS * trials.cost([box.place(point) for point in places])
    if box.names and packets < wanted:
        least = rough_duration_text(wanted / packets * trials.budget / PACKETS_PER_CPU_S)
        raise ScenarioError(
            f"--budget: too small for this box: {LEAST_GENERATIONS * GENERATION} places need a "
            f"budget of about {least}; a box of lower rates and shorter runs needs less"
        )


def spread(random: np.random.Generator, count: int, size: int) -> Points:
    """Draw a Latin hypercube [MCKAY]."""
    columns = [(random.permutation(count) + random.random(count)) / count for _ in range(size)]
    return np.stack(columns, axis=1) if columns else np.zeros((1, 0))


def _varied(archive: Archive, random: np.random.Generator) -> Points:
    """Vary places of the archive, each cell alike; some numbers are drawn anew."""
    elites = [elite for _, elite in sorted(archive.cells.items(), key=lambda item: item[0])]
    parents = np.array([elites[i].point for i in random.integers(len(elites), size=GENERATION)])
    children = parents + VARIATION * random.standard_normal(parents.shape)
    # What leaves the box comes back from its wall.
    children = 1 - np.abs(1 - np.abs(children))
    anew = random.random(parents.shape) < SWITCH
    varied: Points = np.clip(np.where(anew, random.random(parents.shape), children), 0.0, 1.0)
    return varied


def _climb(
    archive: Archive, size: int, random: np.random.Generator
) -> Generator[Points, Sequence[float] | None, None]:
    """Give generations of CMA-ES, and take their values with the request for the next.

    It climbs from the worst places of the archive, one after the other.
    """
    from cmaes import CMA

    started: set[Cell] = set()
    while True:
        ranked = archive.ranked()
        cell, elite = next((item for item in ranked if item[0] not in started), ranked[0])
        started.add(cell)
        cma = CMA(
            mean=np.clip(np.array(elite.point), 0.02, 0.98),
            sigma=STEP,
            bounds=np.tile([0.0, 1.0], (size, 1)),
            population_size=GENERATION,
            seed=int(random.integers(2**31)),
        )
        best, idle = -math.inf, 0
        while idle < PATIENCE and not cma.should_stop():
            points = np.stack([cma.ask() for _ in range(GENERATION)])
            values = yield points
            assert values is not None, "the values of a generation come before the next"
            cma.tell([(point, -value) for point, value in zip(points, values, strict=True)])
            idle = 0 if max(values) > best + 1e-3 * abs(best) else idle + 1
            best = max(best, *values)

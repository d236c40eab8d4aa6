"""The search: CMA-ES for the worst place [HANSEN], MAP-Elites for variety [MOURET 2015].

The archive has a cell for each combination of bandwidth-delay product and buffer, and keeps the
worst place of each. The first generations spread over the box; later ones come in turn from CMA-ES,
which starts at the worst places of the archive one after the other, and from variations of places
of all cells. Points are asked and answered in whole generations, so that the number of cores makes
no difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.attack.box import Box
from fairhaul.studies.attack.trials import Trial, Trials
from fairhaul.text.durations import rough_duration_text

if TYPE_CHECKING:
    import numpy as np
    from cmaes import CMA
    from numpy.typing import NDArray

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
    import numpy as np

    _require_cmaes()
    archive = Archive(box=box)
    random = np.random.default_rng(seed)
    size = len(box.names)
    _refuse_too_small(box, trials, packets)
    climber = _Climber(archive, size, random)
    number, turn = 0, 0
    while trials.packets < packets:
        before = trials.runs
        if size == 0:
            points: Points = np.zeros((1, 0))
        elif trials.packets < SPREAD * packets:
            points = spread(random, GENERATION, size)
        else:
            # CMA-ES needs two dimensions.
            kind = ROTATION[turn % len(ROTATION)] if size > 1 else "vary"
            points = climber.ask() if kind == "cma" else _varied(archive, random)
            turn += 1
        found = trials.run([box.place(point) for point in points], [seed])
        values = [of[0].value for of in found]
        for point, (trial,) in zip(points, found, strict=True):
            archive.add(point, trial)
        climber.tell(points, values)
        number += 1
        if on_generation is not None:
            on_generation(number, trials.packets / packets, archive.ranked()[0][1].trial)
        # In a box of a few places there is nothing new to find.
        if trials.runs == before and number > LEAST_GENERATIONS:
            break
    return archive


def _require_cmaes() -> None:
    try:
        import cmaes  # noqa: F401
    except ImportError:
        raise ScenarioError(MISSING) from None


def _refuse_too_small(box: Box, trials: Trials, packets: float) -> None:
    import numpy as np

    from fairhaul.runs.cost import PACKETS_PER_CPU_S

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
    import numpy as np

    columns = [(random.permutation(count) + random.random(count)) / count for _ in range(size)]
    return np.stack(columns, axis=1) if columns else np.zeros((1, 0))


def _varied(archive: Archive, random: np.random.Generator) -> Points:
    """Vary places of the archive, each cell alike; some numbers are drawn anew."""
    import numpy as np

    elites = [elite for _, elite in sorted(archive.cells.items(), key=lambda item: item[0])]
    parents = np.array([elites[i].point for i in random.integers(len(elites), size=GENERATION)])
    children = parents + VARIATION * random.standard_normal(parents.shape)
    # What leaves the box comes back from its wall.
    children = 1 - np.abs(1 - np.abs(children))
    anew = random.random(parents.shape) < SWITCH
    varied: Points = np.clip(np.where(anew, random.random(parents.shape), children), 0.0, 1.0)
    return varied


class _Climber:
    """CMA-ES from the worst places of the archive, one after the other."""

    def __init__(self, archive: Archive, size: int, random: np.random.Generator) -> None:
        self._archive, self._size, self._random = archive, size, random
        self._started: set[Cell] = set()
        self._cma: CMA | None = None
        self._asked: Points | None = None
        self._best = -math.inf
        self._idle = 0

    def ask(self) -> Points:
        """Give the next generation."""
        import numpy as np

        if self._cma is None:
            self._start()
        cma = self._cma
        assert cma is not None, "it was started"
        self._asked = np.stack([cma.ask() for _ in range(GENERATION)])
        return self._asked

    def _start(self) -> None:
        import numpy as np
        from cmaes import CMA

        ranked = self._archive.ranked()
        cell, elite = next((item for item in ranked if item[0] not in self._started), ranked[0])
        self._started.add(cell)
        bounds = np.tile([0.0, 1.0], (self._size, 1))
        self._cma = CMA(
            mean=np.clip(np.array(elite.point), 0.02, 0.98),
            sigma=STEP,
            bounds=bounds,
            population_size=GENERATION,
            seed=int(self._random.integers(2**31)),
        )
        self._best, self._idle = -math.inf, 0

    def tell(self, points: Points, values: Sequence[float]) -> None:
        """Take the values of a generation; those of other generations are ignored."""
        if points is not self._asked or self._cma is None:
            return
        self._asked = None
        answers = [(point, -value) for point, value in zip(points, values, strict=True)]
        self._cma.tell(answers)
        best = max(values)
        self._idle = 0 if best > self._best + 1e-3 * abs(self._best) else self._idle + 1
        self._best = max(self._best, best)
        if self._idle >= PATIENCE or self._cma.should_stop():
            self._cma = None

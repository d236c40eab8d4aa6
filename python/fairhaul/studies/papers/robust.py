"""How far a paper's claims and numbers depend on what it leaves open.

A paper does not give all of its settings. Those of an experiment that are declared `open`, each
with the range that the paper's words allow, are drawn from a Latin hypercube. Every setting is run
once for each case, with a seed of its own. Nothing is tuned: all settings are shown.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from fairhaul import _core
from fairhaul.jobs.values import Running, RunOptions
from fairhaul.report.outcome import StudyResult
from fairhaul.scenario.read import ScenarioError, toml
from fairhaul.statistics.estimate import LEAST_RUNS
from fairhaul.statistics.splits import Split, best_split
from fairhaul.studies.papers import work
from fairhaul.studies.papers.experiment import Experiment
from fairhaul.studies.papers.results import Results, Verdict
from fairhaul.studies.papers.robust_outcome import NEAR, outcome_of
from fairhaul.studies.papers.work import Kept, Task

if TYPE_CHECKING:
    from fairhaul.studies.papers.folder import Paper

SETTINGS = 200

Setting = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class RobustClaim:
    """A claim, and in which settings it holds: wholly (true), or in part or not at all (false)."""

    text: str
    holds: Sequence[bool]
    split: Split | None

    @property
    def part(self) -> float:
        """The part of the settings in which it holds."""
        return sum(self.holds) / len(self.holds)


@dataclass(frozen=True, kw_only=True)
class RobustNumber:
    """A printed number of the paper, and ours in every setting; None where there is none."""

    row: str
    column: str
    paper: float
    ours: Sequence[float | None]

    @property
    def near(self) -> list[bool]:
        """In which settings ours is within a tenth of the paper's."""
        return [
            value is not None and abs(value - self.paper) <= NEAR * abs(self.paper)
            for value in self.ours
        ]

    @property
    def deviations(self) -> list[float]:
        """The relative deviation from the paper's in each setting; infinite where it is unknown."""
        return [
            math.inf if value is None or not self.paper else (value - self.paper) / self.paper
            for value in self.ours
        ]


@dataclass(frozen=True, kw_only=True)
class Robust(StudyResult):
    """The result: settings, and the claims and numbers in each of them."""

    paper: Paper
    name: str
    settings: Sequence[Setting]
    claims: Sequence[RobustClaim]
    numbers: Sequence[RobustNumber]
    runs: int
    cpu_s: float

    @property
    def distances(self) -> list[float]:
        """How far each setting is from all printed numbers; none without printed numbers.

        It is the root mean square of the relative deviations, infinite where a number is missing.
        """
        settings = zip(*(number.deviations for number in self.numbers), strict=True)
        return [math.sqrt(sum(each**2 for each in of) / len(of)) for of in settings]

    @property
    def nearest(self) -> int:
        """The setting that is nearest to all printed numbers together."""
        distances = self.distances
        return distances.index(min(distances))

    @property
    def all_near(self) -> int:
        """In how many settings all printed numbers come out."""
        return sum(all(each) for each in zip(*(n.near for n in self.numbers), strict=True))

    @property
    def all_hold(self) -> int:
        """In how many settings all claims hold."""
        return sum(all(each) for each in zip(*(c.holds for c in self.claims), strict=True))

    outcome = outcome_of

    def values(self) -> dict[str, Any]:
        """Give the settings, and what holds in each."""
        return {
            "paper": self.paper.name,
            "experiment": self.name,
            "settings": [dict(setting) for setting in self.settings],
            "claims": [
                {
                    "claim": claim.text,
                    "holds": list(claim.holds),
                    "depends_on": claim.split and asdict(claim.split),
                }
                for claim in self.claims
            ],
            "numbers": [asdict(number) for number in self.numbers],
            "distances": [None if math.isinf(d) else d for d in self.distances],
            "nearest": self.nearest if self.distances else None,
            "runs": self.runs,
            "cpu_s": self.cpu_s,
        }


def draw(experiment: Experiment, count: int) -> list[dict[str, Any]]:
    """Draw settings of what an experiment leaves open.

    Raises:
        ScenarioError: a range is wrong.
    """
    lines = [f"points = {count}", *(f"{toml(k)} = {toml(v)}" for k, v in experiment.open.items())]
    rows = _core.drawn("\n".join(lines) + "\n", "open")
    return [{key: tomllib.loads(f"x = {value}")["x"] for key, value in row} for row in rows]


def robust(
    paper: Paper,
    name: str,
    *,
    settings: int = SETTINGS,
    quick: bool = True,
    **options: Unpack[RunOptions],
) -> Robust:
    """Run the experiment `name` of a paper over settings of what it leaves open.

    Args:
        paper: the paper.
        name: the name of an experiment that declares what is open.
        settings: how many settings are drawn.
        quick: runs of the short form's length.
        options: how the runs are run, as `fairhaul.jobs.values.Running` has it.

    Raises:
        ScenarioError: the experiment leaves nothing open, or a range is wrong.
        RunError: a run failed.
    """
    experiment = paper.experiments[name]
    if not experiment.open:
        open_ones = [other for other, of in paper.experiments.items() if of.open]
        known = f"; these do: {', '.join(open_ones)}" if open_ones else ""
        raise ScenarioError(f"{paper.name}: {name} declares no open settings{known}")
    drawn = draw(experiment, settings)
    # Figures over time are not drawn, so no records are kept.
    bare = paper.task(name, replace(experiment, keep=None), [], 1)
    tasks = []
    for number, setting in enumerate(drawn, 1):
        cases = [
            replace(case, scenario=case.scenario.with_seed(number))
            for case in experiment.cases(quick, setting)
        ]
        tasks.append(replace(bare, name=f"{name}, setting {number}", cases=cases))
    runs = work.run(tasks, Running.of(options))
    results = [_results(runs, task, experiment) for task in tasks]
    return Robust(
        paper=paper,
        name=name,
        settings=drawn,
        claims=_claims(experiment, results, drawn),
        numbers=_numbers(experiment, results),
        runs=len(runs),
        cpu_s=sum(run.cpu_s for run in runs),
    )


def _results(runs: Sequence[Kept], task: Task, experiment: Experiment) -> Results:
    """Give the results of one setting, so that its claims are judged by its values alone.

    A value that all runs of a case share is known without doubt, so the one run counts as several.
    """
    once = work.gather(runs, task.name, experiment.bounds)
    return replace(
        once,
        runs={key: list(values) * LEAST_RUNS for key, values in once.runs.items()},
        seeds={key: range(LEAST_RUNS) for key in once.seeds},
    )


def _claims(
    experiment: Experiment, results: Sequence[Results], settings: Sequence[Setting]
) -> list[RobustClaim]:
    found = []
    for claims in zip(*map(experiment.claims, results), strict=True):
        holds = [claim.verdict is Verdict.HOLDS for claim in claims]
        split = best_split(settings, holds)
        found.append(RobustClaim(text=claims[0].text, holds=holds, split=split))
    return found


def _numbers(experiment: Experiment, results: Sequence[Results]) -> list[RobustNumber]:
    found: dict[tuple[str, str], tuple[float, list[float | None]]] = {}
    for number, result in enumerate(results):
        for table in experiment.tables(result):
            for row in table.rows:
                for column, cell in zip(table.columns, row.cells, strict=True):
                    many = len(cell.paper)
                    for place, paper in enumerate(cell.paper):
                        name = f"{column}, {place + 1} of {many}" if many > 1 else column
                        _, ours = found.setdefault((row.label, name), (paper, []))
                        ours += [None] * (number - len(ours))
                        ours.append(cell.ours[place].mean if place < len(cell.ours) else None)
    return [
        RobustNumber(row=row, column=column, paper=paper, ours=ours)
        for (row, column), (paper, ours) in found.items()
    ]

"""Trials: the runs at places of the box, each kept, so that a search can go on.

A search is a pure function of its question. One that was killed is repeated from the begin, and
takes from the store what it had run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairhaul.jobs.store import Job, build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.runs.cost import PACKETS_PER_CPU_S, counted_s
from fairhaul.runs.runs import OnProgress, Progress
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.scenario.read import Scenario, read_one
from fairhaul.scenario.transport import Stack, Transport
from fairhaul.studies.attack.figures import REFERENCE, Figures, Runs, figures_of
from fairhaul.studies.attack.objectives import CASES, Objective
from fairhaul.studies.attack.place import SELF, Place, keys

# What is computed of a run.
OF = "attack figures"
# What the scenario and the figures of a run cost, counted in packets of a budget.
PER_RUN_PACKETS = 20_000


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A place with its runs for one seed, and the value of the objective there."""

    place: Place
    seed: int
    value: float
    runs: Runs


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """What is attacked: the transports of the attacked flows and of all rivals, by name."""

    name: str
    own: Transport | Stack
    rivals: Mapping[str, Transport]
    options: str = ""
    """The options of a command that runs a scenario with them, after a space."""

    def transports(
        self, place: Place, case: str
    ) -> tuple[Transport | Stack, Transport | Stack | None]:
        """Give the transports of both groups of flows in a case; None is that of the first."""
        rival = None if place.rival == SELF else self.rivals[place.rival]
        return (rival or self.own, None) if case == REFERENCE else (self.own, rival)

    def keys(self, place: Place, seed: int, case: str = "") -> dict[str, Any]:
        """Give the keys of the scenario of a case of a place."""
        return keys(place, *self.transports(place, case), self.title(place), seed)

    def scenario(self, place: Place, case: str, seed: int) -> Scenario:
        """Give the scenario of a case of a place."""
        return read_one(self.keys(place, seed, case))

    def title(self, place: Place) -> str:
        """Name the flows of a place."""
        rivals = self.name if place.rival == SELF else place.rival
        beside = f" beside {place.rivals} {rivals}" if place.rivals else ""
        return f"{place.flows} {self.name}{beside}"


@dataclass(kw_only=True)
class Trials:
    """Runs what the store lacks, and counts what all of it costs in packets.

    `budget` is only for the bar of progress.
    """

    attacked: Attacked
    objective: Objective
    running: Running = field(default_factory=Running)
    budget: float = 0.0
    packets: float = 0.0
    runs: int = 0
    _known: dict[str, Figures] = field(default_factory=dict)
    _by: str = field(default_factory=lambda: build_of(figures_of))

    def run(self, places: Sequence[Place], seeds: Sequence[int]) -> list[list[Trial]]:
        """Give the trials of places, for each a list with a trial for each seed."""
        wanted = [
            (place, seed, {case: self._job(place, case, seed) for case in self.objective.cases})
            for place in places
            for seed in seeds
        ]
        for engine in sorted(self.objective.engines, reverse=True):
            self._fill(
                {
                    job.key: job
                    for _, _, jobs in wanted
                    for case, job in jobs.items()
                    if CASES[case].engine == engine
                },
                engine,
            )
        trials = []
        for place, seed, jobs in wanted:
            runs = {case: self._known[job.key] for case, job in jobs.items()}
            value = self.objective.value(place, runs)
            trials.append(Trial(place=place, seed=seed, value=value, runs=runs))
        return [trials[i : i + len(seeds)] for i in range(0, len(trials), len(seeds))]

    def cost(self, places: Sequence[Place]) -> float:
        """Estimate what trials of places cost, in packets; it is too high where links idle."""
        return sum(
            _cost(self._job(place, case, 1).scenario, CASES[case].engine)
            for place in places
            for case in self.objective.cases
        )

    def _job(self, place: Place, case: str, seed: int) -> Job:
        of = self.attacked.scenario(place, case, seed + CASES[case].later)
        (job,) = jobs_of(of, 1, CASES[case].engine, OF, self._by)
        return job

    def _fill(self, jobs: Mapping[str, Job], engine: Engine) -> None:
        """Run the jobs whose figures are not known yet, and count them."""
        plan = [job for key, job in jobs.items() if key not in self._known]
        running = replace(self.running, on_progress=self._shown(), on_event=None)
        found = values(plan, figures_of, running, engine=engine)
        for job, figures in zip(plan, found, strict=True):
            self._known[job.key] = figures
            self.packets += (
                figures["packets"] + PER_RUN_PACKETS
                if engine == "sim"
                else _cost(job.scenario, engine)
            )
            self.runs += 1

    def _shown(self) -> OnProgress | None:
        """Give what shows the progress of the whole search instead of that of its last runs."""
        show = self.running.on_progress
        if show is None or not self.budget:
            return show
        spent, runs = min(self.packets / self.budget, 1.0), self.runs

        def shown(state: Progress) -> None:
            show(replace(state, part=spent, finished=runs + state.finished, runs=None))

        return shown


def _cost(scenario: Scenario, engine: Engine) -> float:
    """Estimate what a run costs, in packets of a budget; a burst of a kernel counts as one."""
    if engine == "sim":
        return float(dict(scenario.estimate())["packets"]) + PER_RUN_PACKETS
    each = PACKETS_PER_CPU_S / FACTS[engine].packets_per_cpu_s
    return (
        counted_s(scenario) * PACKETS_PER_CPU_S * each + FACTS[engine].start_s * PACKETS_PER_CPU_S
    )

"""The runs of a paper's experiments on an engine, and the numbers that are kept of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fairhaul.jobs.store import jobs_of
from fairhaul.jobs.values import Invalid, Running, values
from fairhaul.record.record import Record
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.scenario.read import Scenario
from fairhaul.statistics.estimate import Bounds
from fairhaul.studies.papers.axes import Case
from fairhaul.studies.papers.experiment import Experiment
from fairhaul.studies.papers.results import Key, Numbers, Results


@dataclass(frozen=True, kw_only=True)
class Task:
    """An experiment to be run: its paper, its name, its cases, and how many seeds each has.

    `by` is the build that computes the numbers.
    """

    paper: str
    name: str
    experiment: Experiment
    cases: Sequence[Case]
    seeds: int
    by: str

    @property
    def of(self) -> str:
        """What is computed of its runs, as a store names it."""
        return f"{self.paper} {self.name}"


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What is kept of one run.

    Of one in the lab `reasons` say why it is invalid, and `lag_s` is the 99th percentile of how
    late packets were handed over.
    """

    name: str
    key: Key
    seed: int
    numbers: Numbers = field(default_factory=dict)
    kept: Any = None
    cpu_s: float = 0.0
    packets: int = 0
    reasons: Sequence[str] | None = None
    lag_s: float | None = None


def run(tasks: Sequence[Task], running: Running, on: Engine = "sim") -> list[Kept]:
    """Run all seeds of all cases, so that no core waits."""
    planned = [
        (task, case, job)
        for task in tasks
        for case in task.cases
        for job in jobs_of(case.scenario, task.seeds, on, task.of, task.by, {"case": case.key})
    ]
    drawn: dict[str, Any] = {}

    def drawing(key: str, keep: Callable[[Record], Any]) -> Callable[[Record], None]:
        return lambda record: drawn.update({key: keep(record)})

    done = values(
        [job for _, _, job in planned],
        {task.of: partial(kept_of, task.experiment.numbers) for task in tasks},
        running,
        engine=on,
        with_record={
            job.key: drawing(job.key, task.experiment.keep)
            for task, case, job in planned
            # In real time the first may be invalid.
            if task.experiment.keep is not None
            and (FACTS[on].real_time or job.scenario.seed == case.scenario.seed)
        },
    )
    runs = []
    for (task, case, job), value in zip(planned, done, strict=True):
        invalid = isinstance(value, Invalid)
        given = {"reasons": value.reasons} if invalid else {"kept": drawn.get(job.key), **value}
        runs.append(Kept(name=task.name, key=case.key, seed=job.scenario.seed, **given))
    return runs


def kept_of(numbers: Callable[[Record], Numbers], _: Scenario, record: Record) -> dict[str, Any]:
    """Compute what is kept of a run."""
    lag = record.meta.get("trust", {}).get("lag")
    return {
        "numbers": dict(numbers(record)),
        "lag_s": lag["p99_s"] if lag else None,
        "cpu_s": record.meta["cpu_s"],
        "packets": record.meta["packets"],
    }


def gather(runs: Sequence[Kept], name: str, bounds: Mapping[str, Bounds]) -> Results:
    """Gather the valid runs of the experiment `name`; a case may have none."""
    mine: dict[Key, list[Kept]] = {run.key: [] for run in runs if run.name == name}
    for run in runs:
        if run.name == name and run.reasons is None:
            mine[run.key].append(run)
    kept = {key: [run.kept for run in of if run.kept is not None] for key, of in mine.items()}
    return Results(
        runs={key: [run.numbers for run in of] for key, of in mine.items()},
        kept={key: of[0] for key, of in kept.items() if of},
        seeds={key: [run.seed for run in of] for key, of in mine.items()},
        bounds=bounds,
    )


def uncounted(runs: Sequence[Kept]) -> list[str]:
    """Give a line for each invalid run, with the reasons."""
    return [
        f"{', '.join([run.name, *run.key])}: {'; '.join(run.reasons)}"
        for run in runs
        if run.reasons is not None
    ]

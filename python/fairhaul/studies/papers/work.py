"""The runs of a paper's experiments on an engine, and the numbers that are kept of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from fairhaul.jobs.store import Job, jobs_of
from fairhaul.jobs.values import Invalid, Running, values
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.studies.papers.axes import Case
from fairhaul.studies.papers.experiment import Experiment
from fairhaul.studies.papers.results import Key, Numbers, Results

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario
    from fairhaul.statistics.estimate import Bounds


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


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What is kept of one run.

    Of one in the lab `reasons` say why it is invalid, and `lag_s` is the 99th percentile of how
    late packets were handed over.
    """

    name: str
    key: Key
    seed: int
    numbers: Numbers
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
        for job in jobs_of(case.scenario, task.seeds, on, _of(task), task.by, {"case": case.key})
    ]
    drawn: dict[str, Any] = {}
    draws = {
        job.key: partial(_draw, drawn, job.key, task.experiment)
        for task, case, job in planned
        # In real time the first may be invalid.
        if task.experiment.keep is not None
        and (FACTS[on].real_time or job.scenario.seed == case.scenario.seed)
    }
    done = values(
        [job for _, _, job in planned],
        {_of(task): partial(kept_of, task.experiment.numbers) for task in tasks},
        running,
        engine=on,
        with_record=draws,
    )
    return [
        _kept(task, case, job, value, drawn.get(job.key))
        for (task, case, job), value in zip(planned, done, strict=True)
    ]


def _of(task: Task) -> str:
    return f"{task.paper} {task.name}"


def _draw(drawn: dict[str, Any], key: str, experiment: Experiment, record: Record) -> None:
    assert experiment.keep is not None
    drawn[key] = experiment.keep(record)


def kept_of(numbers: Callable[[Record], Numbers], _: Scenario, record: Record) -> dict[str, Any]:
    """Compute what is kept of a run."""
    lag = record.meta.get("trust", {}).get("lag")
    return {
        "numbers": dict(numbers(record)),
        "lag_s": lag["p99_s"] if lag else None,
        "cpu_s": record.meta["cpu_s"],
        "packets": record.meta["packets"],
    }


def _kept(task: Task, case: Case, job: Job, value: Any, drawn: Any) -> Kept:
    seed = job.scenario.seed
    if isinstance(value, Invalid):
        return Kept(name=task.name, key=case.key, seed=seed, numbers={}, reasons=value.reasons)
    return Kept(name=task.name, key=case.key, seed=seed, kept=drawn, **value)


def gather(runs: Sequence[Kept], name: str, bounds: Mapping[str, Bounds]) -> Results:
    """Gather the valid runs of the experiment `name`; a case may have none."""
    numbers: dict[Key, list[Numbers]] = {}
    kept: dict[Key, Any] = {}
    seeds: dict[Key, list[int]] = {}
    for run in runs:
        if run.name != name:
            continue
        counted, of = numbers.setdefault(run.key, []), seeds.setdefault(run.key, [])
        if run.reasons is None:
            counted.append(run.numbers)
            of.append(run.seed)
            if run.kept is not None:
                kept.setdefault(run.key, run.kept)
    return Results(runs=numbers, kept=kept, seeds=seeds, bounds=bounds)


def uncounted(runs: Sequence[Kept]) -> list[str]:
    """Give a line for each invalid run, with the reasons."""
    return [
        f"{run.name}, {', '.join(run.key)}: {'; '.join(run.reasons)}"
        for run in runs
        if run.reasons is not None
    ]

"""The runs of a paper's experiments on an engine, and the numbers that are kept of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.answers import is_valid
from fairhaul.papers.experiment import Case, Experiment, Key, Numbers, Results
from fairhaul.runs import for_each
from fairhaul.scenario import with_seeds

if TYPE_CHECKING:
    from fairhaul.estimate import Bounds
    from fairhaul.record import Record
    from fairhaul.runs import Engine, OnProgress


@dataclass(frozen=True, kw_only=True)
class Task:
    """An experiment to be run: its name, its cases, and how many seeds each has."""

    name: str
    experiment: Experiment
    cases: Sequence[Case]
    seeds: int


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
    kept: Any
    cpu_s: float
    packets: int
    reasons: Sequence[str] | None = None
    lag_s: float | None = None


def run(
    tasks: Sequence[Task], jobs: int | None, on_progress: OnProgress | None, on: Engine = "sim"
) -> list[Kept]:
    """Run all seeds of all cases, so that no core waits."""
    plan = [
        (task, case, seeded)
        for task in tasks
        for case in task.cases
        for seeded in with_seeds(case.scenario, task.seeds)
    ]

    def read(index: int, record: Record) -> Kept:
        task, case, seeded = plan[index]
        experiment = task.experiment
        # In the lab the first may be invalid.
        wanted = on == "lab" or seeded.seed == case.scenario.seed
        return Kept(
            name=task.name,
            key=case.key,
            seed=seeded.seed,
            numbers=experiment.numbers(record),
            kept=experiment.keep(record) if experiment.keep is not None and wanted else None,
            cpu_s=record.meta["cpu_s"],
            packets=record.meta["packets"],
            reasons=None if is_valid(record.meta) else record.meta["trust"]["reasons"],
            lag_s=record.meta["trust"]["lag"]["p99_s"] if on == "lab" else None,
        )

    return for_each(
        [seeded for _, _, seeded in plan], read, jobs=jobs, on_progress=on_progress, engine=on
    )


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

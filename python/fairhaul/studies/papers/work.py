"""The runs of a paper's experiments on an engine, and the numbers that are kept of each.

The numbers are in a store beside the report, so that what was interrupted goes on where it ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.jobs.store import Job, Writer, jobs_of
from fairhaul.measures.types import is_valid
from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.studies.papers.experiment import Case, Experiment, Key, Numbers, Results

if TYPE_CHECKING:
    from pathlib import Path

    from fairhaul.record.record import Record
    from fairhaul.runs.runs import OnProgress
    from fairhaul.statistics.estimate import Bounds

# The store, in the directory of the report.
RESULTS = "results"


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
    kept: Any
    cpu_s: float
    packets: int
    reasons: Sequence[str] | None = None
    lag_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class _Run:
    """One run of a task."""

    task: Task
    case: Case
    job: Job
    keeps_record: bool


def run(
    tasks: Sequence[Task],
    jobs: int | None,
    on_progress: OnProgress | None,
    on: Engine = "sim",
    out: Path | None = None,
) -> list[Kept]:
    """Run all seeds of all cases, so that no core waits; with a store in `out`, those it lacks."""
    plan = [run for task in tasks for run in _runs(task, on)]
    with ExitStack() as stack:
        writer = stack.enter_context(Writer(out / RESULTS)) if out else None
        found = _found(plan, writer) if writer else {}
        left = [index for index in range(len(plan)) if index not in found]

        def read(place: int, record: Record) -> Kept:
            run = plan[left[place]]
            kept = _kept(run, record, on)
            if writer is not None and kept.reasons is None:
                if run.keeps_record:
                    writer.add_record(run.job.key, record)
                value = {"numbers": dict(kept.numbers), "lag_s": kept.lag_s}
                writer.keep(run.job, record.meta, value, {"case": kept.key})
            return kept

        scenarios = [plan[index].job.scenario for index in left]
        done = for_each(scenarios, read, jobs=jobs, on_progress=on_progress, engine=on)
    found |= dict(zip(left, done, strict=True))
    return [found[index] for index in range(len(plan))]


def _runs(task: Task, on: Engine) -> list[_Run]:
    of = f"{task.paper} {task.name}"
    runs = []
    for case in task.cases:
        for job in jobs_of(case.scenario, task.seeds, on, of, task.by):
            # In real time the first may be invalid.
            wanted = FACTS[on].real_time or job.scenario.seed == case.scenario.seed
            keeps_record = task.experiment.keep is not None and wanted
            runs.append(_Run(task=task, case=case, job=job, keeps_record=keeps_record))
    return runs


def _kept(run: _Run, record: Record, on: Engine) -> Kept:
    experiment = run.task.experiment
    keeps = run.keeps_record and experiment.keep is not None
    return Kept(
        name=run.task.name,
        key=run.case.key,
        seed=run.job.scenario.seed,
        numbers=experiment.numbers(record),
        kept=experiment.keep(record) if keeps and experiment.keep else None,
        cpu_s=record.meta["cpu_s"],
        packets=record.meta["packets"],
        reasons=None if is_valid(record.meta) else record.meta["trust"]["reasons"],
        lag_s=record.meta["trust"]["lag"]["p99_s"] if FACTS[on].real_time else None,
    )


def _found(plan: Sequence[_Run], writer: Writer) -> dict[int, Kept]:
    """Give what the store has of a plan, by the place in the plan."""
    store = writer.store
    results = {result.key: result for result in store.results({run.job.key for run in plan})}
    found = {}
    for index, run in enumerate(plan):
        result = results.get(run.job.key)
        if result is None:
            continue
        drawn = None
        if run.keeps_record and run.task.experiment.keep is not None:
            record = store.record(run.job.key)
            if record is None:
                continue
            drawn = run.task.experiment.keep(record)
        value = result.decoded()
        found[index] = Kept(
            name=run.task.name,
            key=run.case.key,
            seed=run.job.scenario.seed,
            numbers=value["numbers"],
            kept=drawn,
            cpu_s=result.cpu_s,
            packets=result.packets,
            lag_s=value["lag_s"],
        )
    return found


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

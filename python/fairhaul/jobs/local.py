"""The work of a sweep: runs the jobs that a store lacks, and adds their results to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul import _core
from fairhaul.jobs.store import Job, Writer
from fairhaul.measures.measures import figures

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.runs.runs import OnProgress
    from fairhaul.scenario.engines import Engine
    from fairhaul.scenario.read import Scenario

Compute = Callable[["Scenario", "Record"], Any]
"""Computes what is kept of a run, which JSON can hold; the workers of a cluster import it."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A run that failed, and why."""

    job: Job
    why: str


def missing(jobs: Sequence[Job], writer: Writer) -> list[Job]:
    """Give the jobs whose results the store lacks, each key once."""
    own = {job.key: job for job in jobs if job.key not in writer}
    return list(own.values())


def shard(jobs: Sequence[Job], number: int, of: int) -> list[Job]:
    """Give the part `number`, from 1, of the jobs of `of` processes: every `of`-th job."""
    return list(jobs[number - 1 :: of])


def work(
    jobs: Sequence[Job],
    writer: Writer,
    *,
    at_once: int | None,
    on_progress: OnProgress | None,
    engine: Engine = "sim",
    compute: Compute = figures,
) -> list[Failure]:
    """Run jobs on this machine, and add each result to the store as soon as it is there.

    A run that fails costs its own result alone.

    Args:
        jobs: the jobs, each with another key.
        writer: the store.
        at_once: the number of runs at a time; by default one per core.
        on_progress: called with the progress about ten times a second.
        engine: the engine.
        compute: computes what is kept of a run.

    Returns:
        The runs that failed.
    """
    from fairhaul.runs.runs import for_each

    def done(index: int, record: Record) -> None:
        writer.keep(jobs[index], record.meta, compute(jobs[index].scenario, record))

    def failed(index: int, error: _core.RunError) -> Failure:
        return Failure(job=jobs[index], why=str(error))

    results = for_each(
        [job.scenario for job in jobs],
        done,
        jobs=at_once,
        on_progress=on_progress,
        engine=engine,
        failed=failed,
    )
    return [result for result in results if result is not None]

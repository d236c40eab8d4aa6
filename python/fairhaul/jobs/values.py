"""Values of runs that a caller defines, computed here or on a cluster, and kept in a store."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul._core import RunError
from fairhaul.jobs.local import Compute, missing, work
from fairhaul.jobs.store import Job, Store, Writer
from fairhaul.runs.runs import for_each

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.runs.runs import OnProgress
    from fairhaul.scenario.engines import Engine


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """Where values are kept, and the Dask scheduler whose workers compute them, if any."""

    out: Path
    dask: str | None = None


def values(
    jobs: Sequence[Job],
    compute: Compute,
    keeping: Keeping | None,
    *,
    at_once: int | None = None,
    on_progress: OnProgress | None = None,
    engine: Engine = "sim",
) -> list[Any]:
    """Give the value of each job; what the store has is not computed again.

    Args:
        jobs: the jobs, whose `of` names what `compute` gives.
        compute: computes the value of a run, which JSON can hold.
        keeping: the store; without one, nothing is kept.
        at_once: the number of runs at a time; by default one per core.
        on_progress: called with the progress about ten times a second.
        engine: the engine.

    Raises:
        ScenarioError: there is no such cluster.
        StoreError: the directory of the store exists and is something else.
        RunError: a run failed. With a store, the values of all others are kept.
    """
    if keeping is None:
        once = list({job.key: job for job in jobs}.values())

        def then(index: int, record: Record) -> Any:
            return compute(once[index].scenario, record)

        plan = [job.scenario for job in once]
        done = for_each(plan, then, jobs=at_once, on_progress=on_progress, engine=engine)
        found = {job.key: value for job, value in zip(once, done, strict=True)}
        return [found[job.key] for job in jobs]
    with Writer(keeping.out, " ".join(["fairhaul", *sys.argv[1:]])) as writer:
        left = missing(jobs, writer)
        if left and keeping.dask is not None:
            from fairhaul.jobs.cluster import work_on_cluster

            failures = work_on_cluster(
                left, writer, keeping.dask, on_progress, compute, engine=engine
            )
        else:
            failures = work(
                left,
                writer,
                at_once=at_once,
                on_progress=on_progress,
                engine=engine,
                compute=compute,
            )
    if failures:
        raise RunError("\n".join(dict.fromkeys(failure.why for failure in failures)))
    results = Store(keeping.out).results({job.key for job in jobs})
    kept = {result.key: result.decoded() for result in results}
    return [kept[job.key] for job in jobs]

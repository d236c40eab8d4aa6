"""Values of runs: the one loop of all studies, with the store that keeps what was computed.

A study makes jobs and names a function that computes a value of each run; `values` gives the values
in the order of the jobs. How it goes on there is `Running`: where values are kept, which machines
compute them, and who hears of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from fairhaul._core import RunError, ScenarioError
from fairhaul.jobs.store import Job, Store, Writer
from fairhaul.measures.types import is_valid
from fairhaul.runs.cost import announced
from fairhaul.runs.runs import at_once, for_each
from fairhaul.scenario.engines import FACTS, Engine

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.runs.runs import OnProgress
    from fairhaul.scenario.read import Scenario

Compute = Callable[["Scenario", "Record"], Any]
"""Computes the value of a run, which JSON can hold; the workers of a cluster import it."""

OnEvent = Callable[[str], None]
T = TypeVar("T")


class Partial(Exception):
    """A part of the runs is done, as requested; the answer requires the others."""

    def __init__(self, done: int, wanted: int, out: Path | None) -> None:
        """Say how many of the wanted results are in a directory."""
        super().__init__(
            f"{done} of {wanted} results are in {out}; the answer requires all of them: run the "
            "other shards, then the same command without --shard"
        )
        self.done, self.wanted, self.out = done, wanted, out


class Parts:
    """Several calls of `values`: a shard does its part of each of them before it ends."""

    def __init__(self) -> None:
        """Begin."""
        self._partial: list[Partial] = []

    def of(self, call: Callable[[], T]) -> T | None:
        """Call a function that calls `values`; None if its answer requires other shards."""
        try:
            return call()
        except Partial as partial:
            self._partial.append(partial)
            return None

    def end(self) -> None:
        """End where an answer requires other shards.

        Raises:
            Partial: one of the calls was for a part of the runs alone.
        """
        if self._partial:
            done, wanted = (
                sum(getattr(one, name) for one in self._partial) for name in ("done", "wanted")
            )
            raise Partial(done, wanted, self._partial[0].out)


class InStore(TypedDict, total=False):
    """The arguments of a study whose directory is given by itself; `Running` describes them."""

    dask: str | None
    shard: tuple[int, int] | None
    jobs: int | None
    on_progress: OnProgress | None
    on_event: OnEvent | None


class RunOptions(InStore, total=False):
    """The arguments of every function that runs a study; `Running` describes them."""

    out: str | Path | None


@dataclass(frozen=True, kw_only=True)
class Running:
    """How the runs of a study are run.

    `out` is the directory of a store: what it has is not run again, so that an interrupted study
    goes on. `dask` is the address of a Dask scheduler, whose workers then run the jobs, and `shard`
    is the number of a part of the runs, from 1, and the number of parts: both require `out`. `jobs`
    is the number of runs at a time, by default one per core and one in the lab. `on_progress` is
    called with the progress about ten times a second, in the calling thread, and `on_event` with a
    sentence at the start of a step.
    """

    out: Path | None = None
    dask: str | None = None
    shard: tuple[int, int] | None = None
    jobs: int | None = None
    on_progress: OnProgress | None = None
    on_event: OnEvent | None = None
    writer: Writer | None = None
    """The store of `out`, while it is open."""

    @classmethod
    def of(cls, options: RunOptions) -> Running:
        """Take the arguments of a study.

        Raises:
            ScenarioError: a cluster or a shard is given without a directory.
        """
        given = dict(options)
        out: Any = given.pop("out", None)
        for name in ("dask", "shard"):
            if given.get(name) is not None and out is None:
                raise ScenarioError(f"--{name} requires --out: the results of all runs meet there")
        return cls(out=None if out is None else Path(out), **given)  # type: ignore[arg-type]

    @contextmanager
    def opened(self) -> Iterator[Running]:
        """Open the store for several calls of `values`; within another call, nothing happens.

        Raises:
            StoreError: the directory exists and is something else.
            OSError: it cannot be written.
        """
        if self.out is None or self.writer is not None:
            yield self
            return
        with Writer(self.out, " ".join(["fairhaul", *sys.argv[1:]])) as writer:
            for name in writer.store.damaged:
                self.say(f"{self.out}/{name} is damaged; its results are computed again")
            yield replace(self, writer=writer)

    def say(self, sentence: str) -> None:
        """Tell the caller what happens."""
        if self.on_event is not None:
            self.on_event(sentence)

    def kept(self, keys: Collection[str]) -> dict[str, Any]:
        """Give the values that the open store has of these keys."""
        if self.writer is None or self.out is None:
            return {}
        store = self.writer.store
        if any(key in self.writer and key not in store for key in keys):
            store = Store(self.out)  # it has what this process has added since
        return {result.key: result.decoded() for result in store.results(keys)}


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A run that failed, and why."""

    job: Job
    why: str


@dataclass(frozen=True, kw_only=True)
class Invalid:
    """The value of a run in real time in which the machine could not keep up; it is not kept."""

    reasons: Sequence[str]


def values(
    jobs: Sequence[Job],
    compute: Compute | Mapping[str, Compute],
    running: Running,
    *,
    engine: Engine = "sim",
    with_record: Mapping[str, Callable[[Record], None]] | None = None,
) -> list[Any]:
    """Give the value of each job, in their order.

    Args:
        jobs: the jobs, whose `of` names what `compute` gives.
        compute: computes the value of a run, which JSON can hold; for several kinds of values what
            computes each, by the names that are the jobs' `of`.
        running: how the runs are run.
        engine: the engine; of one in real time a value may be `Invalid`.
        with_record: for some keys of jobs, what is called with the record of the run. Such records
            are kept in the store, too, and these runs are never those of a cluster.

    Raises:
        ScenarioError: there is no such cluster.
        StoreError: the directory of the store exists and is something else.
        Refused: the engine cannot run a scenario here.
        RunError: a run failed; without a store all others were stopped, with one they are kept.
        Partial: `running` is for a part of the runs alone.
    """
    found, failures = attempt(jobs, compute, running, engine=engine, with_record=with_record)
    if failures:
        raise RunError("\n".join(dict.fromkeys(failure.why for failure in failures)))
    wanted = {job.key for job in jobs}
    if missing := len(wanted - found.keys()):
        raise Partial(len(wanted) - missing, len(wanted), running.out)
    return [found[job.key] for job in jobs]


def attempt(
    jobs: Sequence[Job],
    compute: Compute | Mapping[str, Compute],
    running: Running,
    *,
    engine: Engine = "sim",
    with_record: Mapping[str, Callable[[Record], None]] | None = None,
) -> tuple[dict[str, Any], list[Failure]]:
    """Do the same, and give the values by the keys of the jobs, and the runs that failed.

    In a store a run that fails costs its own value alone; without one it is raised at once.
    """
    if FACTS[engine].real_time and (running.shard or running.dask):
        raise ScenarioError("--dask and --shard: the lab runs on this machine alone")
    once = list({job.key: job for job in jobs}.values())
    drawn = with_record or {}
    with running.opened() as opened:
        found = opened.kept([job.key for job in once])
        _read_records(opened, drawn, found)
        own = once if running.shard is None else shard(once, *running.shard)
        left = [job for job in own if job.key not in found]
        _announce(opened, len(own), left, engine)
        computes = {job.of: compute for job in jobs} if callable(compute) else compute
        work = _Work(computes, opened, engine, drawn)
        failures: list[Failure] = []
        if running.dask is not None and opened.writer is not None:
            there = [job for job in left if job.key not in drawn]
            left = [job for job in left if job.key in drawn]
            failures += work.on_cluster(there, running.dask, opened.writer)
        failures += work.here(left)
        return found | work.done, failures


def shard(jobs: Sequence[Job], number: int, of: int) -> list[Job]:
    """Give the part `number`, from 1, of the jobs of `of` processes: every `of`-th job."""
    return list(jobs[number - 1 :: of])


def _read_records(
    opened: Running, drawn: Mapping[str, Callable[[Record], None]], found: dict[str, Any]
) -> None:
    """Use the records that the store has; a run whose record it lacks is run again."""
    for key in found.keys() & drawn.keys():
        record = opened.writer.store.record(key) if opened.writer is not None else None
        if record is None:
            del found[key]
        else:
            drawn[key](record)


def _announce(opened: Running, wanted: int, left: Sequence[Job], engine: Engine) -> None:
    """Name the number of kept results, and the cost of the rest if that takes long."""
    if opened.out is not None and len(left) < wanted:
        opened.say(f"{wanted - len(left)} of {wanted} results are in {opened.out} already")
    if left and opened.on_event is not None:
        text = announced([job.scenario for job in left], at_once(opened.jobs, engine), engine)
        if text:
            opened.say(text)


class _Work:
    """Runs jobs, and adds each value to the store as soon as it is there."""

    def __init__(
        self,
        computes: Mapping[str, Compute],
        opened: Running,
        engine: Engine,
        drawn: Mapping[str, Callable[[Record], None]],
    ) -> None:
        self._computes, self._opened, self._engine, self._drawn = computes, opened, engine, drawn
        self.done: dict[str, Any] = {}

    def here(self, jobs: Sequence[Job]) -> list[Failure]:
        """Run jobs on this machine."""

        def failed(index: int, error: RunError) -> Failure:
            return Failure(job=jobs[index], why=str(error))

        results = for_each(
            [job.scenario for job in jobs],
            lambda index, record: self._keep(jobs[index], record),
            jobs=self._opened.jobs,
            on_progress=self._opened.on_progress,
            engine=self._engine,
            failed=None if self._opened.writer is None else failed,
        )
        return [result for result in results if result is not None]

    def _keep(self, job: Job, record: Record) -> Failure | None:
        if FACTS[self._engine].real_time and not is_valid(record.meta):
            self.done[job.key] = Invalid(reasons=record.meta["trust"]["reasons"])
            return None
        value, writer = self._computes[job.of](job.scenario, record), self._opened.writer
        if (use := self._drawn.get(job.key)) is not None:
            use(record)
            if writer is not None:
                writer.add_record(job.key, record)
        if writer is not None:
            writer.keep(job, record.meta, value)
        self.done[job.key] = value
        return None

    def on_cluster(self, jobs: Sequence[Job], address: str, writer: Writer) -> list[Failure]:
        """Run jobs on the workers of a cluster."""
        if not jobs:
            return []
        from fairhaul.jobs.cluster import work_on_cluster

        def keep(job: Job, made: Mapping[str, Any], value: Any) -> None:
            writer.keep(job, made, value)
            self.done[job.key] = value

        failures = work_on_cluster(
            jobs, keep, address, self._opened.on_progress, self._computes, engine=self._engine
        )
        return [Failure(job=job, why=why) for job, why in failures]

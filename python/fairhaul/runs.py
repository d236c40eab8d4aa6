"""Runs: one, or many on all cores.

Each run is a thread: the engine releases the interpreter's lock. The main thread only waits, so
that Ctrl-C reaches it, and then stops every run at once.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from operator import index as whole
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from fairhaul import _core, lab
from fairhaul.answers import Answer, Answers
from fairhaul.measures import measure
from fairhaul.memory import per_run
from fairhaul.record import SCHEMA, Record
from fairhaul.renamed import renamed
from fairhaul.scenario import (
    Scenario,
    Settings,
    Source,
    flow_index,
    label,
    read_one,
    variant,
    with_seeds,
)

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.results import RunFigures

T = TypeVar("T")
Engine = Literal["sim", "lab"]

LOOK_EVERY_S = 0.1

# Runs for each that runs at a time that `run_each` has begun and not yet given.
AHEAD = 4


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of many runs, in seconds of simulated time."""

    reached_s: float
    total_s: float
    finished: int
    runs: int
    running: tuple[str, ...]
    figured: tuple[str, ...] = ()
    """The runs among `running` that are simulated, and whose figures are being computed."""


OnProgress = Callable[[Progress], None]


@renamed(set="overrides", on="engine", watch="on_progress")
def run(
    source: Source,
    overrides: Settings | None = None,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    engine: Engine = "sim",
) -> Answer:
    """Run the one scenario of `source` with `seeds` seeds, counted up from its own.

    Args:
        source: the path of a file, TOML text (anything with a line break), or a mapping.
        overrides: keys to change, named as in `[sweep]`: `{"flow.F1.controller.c": 20}`.
        seeds: the number of runs; 1 by default.
        jobs: the number of runs at a time; by default one per core, and one in the lab.
        on_progress: called with the progress about ten times a second, in the calling thread.
        engine: `"sim"`, the simulator, or `"lab"`, real kernels.

    Raises:
        ScenarioError: the scenario is wrong; `args` are all mistakes, one line each. It is also
            raised if `[sweep]` makes several scenarios of `source`.
        Refused: the lab cannot run the scenario here; nothing was changed.
        RunError: a run failed; all others were stopped.
    """
    scenarios = [read_one(source, overrides)]
    return run_many(scenarios, seeds=seeds, jobs=jobs, on_progress=on_progress, engine=engine)[0]


@renamed(on="engine", watch="on_progress")
def run_many(
    scenarios: Sequence[Scenario],
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    engine: Engine = "sim",
) -> Answers:
    """Run every scenario with `seeds` seeds, `jobs` runs at a time.

    The answers hold the records of all runs in memory; `run_each` gives one answer after the other.

    Args:
        scenarios: the scenarios that `read` gave, of one file or of several.
        seeds: the number of runs of each, counted up from its own seed; 1 by default.
        jobs: the number of runs at a time; by default one per core, and one in the lab.
        on_progress: called with the progress about ten times a second, in the calling thread.
        engine: `"sim"`, the simulator, or `"lab"`, real kernels.

    Returns:
        An answer for each scenario, in their order.

    Raises:
        ScenarioError: a seed would exceed 2^64 - 1, or a scenario does not fit into memory.
        Refused: the lab cannot run a scenario here; nothing was changed.
        RunError: a run failed; all others were stopped.
    """
    each = 1 if seeds is None else whole(seeds)
    plan = [seeded for scenario in scenarios for seeded in with_seeds(scenario, each)]
    done = for_each(plan, _measured, jobs=jobs, on_progress=on_progress, engine=engine)
    parts = (done[start : start + each] for start in range(0, len(done), each))
    return Answers(_answer(part) for part in parts)


def run_each(
    scenarios: Sequence[Scenario],
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    engine: Engine = "sim",
) -> Iterator[Answer]:
    """Run every scenario as `run_many` does, and give each answer as soon as it is complete.

    Only the records of a few runs are in memory at a time, so that a sweep may be of any length.
    Runs go on while the caller works on an answer; they stop when the iterator is closed.

    Args:
        scenarios: the scenarios that `read` gave, of one file or of several.
        seeds: the number of runs of each, counted up from its own seed; 1 by default.
        jobs: the number of runs at a time; by default one per core, and one in the lab.
        on_progress: called with the progress about ten times a second, in the calling thread, while
            it waits for an answer.
        engine: `"sim"`, the simulator, or `"lab"`, real kernels.

    Returns:
        An iterator over the answers, in the order of `scenarios`.

    Raises:
        ScenarioError: a seed would exceed 2^64 - 1, or a scenario does not fit into memory.
        Refused: the lab cannot run a scenario here; raised by the iterator.
        RunError: a run failed; all others were stopped; raised by the iterator.
    """
    each = 1 if seeds is None else whole(seeds)
    plan = [seeded for scenario in scenarios for seeded in with_seeds(scenario, each)]
    jobs = _jobs(jobs, engine)
    ahead = AHEAD * jobs + each
    results = _in_order(
        RunPool(plan, None, engine, jobs), _measured, on_progress=on_progress, ahead=ahead
    )
    return _grouped(results, each)


def _measured(_: int, record: Record) -> tuple[Record, RunFigures]:
    return record, measure(record)


def _answer(part: Sequence[tuple[Record, RunFigures]]) -> Answer:
    return Answer(records=tuple(r for r, _ in part), measures=tuple(m for _, m in part))


def _grouped(results: Iterator[tuple[Record, RunFigures]], each: int) -> Iterator[Answer]:
    """Put every `each` results into an answer, and keep none of them."""
    part: list[tuple[Record, RunFigures]] = []
    for result in results:
        part.append(result)
        if len(part) == each:
            answer = _answer(part)
            part = []
            yield answer


def for_each(
    plan: Sequence[Scenario],
    then: Callable[[int, Record], T],
    *,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    trace: str | None = None,
    engine: Engine = "sim",
) -> list[T]:
    """Run every scenario of `plan` once, and give what `then` makes of each record.

    A record is dropped when `then` has returned, so that only the records of the runs that are
    under way are in memory. The first failure, or an interrupt, stops all runs and is raised.

    Args:
        plan: the scenarios, each with its seed.
        then: called in the thread of its run with the index in `plan` and the record.
        jobs: the number of runs at a time; by default one per core, and one in the lab.
        on_progress: called with the progress about ten times a second, in the calling thread.
        trace: the name of a flow whose packets the records hold as a trace; simulator only.
        engine: `"sim"`, the simulator, or `"lab"`, real kernels.

    Returns:
        The results of `then`, in the order of `plan`.

    Raises:
        ScenarioError: a scenario has no flow `trace`, or does not fit into memory.
        Refused: the lab cannot run a scenario here; nothing was changed.
        RunError: a run failed; all others were stopped.
    """
    pool = RunPool(plan, trace, engine, _jobs(jobs, engine))
    return list(_in_order(pool, then, on_progress=on_progress, ahead=len(plan)))


def _jobs(jobs: int | None, engine: Engine) -> int:
    # Runs in real time take processors from each other, so only the caller may ask for several.
    number = None if jobs is None else whole(jobs)
    return number or (1 if engine == "lab" else cores())


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_order(
    pool: RunPool,
    then: Callable[[int, Record], T],
    *,
    on_progress: OnProgress | None,
    ahead: int,
) -> Iterator[T]:
    """Run all of `pool` and give the results in order, at most `ahead` begun and not yet given."""
    begun: deque[Future[T]] = deque()
    left = iter(range(pool.runs))
    shown_s = 0.0
    with ThreadPoolExecutor(max_workers=pool.jobs) as threads:
        try:
            while True:
                while len(begun) < ahead and (run := next(left, None)) is not None:
                    begun.append(threads.submit(pool.run, run, then))
                if not begun:
                    break
                wait([begun[0]], timeout=LOOK_EVERY_S)
                if on_progress is not None and time.monotonic() >= shown_s + LOOK_EVERY_S:
                    shown_s = time.monotonic()
                    on_progress(pool.progress())
                if pool.failure is not None:
                    raise pool.failure
                while begun and begun[0].done():
                    yield begun.popleft().result()
            if on_progress is not None:
                on_progress(pool.progress())
        finally:
            pool.stop()
            threads.shutdown(cancel_futures=True)


class RunPool:
    """The runs of a plan, `jobs` at a time; their progress is read from another thread."""

    def __init__(
        self, plan: Sequence[Scenario], trace: str | None, engine: Engine, jobs: int
    ) -> None:
        """Prepare the runs; nothing starts yet."""
        self.jobs = jobs
        self.failure: BaseException | None = None
        """Why the first run failed that did."""
        self._plan = plan
        self._engine = engine
        self._memory = None if engine == "lab" else per_run(plan, jobs)
        self._traced = [None if trace is None else flow_index(scenario, trace) for scenario in plan]
        self._lock = threading.Lock()
        self._runs: dict[int, _core.Run | lab.Run] = {}
        self._done_s: dict[int, float] = {}
        # The threads that have run their engine, and compute figures.
        self._figuring: dict[int, int] = {}
        self._stopped = False

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self._plan)

    def run(self, index: int, then: Callable[[int, Record], T]) -> T:
        """Run one scenario of the plan, and give what `then` makes of its record."""
        try:
            return self._run(index, then)
        except BaseException as error:
            with self._lock:
                self.failure = self.failure or error
            raise

    def _run(self, index: int, then: Callable[[int, Record], T]) -> T:
        scenario = self._plan[index]
        run = self._prepared(scenario, self._traced[index])
        with self._lock:
            if self._stopped:
                raise _core.Stopped("stopped before it began")
            self._runs[index] = run
        try:
            outcome, cpu_s = _outcome(run)
            return self._figure(index, lambda: then(index, _record(scenario, run, outcome, cpu_s)))
        finally:
            with self._lock:
                self._runs.pop(index, None)
                self._done_s[index] = scenario.duration_s

    def _figure(self, index: int, compute: Callable[[], T]) -> T:
        """Compute figures so that `stop` can end it: nothing else in Python ends a thread."""
        with self._lock:
            if self._stopped:
                raise _core.Stopped("stopped before its figures were computed")
            self._figuring[index] = threading.get_ident()
        try:
            return compute()
        finally:
            with self._lock:
                self._figuring.pop(index, None)

    def _prepared(self, scenario: Scenario, traced: int | None) -> _core.Run | lab.Run:
        if self._engine == "lab":
            return lab.Run(scenario)
        return _core.Run(scenario, traced, self._memory)

    def stop(self) -> None:
        """Stop every run, and the computation of figures."""
        with self._lock:
            self._stopped = True
            for run in self._runs.values():
                run.stop()
            # Raised in the thread at its next step, in whatever it computes.
            for thread in self._figuring.values():
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(_core.Stopped)
                )
            self._figuring.clear()

    def progress(self) -> Progress:
        """Give the progress of all runs."""
        with self._lock:
            reached = sum(self._done_s.values()) + sum(r.reached_s for r in self._runs.values())
            return Progress(
                reached_s=reached,
                total_s=sum(scenario.duration_s for scenario in self._plan),
                finished=len(self._done_s),
                runs=len(self._plan),
                running=tuple(label(self._plan[i]) for i in sorted(self._runs)),
                figured=tuple(label(self._plan[i]) for i in sorted(self._figuring)),
            )


def _outcome(run: _core.Run | lab.Run) -> tuple[Any, float]:
    """Run, and give the outcome and the processor time of the engine's call alone."""
    before = time.thread_time()
    outcome = run.run()
    return outcome, time.thread_time() - before


def _record(scenario: Scenario, run: _core.Run | lab.Run, outcome: Any, cpu_s: float) -> Record:
    """Build the record of a run."""
    meta = {
        "schema": SCHEMA,
        "engine": outcome.engine,
        "version": _core.__version__,
        "seed": scenario.seed,
        "packets": outcome.packets,
        "cpu_s": cpu_s,
        "variant": variant(scenario),
        "trace_is_full": outcome.trace_is_full,
        "scenario": json.loads(scenario.describe()),
    }
    if isinstance(run, lab.Run):
        meta |= run.notes
    return Record(
        meta=meta,
        flow_series=outcome.flow_series,
        link_series=outcome.link_series,
        gauge=outcome.gauge,
        transfer=outcome.transfer,
        event=outcome.event,
        trace=None if outcome.trace is None else _frame(outcome.trace),
    )


def _frame(table: _core.Table) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(table)

"""Runs: one, or many on all cores.

Each run is a thread: the engine releases the interpreter's lock. The main thread only waits, so
that Ctrl-C reaches it, and then stops every run at once.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import islice
from operator import index as whole
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fairhaul.answers.answers import Answer, Answers
from fairhaul.linux import run as linux
from fairhaul.measures.measures import measure
from fairhaul.record.record import Record
from fairhaul.runs import lab
from fairhaul.runs import progress as notebook
from fairhaul.runs.run_pool import Failed, OnProgress, Progress, RunPool
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.scenario.read import (
    Controllers,
    Scenario,
    Settings,
    Source,
    read_one,
    refuse_too_many,
    with_seeds,
)

if TYPE_CHECKING:
    from fairhaul.measures.types import RunFigures

__all__ = [
    "Engine",
    "OnProgress",
    "Progress",
    "cores",
    "for_each",
    "left_behind",
    "refuse_if_impossible",
    "run",
    "run_each",
    "run_many",
]

T = TypeVar("T")

LOOK_EVERY_S = 0.1
# Runs that are to end are asked again so often, and code of a user's gets so long to return.
STOP_EVERY_S, PATIENCE_S = 0.02, 0.5

_left_behind = threading.Event()

# Runs for each that runs at a time that `run_each` has begun and not yet given.
AHEAD = 4


def run(
    source: Source,
    overrides: Settings | None = None,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    engine: Engine = "sim",
    controllers: Controllers | None = None,
) -> Answer:
    """Run the one scenario of `source` with `seeds` seeds, counted up from its own.

    Args:
        source: the path of a file, TOML text (anything with a line break), or a mapping.
        overrides: keys to change, named as in `[sweep]`: `{"flow.F1.controller.c": 20}`.
        seeds: the number of runs; 1 by default.
        jobs: the number of runs at a time; by default one per core, and one in the lab.
        on_progress: called with the progress about ten times a second, in the calling thread.
        engine: `"sim"`, the simulator, `"linux"`, Linux in simulated time, or `"lab"`, this
            machine's kernel in real time.
        controllers: classes of your own, by the names that the scenario uses for them.

    Raises:
        ScenarioError: the scenario is wrong; `args` are all mistakes, one line each. It is also
            raised if `[sweep]` makes several scenarios of `source`.
        Refused: the lab cannot run the scenario here; nothing was changed.
        RunError: a run failed; all others were stopped.
    """
    scenarios = [read_one(source, overrides, controllers=controllers)]
    return run_many(scenarios, seeds=seeds, jobs=jobs, on_progress=on_progress, engine=engine)[0]


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

    `scenarios` come from `read`, of one file or of several; `run` has the other arguments. There is
    an answer for each scenario, in their order.

    Raises:
        ScenarioError: a seed would exceed 2^64 - 1, or a scenario does not fit into memory.
        Refused: the lab cannot run a scenario here; nothing was changed.
        RunError: a run failed; all others were stopped.
    """
    plan, each = _planned(scenarios, seeds)
    done = for_each(plan, _measured, jobs=jobs, on_progress=on_progress, engine=engine)
    return Answers(_answers(iter(done), each))


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

    `on_progress` is called while the caller waits for an answer; the answers are in the order of
    `scenarios`.

    Raises:
        ScenarioError: a seed would exceed 2^64 - 1, or a scenario does not fit into memory.
        Refused: the lab cannot run a scenario here; raised by the iterator.
        RunError: a run failed; all others were stopped; raised by the iterator.
    """
    plan, each = _planned(scenarios, seeds)
    pool = RunPool(plan, None, engine, at_once(jobs, engine))
    ahead = AHEAD * pool.jobs + each
    return _answers(_in_order(pool, _measured, on_progress=on_progress, ahead=ahead), each)


def _planned(scenarios: Sequence[Scenario], seeds: int | None) -> tuple[list[Scenario], int]:
    """Give each scenario with each of its seeds, and the number of seeds."""
    each = 1 if seeds is None else whole(seeds)
    refuse_too_many(scenarios, each)
    return [seeded for scenario in scenarios for seeded in with_seeds(scenario, each)], each


def _measured(_: int, record: Record) -> tuple[Record, RunFigures]:
    return record, measure(record)


def _answers(results: Iterator[tuple[Record, RunFigures]], each: int) -> Iterator[Answer]:
    """Put every `each` results into an answer, and keep none of them."""
    while part := list(islice(results, each)):
        yield Answer(records=tuple(r for r, _ in part), measures=tuple(m for _, m in part))


def for_each(  # noqa: PLR0913
    plan: Sequence[Scenario],
    then: Callable[[int, Record], T],
    *,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    trace: str | None = None,
    engine: Engine = "sim",
    failed: Failed[T] | None = None,
    kept: Sequence[Path] = (),
) -> list[T]:
    """Run every scenario of `plan` once, and give what `then` makes of each record.

    A record is dropped when `then` has returned, so that only the records of the runs that are
    under way are in memory. An interrupt stops all runs, and so does the first failure, unless
    `failed` says what a run gives that failed; the other runs then go on.

    Args:
        plan: the scenarios, each with its seed.
        then: called in the thread of its run with the index in `plan` and the record.
        jobs: as in `run`.
        on_progress: as in `run`.
        trace: the name of a flow whose packets the records hold as a trace; not in the lab.
        engine: as in `run`.
        failed: called in the thread of a run that failed, with its index and the error.
        kept: for each scenario a directory for the files of its programs; by default they are
            not kept.

    Returns:
        The results of `then`, in the order of `plan`.

    Raises:
        ScenarioError: a scenario has no flow `trace`, or does not fit into memory, or the engine
            traces no packets.
        Refused: the lab cannot run a scenario here; nothing was changed.
        RunError: a run failed, and there is no `failed`; all others were stopped.
    """
    pool = RunPool(plan, trace, engine, at_once(jobs, engine), kept)
    return list(_in_order(pool, then, failed, on_progress=on_progress, ahead=len(plan)))


def at_once(jobs: int | None, engine: Engine) -> int:
    """Give the number of runs at a time: `jobs`, or what is usual for the engine."""
    # Runs in real time take processors from each other, so only the caller may choose several.
    number = None if jobs is None else whole(jobs)
    return number or (1 if FACTS[engine].real_time else cores())


def refuse_if_impossible(engine: Engine, scenarios: Iterable[Scenario]) -> None:
    """Refuse at once what an engine would refuse after other work has been done.

    Raises:
        Refused: the engine cannot be used here, or cannot run one of the scenarios.
    """
    if engine == "linux":
        linux.refuse_if_impossible(scenarios)
    elif engine == "lab":
        lab.refuse_if_impossible(scenarios)


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_order(
    pool: RunPool,
    then: Callable[[int, Record], T],
    failed: Failed[T] | None = None,
    *,
    on_progress: OnProgress | None,
    ahead: int,
) -> Iterator[T]:
    """Run all of `pool` and give the results in order, at most `ahead` begun and not yet given."""
    on_progress = on_progress or notebook.progress()
    begun: deque[Future[T]] = deque()
    left = iter(range(pool.runs))
    shown_s = 0.0
    threads = ThreadPoolExecutor(max_workers=pool.jobs)
    try:
        while True:
            while len(begun) < ahead and (run := next(left, None)) is not None:
                begun.append(threads.submit(pool.run, run, then, failed))
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
        _end(pool, threads, begun)


def _end(pool: RunPool, threads: ThreadPoolExecutor, begun: Iterable[Future[T]]) -> None:
    """Stop the runs, and wait for their threads.

    Nothing ends a call of a user's code that does not return, such as one of a library. After a
    moment its thread is left behind, and ends with the process: see `left_behind`.
    """
    pool.stop()
    threads.shutdown(wait=not pool.calls_users_code, cancel_futures=True)
    if not pool.calls_users_code:
        return
    end_s = time.monotonic() + PATIENCE_S
    while wait(begun, timeout=STOP_EVERY_S).not_done:
        if time.monotonic() > end_s:
            _left_behind.set()
            return
        pool.stop()  # a controller may have suppressed the exception that was to end it


def left_behind() -> bool:
    """Whether a thread is left behind that may never end, so that the interpreter cannot, either.

    The process then has to be ended by `os._exit`.
    """
    return _left_behind.is_set()

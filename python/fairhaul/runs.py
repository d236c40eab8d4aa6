"""Runs: one, or many on all cores.

Each run is a thread: the engine lets go of the interpreter's lock. The main thread only waits,
so that Ctrl-C reaches it, and then stops every run at once.
"""

from __future__ import annotations

import ctypes
import json
import os
import threading
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from fairhaul import _core, lab
from fairhaul.estimate import summary
from fairhaul.measures import measure
from fairhaul.memory import per_run
from fairhaul.nearest import hint
from fairhaul.record import SCHEMA, Record
from fairhaul.scenario import Scenario, ScenarioError, Settings, Source, read_one

T = TypeVar("T")
Engine = Literal["sim", "lab"]

LOOK_EVERY_S = 0.1
LARGEST_SEED = 2**64 - 1


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far many runs have come, in seconds of virtual time."""

    reached_s: float
    total_s: float
    finished: int
    runs: int
    running: tuple[str, ...]
    figured: tuple[str, ...] = ()
    """Those of `running` that are over, and whose figures are being computed."""


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the runs of one scenario gave, one entry per seed.

    `records` are what happened, `measures` the figures of each: the objects of `measure`. `seeded`
    says whether a number of seeds was asked for, be it 1.
    """

    records: tuple[Record, ...]
    measures: tuple[dict[str, Any], ...]
    seeded: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Give the object that `--json` prints: bare without `seeds`, else with a summary."""
        bare = len(self.measures) == 1 and not self.seeded
        return self.measures[0] if bare else together(self.measures)


def together(measures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Put the measures of one scenario's runs into one object, with their summary."""
    same: dict[str, Any] = {
        key: measures[0][key] for key in ("title", "variant") if key in measures[0]
    }
    return {**same, "runs": list(measures), "summary": summary(valid_runs(measures))}


def is_valid(run: Mapping[str, Any]) -> bool:
    """Whether a run is to be believed, by its measures or what is noted of its record."""
    return bool(run.get("trust", {}).get("valid", True))


def valid_runs(measures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the runs that count: the simulator's, and of the lab's those that are to be believed.

    Raises:
        RunError: there is none.
    """
    found = [run for run in measures if is_valid(run)]
    if not found:
        reasons = sorted({reason for run in measures for reason in run["trust"]["reasons"]})
        title = titled(measures[0]["title"], measures[0].get("variant", {}))
        raise _core.RunError(f"{title}: no run is to be believed: {'; '.join(reasons)}")
    return found


def run(
    source: Source,
    set: Settings | None = None,  # noqa: A002
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    on: Engine = "sim",
) -> Answer:
    """Run the one scenario of `source` with as many seeds, counted up from its own.

    Args:
        source: the path of a file, TOML text (anything with a line break), or a mapping.
        set: keys to change, named as in `[sweep]`: `{"flow.F1.controller.c": 20}`.
        seeds: how many runs; where left out one, whose answer has no summary, as without `--seeds`.
        jobs: runs at a time; where left out all cores, and one in the lab.
        on_progress: called with the progress about ten times a second, in the calling thread.
        on: the engine: the simulator, or the lab with real kernels.

    Raises:
        ScenarioError: `args` are all mistakes, one line each; also where `[sweep]` makes several
            scenarios of `source`.
        RunError: a run failed; all others were stopped.
    """
    return run_many([read_one(source, set)], seeds=seeds, jobs=jobs, on_progress=on_progress, on=on)[0]


def run_many(
    scenarios: Sequence[Scenario],
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    on: Engine = "sim",
) -> list[Answer]:
    """Run every scenario with as many seeds, `jobs` at a time.

    Args:
        scenarios: what `read` gave, or several of that.
        seeds: runs of each, counted up from its own seed; one where left out.
        jobs: runs at a time; where left out all cores, and one in the lab.
        on_progress: called with the progress about ten times a second, in the calling thread.
        on: the engine.

    Returns:
        An answer for each scenario, in their order.

    Raises:
        ScenarioError: the seeds counted up pass 2^64 - 1.
        RunError: a run failed; all others were stopped.
    """
    each = 1 if seeds is None else seeds
    plan = [seeded for scenario in scenarios for seeded in with_seeds(scenario, each)]

    def both(_: int, record: Record) -> tuple[Record, dict[str, Any]]:
        return record, measure(record)

    found = for_each(plan, both, jobs=jobs, on_progress=on_progress, on=on)
    answers = []
    for start in range(0, len(found), each):
        records, measures = zip(*found[start : start + each], strict=True)
        answers.append(Answer(records=records, measures=measures, seeded=seeds is not None))
    return answers


def with_seeds(scenario: Scenario, seeds: int) -> list[Scenario]:
    """Give `scenario` with its own seed and those after it."""
    if seeds < 1:
        raise ValueError("at least one seed is wanted")
    if scenario.seed + seeds - 1 > LARGEST_SEED:
        raise ScenarioError(f"{seeds} seeds counted up from {scenario.seed} pass 2^64 - 1")
    return [scenario.with_seed(scenario.seed + i) for i in range(seeds)]


def for_each(
    plan: Sequence[Scenario],
    then: Callable[[int, Record], T],
    *,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    trace: str | None = None,
    on: Engine = "sim",
) -> list[T]:
    """Run every scenario of `plan` and give what `then` makes of each record, in order.

    `trace` names a flow whose packets the records hold as evidence; the simulator alone has it.

    `then` is called in the thread of its run with the index in `plan` and the record.

    The first failure stops all others and is raised; so is an interrupt.
    """
    # Runs in real time take each other's processors, so that is for somebody to ask for.
    jobs = jobs or (1 if on == "lab" else cores())
    runs_ = RunPool(plan, trace, on, None if on == "lab" else per_run(plan, jobs))
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(runs_.run, i, then) for i in range(len(plan))]
        try:
            _wait(futures, runs_, on_progress)
        finally:
            runs_.stop()
            pool.shutdown(cancel_futures=True)
    return [future.result() for future in futures]


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _wait(futures: Sequence[Future[T]], runs_: RunPool, on_progress: OnProgress | None) -> None:
    """Wait until all is done; raise the first failure as soon as it is there."""
    left = set(futures)
    while left:
        done, left = wait(left, timeout=LOOK_EVERY_S, return_when=FIRST_EXCEPTION)
        if on_progress is not None:
            on_progress(runs_.progress())
        for future in done:
            future.result()


class RunPool:
    """Runs that are under way, seen and stopped from another thread."""

    def __init__(
        self, plan: Sequence[Scenario], trace: str | None, on: Engine, memory: int | None
    ) -> None:
        self._plan = plan
        self._on = on
        self._memory = memory
        self._traced = [None if trace is None else flow_index(one, trace) for one in plan]
        self._lock = threading.Lock()
        self._runs: dict[int, _core.Run | lab.Run] = {}
        self._done_s: dict[int, float] = {}
        # The threads that have run their engine, and compute figures.
        self._figuring: dict[int, int] = {}
        self._stopped = False

    def run(self, index: int, then: Callable[[int, Record], T]) -> T:
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
        """Compute figures in a way that `stop` ends, as Python has no other for a thread."""
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
        return lab.Run(scenario) if self._on == "lab" else _core.Run(scenario, traced, self._memory)

    def stop(self) -> None:
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


def flow_index(scenario: Scenario, name: str) -> int:
    """Find the flow `name` of `scenario`."""
    names = [flow["name"] for flow in json.loads(scenario.describe())["flows"]]
    if name in names:
        return names.index(name)
    raise ScenarioError(f"{scenario.title}: there is no flow {name!r}; {hint(name, names)}")


def variant(scenario: Scenario) -> dict[str, Any]:
    """What `[sweep]` set for `scenario`."""
    return {key: tomllib.loads(f"x = {value}")["x"] for key, value in scenario.variant}


def label(scenario: Scenario) -> str:
    """Say in a few words what runs: what was set for a variant, or the title; and the seed."""
    settings = [f"{key.rpartition('.')[2]} = {value}" for key, value in variant(scenario).items()]
    return ", ".join([*(settings or [scenario.title]), f"seed {scenario.seed}"])


def titled(title: str, variant: Mapping[str, Any]) -> str:
    """Put what was set for a variant behind a title."""
    return ", ".join([title, *(f"{key} = {value}" for key, value in variant.items())])


def _outcome(run: _core.Run | lab.Run) -> tuple[Any, float]:
    """Run; the time is that of the engine's call alone."""
    before = time.thread_time()
    outcome = run.run()
    return outcome, time.thread_time() - before


def _record(scenario: Scenario, run: _core.Run | lab.Run, outcome: Any, cpu_s: float) -> Record:
    """Gather the record of a run."""
    import polars as pl

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
        flow_series=pl.DataFrame(outcome.flow_series),
        link_series=pl.DataFrame(outcome.link_series),
        gauge=pl.DataFrame(outcome.gauge),
        transfer=pl.DataFrame(outcome.transfer),
        event=pl.DataFrame(outcome.event),
        trace=None if outcome.trace is None else pl.DataFrame(outcome.trace),
    )

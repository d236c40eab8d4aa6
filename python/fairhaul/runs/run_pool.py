"""The runs of a plan, in threads: their progress, how they are stopped, and their records."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fairhaul import _core
from fairhaul.linux import run as linux
from fairhaul.record.outcome import record_of
from fairhaul.runs import lab
from fairhaul.scenario import own
from fairhaul.scenario.engines import FACTS, NO_TRACE, Engine
from fairhaul.scenario.memory import per_run
from fairhaul.scenario.read import Scenario, ScenarioError, flow_index, label

if TYPE_CHECKING:
    from fairhaul.record.record import Record

T = TypeVar("T")
# A run of one of the engines: all have `run`, `stop` and `reached_s`.
EngineRun = _core.Run | linux.Run | lab.Run


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The progress of many runs, in seconds of simulated time.

    `part` is how much of the work is done, from 0 to 1: a run counts as much as its estimated
    number of packets.
    """

    reached_s: float
    total_s: float
    part: float
    finished: int
    runs: int | None
    """None of a search, which does not know how many follow."""
    running: tuple[str, ...]
    figured: tuple[str, ...] = ()
    """The runs among `running` that are simulated, and whose figures are being computed."""

    @property
    def counted(self) -> str:
        """How many runs are finished, and of how many if that is known."""
        of = "" if self.runs is None else f"/{self.runs}"
        return f"{self.finished}{of} runs"


OnProgress = Callable[[Progress], None]
# What a run gives that failed: called with its index and the error.
Failed = Callable[[int, _core.RunError], T]


class RunPool:
    """The runs of a plan, `jobs` at a time; their progress is read from another thread."""

    def __init__(
        self,
        plan: Sequence[Scenario],
        trace: str | None,
        engine: Engine,
        jobs: int,
        kept: Sequence[Path] = (),
    ) -> None:
        """Prepare the runs; nothing starts yet. `kept`: for each, where files of programs go.

        Raises:
            ScenarioError: a scenario has no flow `trace`, or the engine traces no packets.
        """
        if trace is not None and FACTS[engine].real_time:
            raise ScenarioError(NO_TRACE)
        self.jobs = jobs
        self.failure: BaseException | None = None
        """Why the first run failed that did."""
        self._plan = plan
        self._engine = engine
        self._memory = None if FACTS[engine].real_time else per_run(plan, jobs, engine)
        self._program = linux.chosen() if engine == "linux" and plan else None
        self._traced = [None if trace is None else flow_index(scenario, trace) for scenario in plan]
        self._kept = kept
        self._lock = threading.Lock()
        self._runs: dict[int, EngineRun] = {}
        self._work = [_work(scenario, engine) for scenario in plan]
        self._all_work, self._all_s = sum(self._work), sum(run.duration_s for run in plan)
        self._finished, self._done_work, self._done_s = 0, 0.0, 0.0
        # The threads that have run their engine, and compute figures; and those whose engine may
        # call a controller in Python.
        self._figuring: dict[int, int] = {}
        self._calling: dict[int, int] = {}
        self.calls_users_code = engine == "sim" and any(
            scenario.calls_users_code() for scenario in plan
        )
        """Whether a run may call code of a user's, which may not return."""
        self._stopped = False

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self._plan)

    def run(
        self, index: int, then: Callable[[int, Record], T], failed: Failed[T] | None = None
    ) -> T:
        """Run one scenario of the plan, and give what `then` makes of its record."""
        try:
            try:
                return self._run(index, then)
            except _core.RunError as error:
                if failed is None or isinstance(error, _core.Stopped):
                    raise
                return failed(index, error)
        except BaseException as error:
            with self._lock:
                self.failure = self.failure or error
            raise

    def _run(self, index: int, then: Callable[[int, Record], T]) -> T:
        scenario = self._plan[index]
        kept = self._kept[index] if self._kept else None
        run = self._prepared(scenario, self._traced[index], kept)
        with self._lock:
            if self._stopped:
                raise _core.Stopped("stopped before it began")
            self._runs[index] = run
            if self.calls_users_code:
                self._calling[index] = threading.get_ident()
        try:
            outcome, cpu_s = _outcome(run)
            self._returned(index)
            # Of a run with a kernel, what it reports beside its record.
            notes = {"engine": self._engine, **getattr(run, "notes", {})}
            return self._figure(
                index, lambda: then(index, record_of(scenario, outcome, cpu_s, notes))
            )
        finally:
            with self._lock:
                self._runs.pop(index, None)
                self._calling.pop(index, None)
                self._finished += 1
                self._done_s += scenario.duration_s
                self._done_work += self._work[index]

    def _returned(self, index: int) -> None:
        """The engine of a run has returned: nothing is raised in its thread any more."""
        with self._lock:
            self._calling.pop(index, None)

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

    def _prepared(self, scenario: Scenario, traced: int | None, kept: Path | None) -> EngineRun:
        if self._program is not None:
            return linux.Run(scenario, self._program, traced, kept)
        if self._engine == "lab":
            return lab.Run(scenario, kept)
        return _core.Run(scenario, traced, self._memory)

    def stop(self) -> None:
        """Stop every run, and the computation of figures.

        If a controller in Python suppresses the exception that ends it, the next call does so.
        """
        with self._lock:
            self._stopped = True
            for run in self._runs.values():
                run.stop()
            # Raised in the thread at its next step, in whatever it computes.
            for thread in (*self._figuring.values(), *self._calling.values()):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(_core.Stopped)
                )
            self._figuring.clear()

    def progress(self) -> Progress:
        """Give the progress of all runs."""
        with self._lock:
            reached = {index: run.reached_s for index, run in self._runs.items()}
            work = sum(
                self._work[index] * reached_s / (self._plan[index].duration_s or 1.0)
                for index, reached_s in reached.items()
            )
            return Progress(
                reached_s=self._done_s + sum(reached.values()),
                total_s=self._all_s,
                part=(self._done_work + work) / (self._all_work or 1.0),
                finished=self._finished,
                runs=len(self._plan),
                running=tuple(label(self._plan[i]) for i in sorted(self._runs)),
                figured=tuple(label(self._plan[i]) for i in sorted(self._figuring)),
            )


def _work(scenario: Scenario, engine: Engine) -> float:
    """Give what a run counts as in the progress: its packets, or its duration in real time."""
    if FACTS[engine].real_time:
        return scenario.duration_s
    return dict(scenario.estimate())["packets"] + 1.0


def _outcome(run: EngineRun) -> tuple[Any, float]:
    """Run, and give the outcome and the processor time of the engine's call alone."""
    before = time.thread_time()
    outcome = own.called(run.run)
    if isinstance(run, linux.Run):
        return outcome, run.cpu_s
    return outcome, time.thread_time() - before

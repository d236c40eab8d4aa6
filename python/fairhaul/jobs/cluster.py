"""The work of a sweep on a Dask cluster: its workers run the jobs, this process keeps the results.

A task is a few jobs that take about a second together. When a worker dies, the scheduler gives its
tasks to others. A task whose workers died several times is divided into its jobs. Jobs that
fail again run at the end, one after the other, because they may only have been on a worker together
with a job that no worker survives. Only a job that fails alone has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairhaul import _core
from fairhaul.host.process import Refused
from fairhaul.jobs.store import Job, build_of, digest_of
from fairhaul.linux import run as linux
from fairhaul.runs.runs import Progress, for_each
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.scenario.read import ScenarioError

if TYPE_CHECKING:
    from fairhaul.jobs.values import Compute
    from fairhaul.record.record import Record
    from fairhaul.runs.runs import OnProgress
    from fairhaul.scenario.read import Scenario

# Takes a job, how it was made, and its value.
Keep = Callable[[Job, Mapping[str, Any], Any], None]

# The estimated processor time of a task, and the most jobs that it has.
TASK_S = 1.0
MOST_JOBS = 100
# How long to wait for the scheduler, and for its first worker.
CONNECT_S = 20.0
LOOK_EVERY_S = 0.5

MISSING = "a Dask cluster requires the extra: pip install 'fairhaul[dask]'"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a worker gives for a job: what is kept of it and how it was made, or why it failed."""

    made: Mapping[str, Any] | None = None
    value: Any = None
    why: str = ""


def tasks_of(jobs: Sequence[Job], engine: Engine = "sim") -> list[list[Job]]:
    """Divide jobs into tasks of about the same processor time."""
    tasks: list[list[Job]] = []
    slower = FACTS["sim"].packets_per_cpu_s / FACTS[engine].packets_per_cpu_s
    left_s = 0.0
    for job in jobs:
        seconds = slower * dict(job.scenario.estimate())["seconds"]
        if not tasks or left_s < seconds or len(tasks[-1]) == MOST_JOBS:
            tasks.append([])
            left_s = TASK_S
        tasks[-1].append(job)
        left_s -= seconds
    return tasks


def run_task(
    scenarios: Sequence[Scenario],
    digests: Sequence[str],
    computes: Sequence[Compute],
    engine: Engine = "sim",
    kernel: str | None = None,
) -> list[Answer]:
    """Run the jobs of a task, on a worker; `kernel` is the version that `linux` uses."""
    with linux.using(kernel):
        return [_run(*job, engine) for job in zip(scenarios, digests, computes, strict=True)]


def _run(scenario: Scenario, digest: str, compute: Compute, engine: Engine) -> Answer:
    if digest_of(scenario) != digest:
        return Answer(
            why="the worker reads another scenario; a file that it names may differ there"
        )

    def done(_: int, record: Record) -> Answer:
        made = {key: record.meta[key] for key in ("engine", "cpu_s", "packets")}
        return Answer(made=made, value=compute(scenario, record))

    try:
        return for_each([scenario], done, jobs=1, engine=engine)[0]
    except (_core.RunError, ScenarioError, Refused) as error:
        return Answer(why=str(error))


def work_on_cluster(
    jobs: Sequence[Job],
    keep: Keep,
    address: str,
    on_progress: OnProgress | None,
    computes: Mapping[str, Compute],
    *,
    engine: Engine = "sim",
) -> list[tuple[Job, str]]:
    """Run jobs on the workers of a Dask cluster; give the jobs that failed, and why.

    `keep` is called in this process with each job, how it was made, and its value; `computes` has
    what computes the value, by the jobs' `of`. The progress is reported about twice a second.

    Raises:
        ScenarioError: `distributed` is missing, there is no scheduler or no worker, or a worker has
            another build of Fairhaul, or another program of Linux.
    """
    try:
        from distributed import Client
    except ImportError:
        raise ScenarioError(MISSING) from None
    try:
        client: Any = Client(address, timeout=CONNECT_S)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise ScenarioError(f"--dask {address}: no scheduler answers: {error}") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_S)
        except TimeoutError:
            raise ScenarioError(f"--dask {address}: the cluster has no worker") from None
        # The values of a paper's experiments are computed by one build.
        for compute in {build_of(compute): compute for compute in computes.values()}.values():
            _compare(client, address, "build of Fairhaul", build_of, compute)
        if engine == "linux":
            used = linux.chosen()
            same = f"; build the same one there: {used.command}"
            _compare(client, address, "program of Linux", linux.identity_of, used.version, same)
        return _Work(
            client=client,
            jobs=jobs,
            keep=keep,
            on_progress=on_progress,
            computes=computes,
            engine=engine,
        ).all()


def _compare(
    client: Any, address: str, what: str, name: Callable[[Any], str], of: Any, remedy: str = ""
) -> None:
    """Refuse workers where a function names another build or program than it does here."""
    from dask.utils import typename

    ours = name(of)
    for worker, theirs in client.run(name, of, on_error="return").items():
        if theirs != ours and not isinstance(theirs, OSError):  # which says that it has died
            found = theirs if isinstance(theirs, str) else f"none ({typename(type(theirs))})"
            raise ScenarioError(
                f"--dask {address}: the worker {worker} has another {what}: {found} instead of "
                f"{ours}{remedy}"
            )


@dataclass(kw_only=True)
class _Work:
    """Jobs that are under way on a cluster; the fields are arguments of `work_on_cluster`."""

    client: Any
    jobs: Sequence[Job]
    keep: Keep
    on_progress: OnProgress | None
    computes: Mapping[str, Compute]
    engine: Engine
    failures: list[tuple[Job, str]] = field(default_factory=list)
    suspects: list[Job] = field(default_factory=list)
    finished: int = 0
    done_s: float = 0.0

    def all(self) -> list[tuple[Job, str]]:
        """Run all jobs, and give the failures."""
        self._run(tasks_of(self.jobs, self.engine))
        for job in self.suspects:
            self._run([[job]], alone=True)
        return self.failures

    def _run(self, tasks: Sequence[list[Job]], *, alone: bool = False) -> None:
        left: dict[Any, list[Job]] = {}
        try:
            left |= {self._submit(task): task for task in tasks}
            while left:
                self._wait(left)
                for future in [future for future in left if future.done()]:
                    left |= self._take(future, left.pop(future), alone)
                self._report()
        finally:
            self.client.cancel(list(left))

    def _submit(self, task: Sequence[Job]) -> Any:
        return self.client.submit(
            run_task,
            [job.scenario for job in task],
            [job.digest for job in task],
            [self.computes[job.of] for job in task],
            self.engine,
            linux.chosen().version if self.engine == "linux" else None,
            pure=False,
        )

    def _wait(self, tasks: Mapping[Any, Sequence[Job]]) -> None:
        from distributed import wait

        try:
            wait(list(tasks), timeout=LOOK_EVERY_S, return_when="FIRST_COMPLETED")  # type: ignore[no-untyped-call]
        except TimeoutError:
            self._report()

    def _take(self, future: Any, task: list[Job], alone: bool) -> dict[Any, list[Job]]:
        """Keep the results of a task; give the tasks that replace one that failed."""
        if future.status != "finished":
            if len(task) > 1:
                return {self._submit([job]): [job] for job in task}
            if alone:
                self._fail(task[0], _reason(future))
            else:
                self.suspects += task
            return {}
        for job, answer in zip(task, future.result(), strict=True):
            if answer.made is None:
                self._fail(job, answer.why)
            else:
                self.keep(job, answer.made, answer.value)
                self._count(job)
        return {}

    def _fail(self, job: Job, why: str) -> None:
        self.failures.append((job, why))
        self._count(job)

    def _count(self, job: Job) -> None:
        self.finished += 1
        self.done_s += job.scenario.duration_s

    def _report(self) -> None:
        if self.on_progress is not None:
            total_s = sum(job.scenario.duration_s for job in self.jobs)
            self.on_progress(
                Progress(
                    reached_s=self.done_s,
                    total_s=total_s,
                    part=self.finished / len(self.jobs),
                    finished=self.finished,
                    runs=len(self.jobs),
                    running=(),
                )
            )


def _reason(future: Any) -> str:
    error = future.exception() if future.status == "error" else None
    if error is None:
        return f"the cluster gave it up: {future.status}"
    if type(error).__name__ == "KilledWorker":
        return "every worker that ran it died; it may need more memory than a worker has"
    return f"{type(error).__name__}: {error}"

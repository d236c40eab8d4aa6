"""Sweeps on a Dask cluster: the same results as here, whatever happens to the workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

import fairhaul
from fairhaul import _core, cli
from fairhaul.jobs import cluster
from fairhaul.jobs.plan import planned
from fairhaul.jobs.store import Job, Store
from fairhaul.jobs.values import Running, attempt
from fairhaul.measures.measures import figures
from fairhaul.studies.sweep import run_sweep
from tests.linux_program import needs_linux
from tests.test_sweep import SWEEP, file_of, values


@pytest.fixture
def workers() -> Iterator[Any]:
    """A cluster with two workers; one for each test, because some tests kill them."""
    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as made:
        with Client(made.scheduler_address) as client:  # type: ignore[no-untyped-call]
            client.wait_for_workers(2, timeout=120)
        yield made


def jobs_of(text: str, seeds: int) -> list[Job]:
    scenarios = fairhaul.read(text)
    return planned(scenarios, [seeds] * len(scenarios), "sim")[1]


def test_a_cluster_gives_the_same_store_as_this_machine(tmp_path: Path, workers: Any) -> None:
    file = file_of(tmp_path)
    command = ["sweep", str(file), "--seeds", "3", "--out"]
    assert cli.status_of([*command, str(tmp_path / "here")]) == 0
    assert (
        cli.status_of([*command, str(tmp_path / "there"), "--dask", workers.scheduler_address]) == 0
    )
    assert values(tmp_path / "there") == values(tmp_path / "here")
    assert len(Store(tmp_path / "there")) == 18


@needs_linux
def test_a_cluster_runs_linux_as_this_machine_does(tmp_path: Path, workers: Any) -> None:
    file = file_of(tmp_path)
    command = ["sweep", str(file), "--engine", "linux", "--seeds", "1", "--out"]
    assert cli.status_of([*command, str(tmp_path / "here")]) == 0
    there = [str(tmp_path / "there"), "--dask", workers.scheduler_address]
    assert cli.status_of([*command, *there]) == 0
    assert values(tmp_path / "there") == values(tmp_path / "here")


def test_a_cluster_checks_as_this_machine_does(
    tmp_path: Path, workers: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    expect = '[[expect]]\nwhat = "full"\nnumber = "links.bottleneck.utilization"\nat_least = 0.5\n'
    file = file_of(tmp_path, SWEEP + expect + 'source = "ours"\n')
    there = ["--out", str(tmp_path / "there"), "--dask", workers.scheduler_address]
    status = cli.status_of(["check", str(file), "--json"])
    here = capsys.readouterr().out
    assert cli.status_of(["check", str(file), "--json", *there]) == status
    assert capsys.readouterr().out == here
    assert len(Store(tmp_path / "there")) == 6 * 5


def test_a_worker_that_is_killed_costs_nothing(tmp_path: Path, workers: Any) -> None:
    text = SWEEP.replace('"2 s"', '"20 s"').replace("20 Mbit/s", "200 Mbit/s")
    scenarios = fairhaul.read(text)
    done: list[object] = []
    there = Running(out=tmp_path / "s", dask=workers.scheduler_address)

    def sweep() -> None:
        done.append(run_sweep(scenarios, there, seeds=8))

    thread = threading.Thread(target=sweep)
    thread.start()
    kills = 0
    while thread.is_alive() and kills < 3:
        time.sleep(0.7)
        # One that is started again has no number yet.
        if victim := next((of.pid for of in workers.workers.values() if of.pid), None):
            os.kill(victim, signal.SIGKILL)
            kills += 1
    thread.join(120)
    assert not thread.is_alive()
    assert kills == 3
    keys = Store(tmp_path / "s").column("result", "key")
    assert len(keys) == len(set(keys)) == 48
    run_sweep(scenarios, Running(out=tmp_path / "here"), seeds=8)
    assert values(tmp_path / "s") == values(tmp_path / "here")


def test_jobs_that_no_worker_survives_fail_alone(
    tmp_path: Path, workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = jobs_of(SWEEP, 1)
    bad = jobs[2].scenario.seed, dict(jobs[2].scenario.variant)
    monkeypatch.setattr(cluster, "run_task", deadly(bad))
    workers.scheduler.allowed_failures = 0  # each start of a worker takes seconds
    there = Running(out=tmp_path / "s", dask=workers.scheduler_address)
    _, failures = attempt(jobs, figures, there)
    assert [failure.job.key for failure in failures] == [jobs[2].key]
    assert "every worker that ran it died" in failures[0].why
    assert len(Store(tmp_path / "s")) == 5


class deadly:  # noqa: N801
    """Runs a task as a worker does, and kills the worker at one job."""

    def __init__(self, bad: tuple[int, dict[str, str]]) -> None:
        self.bad = bad

    def __call__(self, scenarios: list[fairhaul.Scenario], *how: Any) -> object:
        if any((s.seed, dict(s.variant)) == self.bad for s in scenarios):
            os.kill(os.getpid(), signal.SIGKILL)
        return cluster.run_task(scenarios, *how)


def test_a_worker_of_another_build_is_refused(
    tmp_path: Path, workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "__version__", "0.9.9")
    there = Running(out=tmp_path / "s", dask=workers.scheduler_address)
    with pytest.raises(fairhaul.ScenarioError, match="has another build of Fairhaul"):
        attempt(jobs_of(SWEEP, 1), figures, there)


def test_without_a_scheduler_the_address_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 0.5)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        there = Running(out=tmp_path / "s", dask=address)
        with pytest.raises(fairhaul.ScenarioError, match=f"--dask {address}: no scheduler"):
            attempt(jobs_of(SWEEP, 1), figures, there)


def test_tasks_take_about_a_second() -> None:
    jobs = jobs_of(SWEEP, 50)
    tasks = cluster.tasks_of(jobs)
    assert [job for task in tasks for job in task] == jobs
    assert max(len(task) for task in tasks) <= cluster.MOST_JOBS
    assert all(len(task) == cluster.MOST_JOBS for task in tasks[:-1])


def test_without_a_worker_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 2.0)
    jobs = jobs_of(SWEEP, 1)
    with (
        LocalCluster(n_workers=0, dashboard_address=":0") as empty,  # type: ignore[no-untyped-call]
        Client(empty),  # type: ignore[no-untyped-call]
        pytest.raises(fairhaul.ScenarioError, match="the cluster has no worker"),
    ):
        attempt(jobs, figures, Running(out=tmp_path / "s", dask=empty.scheduler_address))


def test_the_store_needs_no_dask() -> None:
    code = "import sys; sys.modules['distributed'] = None\nimport fairhaul\n"
    code += "from fairhaul.jobs import cluster\nfrom fairhaul.studies.sweep import run_sweep\n"
    code += "try: cluster.work_on_cluster([], None, 'tcp://x:1', None, {})\n"
    code += "except fairhaul.ScenarioError as error: print(error)\n"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "pip install 'fairhaul[dask]'" in printed

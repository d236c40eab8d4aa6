"""The engine `linux`: what of it is in results, keys and refusals, and runs of the program."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import fairhaul
from fairhaul import RunError
from fairhaul.cli import status_of
from fairhaul.host import process as host
from fairhaul.host.process import Refused
from fairhaul.jobs import cluster
from fairhaul.jobs.store import jobs_of
from fairhaul.linux import run as linux
from fairhaul.record.record import read_record
from fairhaul.runs.run_pool import RunPool
from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import ENGINES, FACTS, in_order, read_engines
from fairhaul.scenario.read import ScenarioError, read_one
from tests.conftest import SMALL
from tests.kernel_host import wait_for
from tests.linux_program import PretendedHost, needs_linux, pretended, pretended_program
from tools.repeat import drawn, repeated

EXAMPLES = Path(__file__).parents[1] / "scenarios/examples"
QUICK = SMALL.replace('"20 s"', '"3 s"').replace('"5 s"', '"1 s"')
EXPECT = """
[[expect]]
what     = "the link is used"
number   = "links.bottleneck.utilization"
at_least = 0.1
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendedHost]:
    with pretended(monkeypatch) as host_:
        yield host_


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "quick.toml"
    file.write_text(QUICK)
    return file


def answer(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Any:
    """Call the command line, and give the object that it prints."""
    assert status_of([*map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def same(one: Path, other: Path) -> bool:
    """Whether two folders have the same files, with the same bytes."""
    contents = [
        {file.relative_to(of): file.read_bytes() for file in of.rglob("*") if file.is_file()}
        for of in (one, other)
    ]
    return bool(contents[0]) and contents[0] == contents[1]


def test_the_engines_have_one_order_and_one_table() -> None:
    assert list(FACTS) == list(ENGINES) == ["sim", "linux", "lab"]
    assert read_engines(" lab, sim,sim") == ("sim", "lab")
    assert in_order(["lab", "linux"]) == ("linux", "lab")
    with pytest.raises(ScenarioError, match="unknown engine 'linx'; did you mean 'linux'"):
        read_engines("sim,linx")
    # Only real time needs repetition.
    assert [FACTS[engine].repeats for engine in ENGINES] == [1, 1, 5]


@pytest.mark.parametrize(
    "words",
    [
        ("run", "FILE", "--engine", "linux"),
        ("run", "FILE", "--engine", "sim,linux"),
        ("sweep", "FILE", "--engine", "linux"),
        ("check", "FILE", "--engine", "linux"),
        (
            *("compare", "reno", "--rate", "10Mbit/s", "--rtt", "20ms", "--buffer", "1bdp"),
            *("--engine", "linux"),
        ),
        ("evaluate", "reno", "--quick", "--engine", "linux"),
        ("reproduce", "fhstcp", "--quick", "--engine", "sim,linux"),
        ("attack", "cubic", "--objective", "queue", "--confirm", "linux"),
        ("lab", "cells", "--engine", "linux", "--out", "OUT"),
        ("lab", "shell", "FILE", "--host", "near", "--engine", "linux", "--", "true"),
    ],
)
def test_without_a_program_every_command_says_how_to_build_it(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    linux._found.cache_clear()
    scenario = tmp_path / "quick.toml"
    scenario.write_text(QUICK + EXPECT)
    given = {"FILE": str(scenario), "OUT": str(tmp_path / "out")}
    assert status_of([given.get(word, word) for word in words]) == 2
    text = "there is no program of Linux 6.12; build it: fairhaul linux build"
    assert text in capsys.readouterr().err


def test_a_kernel_that_was_not_built_is_refused(
    file: Path, made: PretendedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["run", str(file), "--engine", "linux", "--kernel", "5.4"]) == 2
    assert "there is no program of Linux 5.4" in capsys.readouterr().err
    assert not made.requests


def test_a_run_has_the_kernel_the_program_and_its_memory(
    file: Path, made: PretendedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(capsys, "run", file, "--engine", "linux")
    # The same seed gives the same record, so one run is enough.
    (run,) = found["values"]["scenarios"][0]["runs"]
    assert (run["engine"], run["kernel"], run["program"]) == ("linux", "6.12.7", "a" * 16)
    assert (run["memory_mb"], run["cpu_s"]) == (4096, 1.5)
    (request,) = [one for one in made.requests if one["do"] == "linux"]
    assert request["program"] == "/nonexistent/linux"
    assert request["memory_mb"] == 4096
    assert request["scenario"]["seed"] == 1
    assert status_of(["run", str(file), "--engine", "linux"]) == 0
    said = capsys.readouterr().out
    assert "Linux 6.12.7 in simulated time, program aaaaaaaaaaaaaaaa, 4096 MB of memory." in said


def test_a_run_that_is_not_valid_is_an_error_and_is_not_repeated(
    file: Path, made: PretendedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    made.reasons = ["a connection failed", "2 packets were dropped outside the path"]
    assert status_of(["run", str(file), "--engine", "linux"]) == 1
    said = capsys.readouterr().err
    assert "Two flows: the run in Linux is not valid: a connection failed; 2 packets were" in said
    assert [one["do"] for one in made.requests] == ["linux"]


def test_files_of_equal_runs_are_equal_and_have_no_processor_time(
    file: Path, tmp_path: Path, made: PretendedHost
) -> None:
    one, other = tmp_path / "a", tmp_path / "b"
    for out in (one, other):
        options = ["--engine", "linux", "--seeds", "2", "--out", str(out)]
        assert status_of(["run", str(file), *options]) == 0
    assert made.cpu_s == 3.0
    assert same(one, other)
    meta = json.loads(next(one.glob("*/meta.json")).read_text())
    assert "cpu_s" not in meta
    assert str(tmp_path) not in json.dumps(meta)


def test_several_engines_are_side_by_side_and_in_folders_of_their_names(
    file: Path, tmp_path: Path, made: PretendedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert status_of(["run", str(file), "--engine", "linux,sim", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    rows = [line.split()[:3] for line in said.splitlines() if line.startswith(("near", "far"))]
    assert rows == [
        ["near", "reno", "sim"],
        ["near", "reno", "linux"],
        ["far", "reno", "sim"],
        ["far", "reno", "linux"],
    ]
    ran = [read_record(out / engine).meta["engine"] for engine in ("sim", "linux")]
    assert ran == ["sim", "linux"]
    found = answer(capsys, "run", file, "--engine", "sim,linux", "--seeds", "2")
    each = [[run["engine"] for run in of["runs"]] for of in found["values"]["scenarios"]]
    assert each == [["sim", "sim"], ["linux", "linux"]]
    # What cannot run in Linux is refused before the simulator runs.
    made.refuses = "no kernel has it"
    assert status_of(["run", str(file), "--engine", "sim,linux"]) == 2


def test_a_trace_is_beside_the_record_of_each_engine(
    file: Path, tmp_path: Path, made: PretendedHost
) -> None:
    out = tmp_path / "out"
    words = ("--engine", "sim,linux", "--seeds", "2", "--trace", "far", "--format", "csv")
    assert status_of(["run", str(file), *words, "--report", "--out", str(out)]) == 0
    assert [one["trace"] for one in made.requests if one["do"] == "linux"] == [1, 1]
    places = [f"{engine}/00{n}-two-flows-seed-{n}" for engine in ("sim", "linux") for n in (1, 2)]
    for place in places:
        assert (out / place / "far.csv").stat().st_size > 1000
        assert read_record(out / place).meta["trace_is_full"] is False
    assert (out / "report.html").is_file()
    (record,) = for_each([read_one(file)], lambda _, record: record, trace="near", engine="linux")
    assert record.trace is not None
    assert made.requests[-1]["trace"] == 0


@pytest.mark.parametrize("engines", ["lab", "sim,linux,lab"])
def test_the_lab_traces_no_packets(
    file: Path, tmp_path: Path, engines: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--engine", engines, "--trace", "far", "--out", str(tmp_path / "out")]
    assert status_of(["run", str(file), *words]) == 2
    assert "the lab traces no packets; the simulator and Linux in" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    with pytest.raises(ScenarioError, match="the lab traces no packets"):
        for_each([read_one(file)], lambda _, record: record, trace="near", engine="lab")


def test_runs_of_several_engines_go_on_where_they_ended(
    file: Path, tmp_path: Path, made: PretendedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    made.reasons = ["a connection failed"]
    command = ["run", str(file), "--engine", "sim,linux", "--seeds", "2", "--out", str(out)]
    assert status_of(command) == 1
    kept = sorted(place.parent.name for place in tmp_path.glob("*/*/*/meta.json"))
    assert kept == ["001-two-flows-seed-1", "002-two-flows-seed-2"]
    capsys.readouterr()


def test_the_key_of_a_result_has_all_that_the_result_depends_on(
    made: PretendedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = read_one(QUICK)

    def key() -> str:
        return jobs_of(scenario, 1, "linux", "figures", "a build")[0].key

    first = key()
    keys = {first, jobs_of(scenario, 1, "sim", "figures", "a build")[0].key}
    for program in (pretended_program(version="6.12.8"), pretended_program(sha256="d" * 64)):
        made.program = program
        keys.add(key())
    made.program = pretended_program()
    monkeypatch.setattr(linux, "_router", lambda: "e" * 64)
    keys.add(key())
    monkeypatch.undo()
    assert len(keys) == 5


def test_the_memory_is_that_of_usual_hosts_unless_more_is_in_flight() -> None:
    fast = QUICK.replace("10 Mbit/s", "100 Gbit/s").replace('"40 ms"', '"400 ms"')
    # At 100 Gbit/s and 240 ms on average about 3 million packets of 1000 B are in flight.
    assert linux.memory_mb(read_one(QUICK)) == 4096
    assert linux.memory_mb(read_one(fast)) > 8192
    assert linux.memory_mb(read_one(fast)) % 1024 == 0


def test_a_run_that_needs_more_memory_than_there_is_is_refused(
    made: PretendedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The program takes 150 MB, and a fifth is left to everything else.
    monkeypatch.setattr("fairhaul.scenario.memory.available_bytes", lambda: 180_000_000)
    with pytest.raises(ScenarioError, match="a run needs about 152 MB of memory"):
        fairhaul.run(QUICK, engine="linux")
    assert not made.requests


@pytest.mark.usefixtures("made")
def test_the_progress_of_a_run_is_its_simulated_time() -> None:
    scenario = read_one(QUICK)
    pool = RunPool([scenario], None, "linux", 1)
    reached = []

    def then(_: int, __: Any) -> None:
        reached.append(pool.progress().reached_s)

    pool.run(0, then)
    assert reached == [0.5]
    assert pool.progress().reached_s == 3.0


def test_a_sweep_is_kept_and_not_run_again(
    tmp_path: Path, made: PretendedHost, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(QUICK + '\n[sweep]\n"flow.near.rtt" = ["40 ms", "60 ms"]\n')
    words = ["sweep", str(file), "--engine", "linux", "--out", str(tmp_path / "out")]
    assert status_of([*words, "--seeds", "2"]) == 0
    assert sum(one["do"] == "linux" for one in made.requests) == 4
    made.requests.clear()
    assert status_of([*words, "--seeds", "2"]) == 0
    assert not any(one["do"] == "linux" for one in made.requests)
    assert "4 of 4 results are in" in capsys.readouterr().err
    assert fairhaul.sweep(file, tmp_path / "out", seeds=2, engine="linux").runs == 4


@pytest.mark.usefixtures("made")
def test_checks_run_in_linux_beside_the_simulator(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(QUICK + EXPECT)
    found = answer(capsys, "check", file, "--engine", "sim,linux")
    (expectation,) = found["values"]["cases"][0]["expectations"]
    assert list(expectation["results"]) == ["sim", "linux"]
    assert expectation["verdict"] == "met"
    assert expectation["engines_disagree"] is False


class Client:
    """A cluster of one worker, which has another program."""

    def run(self, function: Any, version: str, **_: object) -> dict[str, str]:
        assert function is linux.identity_of
        return {"tcp://worker": f"Linux {version}, program 0, router 0"}


@pytest.mark.usefixtures("made")
def test_a_worker_with_another_program_is_refused() -> None:
    with pytest.raises(ScenarioError, match="tcp://worker has another program of Linux: Linux"):
        cluster._compare(
            Client(), "tcp://scheduler", "program of Linux", linux.identity_of, "6.12.7"
        )


def test_a_shell_gives_the_status_of_its_program(
    file: Path, made: PretendedHost, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["lab", "shell", str(file), "--engine", "linux", "--host", "near", "--", "iperf3", "-c"]
    with pytest.raises(SystemExit) as end:
        status_of(words)
    assert end.value.code == 3
    (request,) = made.requests
    assert request["do"] == "linux_shell"
    assert request["command"] == ["iperf3", "-c"]
    assert (request["host"], request["memory_mb"]) == ("near", 4096)
    assert "5 packets arrived; 0 were dropped on the path" in capfd.readouterr().err


def test_a_record_needs_the_program_that_was_chosen(made: PretendedHost) -> None:
    with linux.using("6.12"):
        assert linux.chosen() == made.program
    with pytest.raises(Refused), linux.using("6.1.0"):
        raise AssertionError


# What follows runs the program.


@needs_linux
def test_the_same_run_gives_the_same_files(tmp_path: Path) -> None:
    one, other = tmp_path / "a", tmp_path / "elsewhere/b"
    other.parent.mkdir()
    for out in (one, other):
        command = [sys.executable, "-m", "fairhaul", "run", str(EXAMPLES / "two-flows.toml")]
        options = ["--engine", "linux", "--seeds", "1", "--set", "duration=3 s", "--out", str(out)]
        subprocess.run([*command, *options, "--set", "warmup=1 s"], check=True, cwd=out.parent)
    assert same(one, other)
    meta = read_record(one).meta
    assert meta["engine"] == "linux"
    assert meta["trust"]["valid"]


@needs_linux
def test_the_environment_changes_nothing(tmp_path: Path, file: Path) -> None:
    runs = [tmp_path / "plain", tmp_path / "other"]
    command = [sys.executable, "-m", "fairhaul", "run", str(file), "--engine", "linux"]
    for out, more in zip(runs, ({}, {"FAIRHAUL_SEED": "7", "X" * 100: "y" * 10_000}), strict=True):
        environment = {**os.environ, **more}
        subprocess.run([*command, "--out", str(out)], check=True, env=environment)
    assert same(*runs)


@needs_linux
def test_a_run_can_write_no_file_and_if_it_is_killed_leaves_no_process(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(SMALL.replace('"20 s"', '"2000 s"'))
    command = [sys.executable, "-m", "fairhaul", "run", str(file), "--engine", "linux"]
    path = str(linux.chosen().path)
    for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            wait_for(lambda process=process: processes(path, process.pid))
            ours = processes(path, process.pid)
            # Of the user's files it has the root file system, read-only.
            line = Path(f"/proc/{min(ours)}/cmdline").read_bytes().split(b"\0")
            assert {b"root=/dev/root", b"ro"} <= set(line)
            process.send_signal(how)
            process.wait(timeout=60)
        wait_for(lambda ours=ours: not any(Path(f"/proc/{pid}").exists() for pid in ours))


def processes(path: str, ancestor: int) -> set[int]:
    """Give the processes of a program that a process has begun, or one that it has begun."""
    found, begun = set(), {ancestor}
    for folder in sorted(Path("/proc").glob("[0-9]*"), key=lambda folder: int(folder.name)):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent in begun:
                begun.add(int(folder.name))
                if str((folder / "exe").readlink()) == path:
                    found.add(int(folder.name))
    return found


def test_every_drawn_scenario_is_one() -> None:
    assert all(read_one(drawn(number, 1)).duration_s >= 2 for number in range(50))
    assert drawn(3, 1) == drawn(3, 1) != drawn(3, 2)


@needs_linux
def test_drawn_scenarios_give_the_same_record_twice() -> None:
    done = repeated(4, 1)
    assert [one.found for one in done if not one.is_same] == []
    assert len({one.found[0] for one in done}) == 4
    assert not any(one.found[0].startswith("failed") for one in done)


@needs_linux
def test_another_seed_gives_another_run() -> None:
    runs = fairhaul.run(QUICK, seeds=2, engine="linux").measures
    assert runs[0]["flows"][0]["goodput_bps"] != runs[1]["flows"][0]["goodput_bps"]
    assert all(run["links"][0]["utilization"] > 0.5 for run in runs)


@needs_linux
def test_what_no_kernel_can_do_is_refused_at_once() -> None:
    with pytest.raises((Refused, ScenarioError)):
        fairhaul.run(QUICK.replace('"reno"', '"fast"'), engine="linux")


@needs_linux
def test_a_program_in_a_shell_has_the_path_of_its_flow(file: Path) -> None:
    command = [sys.executable, "-m", "fairhaul", "lab", "shell", str(file), "--engine", "linux"]
    words = ["--host", "near", "--", "sh", "-c", "echo to $FAIRHAUL_PEER; exit 4"]
    done = subprocess.run([*command, *words], check=False, capture_output=True, text=True)
    assert done.returncode == 4
    assert done.stdout.startswith("to 10.")


@needs_linux
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
def test_a_program_measures_the_rate_of_the_path_in_simulated_time(file: Path) -> None:
    command = [sys.executable, "-m", "fairhaul", "lab", "shell", str(file), "--engine", "linux"]
    sends = "iperf3 -J -t 3 -c $FAIRHAUL_PEER"
    words = ["--host", "near", "--receiver", "iperf3 -s", "--", "sh", "-c", sends]
    done = subprocess.run([*command, *words], check=True, capture_output=True, text=True)
    ends = json.loads(done.stdout)["end"]
    # 10 Mbit/s, of which the headers and time stamps of packets of 1000 B take 52 B.
    assert 8e6 < ends["sum_received"]["bits_per_second"] < 9.6e6


def test_an_unusable_program_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "host"
    program.write_text("#!/bin/sh\ncat > /dev/null\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(host, "PROGRAM", program)
    run = linux.Run(read_one(QUICK), pretended_program())
    with pytest.raises(RunError, match="ended without an answer"):
        run.run()

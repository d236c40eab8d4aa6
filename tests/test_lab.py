"""The lab as root: programs in its hosts, runs of scenarios, and that nothing is left of them,
whatever ends them.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import fairhaul as package
from fairhaul.host import process as host
from fairhaul.runs.lab import TRIES
from tests.compiled import bpf_object
from tests.kernel_host import PYTHON, locked, needs_kernel, settled, sh, state, wait_for

SCENARIO = """\
title    = "A flow with an eBPF port, and one with the kernel's own"
duration = "3 s"
warmup   = "1 s"
packet   = "1500 B"
profile  = "plain"

[bottleneck]
rate  = "20 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "40 ms" }

[[flow]]
name       = "port"
rtt        = "40 ms"
controller = "fhstcp"

[[flow]]
name       = "own"
rtt        = "40 ms"
controller = "reno"
"""
# At the sender and at the receiver; the numbers distinguish them from other programs.
FOREVER, RECEIVES = f"sleep 300.{os.getpid()}", f"sleep 301.{os.getpid()}"
# How long a refusal takes if no socket listens, in milliseconds: the shortest, as this program may
# have to wait for a processor.
REFUSAL = """\
import os, socket, time
def once():
    begun = time.monotonic()
    socket.socket().connect_ex((os.environ["FAIRHAUL_PEER"], 9))
    return 1e3 * (time.monotonic() - begun)
print(min(once() for _ in range(30)))
"""
HIDE_DEVICES = 'mount -t tmpfs none /dev/net && exec "$@"'


@pytest.fixture(scope="module")
def machine() -> Iterator[dict[str, Any]]:
    """The state of the machine, which has to be the same at the end of the module."""
    with locked():
        before = state()
        yield before
        unchanged(before)


def unchanged(before: dict[str, Any]) -> None:
    """Wait until the kernel has freed everything, and check that the host is unchanged."""
    assert settled(before) == before


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a scenario of three seconds."""
    file = tmp_path / "two.toml"
    file.write_text(SCENARIO)
    return file


def lab(*words: str | Path, before: tuple[str, ...] = (), **more: Any) -> Any:
    """Call the command line, preceded by `before`, and wait for its end."""
    command = [*before, PYTHON, "-m", "fairhaul", *map(str, words)]
    more = {"capture_output": True, "stdin": subprocess.DEVNULL, **more}
    return subprocess.run(command, text=True, check=False, timeout=600, **more)


@contextmanager
def begun(*words: str | Path, before: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    """Call the command line as a terminal would, with a process group of its own."""
    process = subprocess.Popen(
        [*before, PYTHON, "-m", "fairhaul", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def processes(line: str) -> list[int]:
    """Give the processes that were started by exactly this line."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
        except OSError:  # It has ended meanwhile.
            continue
        if words.decode(errors="replace").rstrip("\0").split("\0") == line.split():
            found.append(int(folder.name))
    return found


def children(process: int, name: str) -> list[int]:
    """Give the processes of this name that a process has started."""
    tables = [task / "children" for task in Path(f"/proc/{process}/task").iterdir()]
    found = [child for table in tables for child in kernel_file(table).split()]
    return [int(one) for one in found if kernel_file(Path(f"/proc/{one}/comm")).strip() == name]


def kernel_file(file: Path) -> str:
    """Read a file of the kernel about a process or thread; empty if it has just ended."""
    try:
        return file.read_text()
    except OSError:
        return ""


def host_of(process: subprocess.Popen[str]) -> int:
    wait_for(lambda: children(process.pid, "fairhaul-host"))
    return children(process.pid, "fairhaul-host")[0]


def in_the_lab(process: int) -> bool:
    """Whether a thread of a process is in a namespace with a device of the lab."""
    tables = [task / "net/dev" for task in Path(f"/proc/{process}/task").iterdir()]
    return any("lab0" in kernel_file(table) for table in tables)


def nothing_is_left(before: dict[str, Any]) -> None:
    wait_for(lambda: not processes(FOREVER) and not processes(RECEIVES))
    unchanged(before)
    done = lab("lab", "clean")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing is left." in done.stdout


@needs_kernel
def test_a_program_sees_the_rate_and_the_round_trip_of_the_flow(
    machine: dict[str, Any], file: Path
) -> None:
    default = "cat /proc/sys/net/ipv4/tcp_congestion_control"
    program = f"{PYTHON} -c '{REFUSAL}' && {default} && iperf3 -J -c $FAIRHAUL_PEER -t 3 -O 1"
    words = ("lab", "shell", file, "--host", "port", "--receiver", "iperf3 -s")
    done = lab(*words, "--", "sh", "-c", program)
    assert done.returncode == 0, done.stdout + done.stderr
    milliseconds, controller, rest = done.stdout.split("\n", 2)
    # It comes after one round trip.
    assert 39.9 <= float(milliseconds) < 45
    # The default controller is an eBPF port with a temporary name.
    assert controller.startswith("fh_")
    # 1448 of 1500 bytes are payload: 19.3 of 20 Mbit/s.
    end = json.loads(rest)["end"]
    assert 15e6 < end["sum_received"]["bits_per_second"] < 20e6
    # 40 ms of the path and 40 ms of queue, with some packets of acknowledgement. Not the longest,
    # which has the time for which a receiver that waits for a processor held its acknowledgement.
    trips = end["streams"][0]["sender"]
    assert 40_000 <= trips["min_rtt"] <= trips["mean_rtt"] < 85_000
    assert "packets arrived" in done.stderr
    nothing_is_left(machine)


@needs_kernel
@pytest.mark.parametrize("controller", ["reno", "cubic"])
def test_programs_have_the_controller_of_the_flow(
    machine: dict[str, Any], file: Path, controller: str
) -> None:
    words = ("lab", "shell", file, "--host", "own", "--set", f"flow.own.controller={controller}")
    program = "iperf3 -J -c $FAIRHAUL_PEER -t 1"
    done = lab(*words, "--receiver", "iperf3 -s", "--", "sh", "-c", program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["end"]["sender_tcp_congestion"] == controller
    nothing_is_left(machine)


@needs_kernel
def test_the_exit_status_is_that_of_the_program(machine: dict[str, Any], file: Path) -> None:
    words = ("lab", "shell", file, "--host", "own", "--")
    assert lab(*words, "sh", "-c", "exit 7").returncode == 7
    done = lab(*words, "no-such-program")
    assert done.returncode == 1
    assert "no-such-program: No such file" in done.stderr
    nothing_is_left(machine)


@needs_kernel
def test_a_terminal_has_a_shell_whose_processes_are_its_own(
    machine: dict[str, Any], file: Path
) -> None:
    call = f"{PYTHON} -m fairhaul lab shell {file} --host own"
    typed = "echo $((6 * 7)) /proc/[0-9]*/comm\nsleep 60 &\nnsenter -t 1 -n ip route\nexit 3\n"
    done = subprocess.run(
        ["script", "--quiet", "--return", "--command", call, "/dev/null"],
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "SHELL": "/bin/bash"},
    )
    assert done.returncode == 3, done.stdout
    assert "its receiver is $FAIRHAUL_PEER" in done.stdout
    # The first process and the shell.
    assert "42 /proc/1/comm /proc/" in done.stdout
    assert f"/proc/{os.getpid()}/comm" not in done.stdout
    # The route of the receiver leads to the sender.
    assert "10.16.0.0 dev lab0" in done.stdout
    nothing_is_left(machine)


@needs_kernel
@pytest.mark.parametrize("part", ["command line", "host", "first process", "program"])
def test_whatever_part_of_a_shell_is_killed_nothing_is_left(
    machine: dict[str, Any], file: Path, part: str
) -> None:
    words = ("lab", "shell", file, "--host", "port", "--receiver", f"exec {RECEIVES}")
    with begun(*words, "--", *FOREVER.split()) as process:
        wait_for(lambda: processes(FOREVER))
        host = host_of(process)
        at_work = json.loads(lab("lab", "clean", "--json").stdout)
        assert host in at_work["at_work"]
        assert at_work["left"] == []
        parts = {"command line": [process.pid], "host": [host], "program": processes(FOREVER)}
        (killed,) = parts.get(part) or children(host, "cat")
        os.kill(killed, signal.SIGKILL)
        process.communicate(timeout=60)
    nothing_is_left(machine)


@needs_kernel
def test_an_interrupt_is_for_the_program(machine: dict[str, Any], file: Path) -> None:
    with begun("lab", "shell", file, "--host", "own", "--", *FOREVER.split()) as process:
        wait_for(lambda: processes(FOREVER))
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert "packets arrived" in errors
    nothing_is_left(machine)


@needs_kernel
@pytest.mark.parametrize("part", ["command line", "host", "all, by an interrupt"])
def test_a_run_that_is_ended_leaves_nothing(machine: dict[str, Any], file: Path, part: str) -> None:
    with begun("run", file, "--engine", "lab", "--set", "duration=60 s", "--json") as process:
        host = host_of(process)
        wait_for(lambda: in_the_lab(host))
        ended = time.monotonic()
        if part == "all, by an interrupt":
            os.killpg(process.pid, signal.SIGINT)
        else:
            os.kill(process.pid if part == "command line" else host, signal.SIGKILL)
        process.communicate(timeout=60)
    assert process.returncode == {"command line": -9, "host": 1}.get(part, 130)
    wait_for(lambda: not Path(f"/proc/{host}").exists())
    # Of the 60 s that the run had before it.
    assert time.monotonic() - ended < 30
    nothing_is_left(machine)


@needs_kernel
def test_both_engines_give_the_same_tables(machine: dict[str, Any]) -> None:
    (kernel,) = package.run(SCENARIO, seeds=1, engine="lab").records
    (simulated,) = package.run(SCENARIO, seeds=1).records
    ours, theirs = kernel.tables(), simulated.tables()
    assert {name: table.schema for name, table in ours.items()} == {
        name: table.schema for name, table in theirs.items()
    }
    for name in ("flow_series", "link_series", "transfer"):
        assert ours[name].height == theirs[name].height > 0, name
    # A record is complete even if the run is invalid; tests check validity where it matters.
    trust = kernel.meta["trust"]
    assert trust["valid"] == (not trust["reasons"])
    nothing_is_left(machine)


# What a run says of itself, which says so, too, where it does not count.
TRUST = """\
import json, sys
import fairhaul
(record,) = fairhaul.run(sys.argv[1], engine="lab").records
print(json.dumps([record.meta["trust"], record.meta["tries"]]))
"""


def trust_of(file: Path, before: tuple[str, ...] = ()) -> tuple[dict[str, Any], int]:
    """Run a scenario in the lab, and give what is to be thought of it, and after how many tries."""
    command = [*before, PYTHON, "-c", TRUST, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    trust, tries = json.loads(done.stdout)
    return trust, tries


@needs_kernel
@pytest.mark.usefixtures("machine")
def test_objects_of_users_run_in_the_kernel_as_in_the_simulator() -> None:
    """Two copies of one object with other constants, and one of two controllers of another."""
    cubic, dctcp = bpf_object("cubic"), bpf_object("dctcp")
    flows = [
        {"kind": "bpf", "object": str(cubic), "kept": 300},
        "mine",
        {"kind": "bpf", "object": str(dctcp), "controller": "test_dctcp"},
    ]
    question: dict[str, Any] = {
        "title": "objects",
        "duration": "8 s",
        "warmup": "1 s",
        "profile": "linux-tcp",
        "bottleneck": {
            "rate": "20 Mbit/s",
            "delay": "5 ms",
            "queue": {"kind": "droptail", "capacity": "1 bdp"},
        },
        "flow": [
            {"name": name, "rtt": "30 ms", "controller": controller}
            for name, controller in zip("abc", flows, strict=True)
        ],
    }
    got = {}
    for engine in ("sim", "lab"):
        answer = package.run(question, engine=engine, controllers={"mine": cubic})
        goodputs = [flow["goodput_bps"] for flow in package.measure(answer.records[0])["flows"]]
        got[engine] = [one / sum(goodputs) for one in goodputs]
    # Without ECN the last one hands over to CUBIC in the kernel, and is Reno in the simulator.
    for shares in got.values():
        assert shares[0] < shares[1]
        assert min(shares) > 0.01
    question["flow"] = [{"name": "a", "rtt": "30 ms", "controller": "mine"}]
    with pytest.raises(host.Refused, match=r'"mine": a kernel runs .* only as eBPF objects'):
        package.run(question, engine="lab", controllers={"mine": ClassOfPython})


class ClassOfPython(package.Controller):
    """Halves at losses, and does not grow."""

    every = "round"

    def on_round(self, window: Any, report: Any) -> None:
        """Do nothing."""


@needs_kernel
@pytest.mark.usefixtures("machine")
def test_a_router_without_priority_is_a_warning_and_its_lag_decides(file: Path) -> None:
    without = ("setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice")
    trust, tries = trust_of(file, before=without)
    (warning,) = trust["warnings"]
    assert "priority" in warning
    # Beside other work its packets may be late: then the run does not count, for that reason.
    assert trust["valid"] == (not trust["reasons"])
    assert trust["valid"] or tries == TRIES
    assert not any("priority" in reason for reason in trust["reasons"])
    histogram = trust["lag"]["histogram"]
    late = sum(count for end, count in histogram if end > 2 * trust["lag"]["p99_s"])
    assert late <= 0.01 * sum(count for _, count in histogram)
    with_priority, _ = trust_of(file)
    assert with_priority["warnings"] == []


@needs_kernel
@pytest.mark.usefixtures("machine")
def test_an_invalid_run_is_distinguished_from_a_defect(file: Path) -> None:
    # A router without priority, on a processor that three others keep busy, waits for milliseconds.
    slow = ("taskset", "-c", "0", "setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice")
    words = (
        "run",
        file,
        "--engine",
        "lab",
        "--set",
        "duration=1 s",
        "--set",
        "warmup=0 s",
        "--json",
    )
    busy = [
        subprocess.Popen(["taskset", "-c", "0", "sh", "-c", "while :; do :; done"])
        for _ in range(3)
    ]
    try:
        done = lab(*words, before=slow)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert done.returncode == 1
    assert "no run is valid: " in done.stderr
    assert "Traceback" not in done.stderr


@needs_kernel
@pytest.mark.parametrize("verb", [("run", "--engine", "lab"), ("lab", "shell", "--host", "own")])
def test_missing_features_are_reported(
    machine: dict[str, Any], file: Path, verb: tuple[str, ...]
) -> None:
    without_power = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
    hide = 'mount -t tmpfs none /sys/kernel/btf && exec "$@"'
    without_types = ("unshare", "--mount", "sh", "-c", hide, "sh")
    for before, said in (
        (without_power, "needs root"),
        (without_types, "CONFIG_DEBUG_INFO_BTF"),
    ):
        done = lab(*verb, file, before=before)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
    unchanged(machine)


@needs_kernel
def test_an_unknown_host_gets_the_nearest_name(file: Path) -> None:
    done = lab("lab", "shell", file, "--host", "porf", "--", "true")
    assert done.returncode == 2
    assert 'unknown flow "porf"' in done.stderr
    assert 'did you mean "port"?' in done.stderr


# BBR beside Reno over a shallow buffer: what it does to Reno is known.
SHALLOW = """\
rate = { from = "10 Mbit/s", to = "40 Mbit/s" }
rtt = { from = "20 ms", to = "60 ms" }
buffer = { from = "0.1 bdp", to = "0.5 bdp" }
rival = "reno"
flows = 1
rivals = 1
rivals_rtt = 1
rivals_start = 0
round_trips = 200
least_duration = "8 s"
"""


@needs_kernel
def test_a_weakness_that_a_search_finds_is_confirmed_on_the_kernel(
    machine: dict[str, Any], tmp_path: Path
) -> None:
    box = tmp_path / "box.toml"
    box.write_text(SHALLOW)
    words = ("attack", "bbr", "--objective=starve", "--within", box, "--budget=5s")
    done = lab(*words, "--confirm=lab", "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["values"]
    assert found["worst"]["value"]["low"] > 0.6
    assert found["worst"]["place"]["buffer_bdp"] <= 0.5
    replayed = found["kernel"]
    assert replayed["simulator"] == found["worst"]["value"]
    # Runs that are not valid, because the machine was busy, have no value.
    assert replayed["values"], "no run of the lab is valid"
    assert replayed["confirmed"]
    assert min(replayed["values"]) >= found["weak_from"]
    unchanged(machine)


FULL = """
[[expect]]
what     = "the flows use the link"
number   = "links.bottleneck.utilization"
at_least = 0.8
"""


@needs_kernel
def test_the_lab_is_a_second_witness_of_an_expectation(machine: dict[str, Any], file: Path) -> None:
    file.write_text(SCENARIO + FULL)
    for _ in range(3):
        done = lab("check", file, "--engine", "sim,lab", "--json")
        assert done.returncode == 0, done.stderr
        [case] = json.loads(done.stdout)["values"]["cases"]
        if "lab" not in case["refused"]:
            break
        # On a busy machine no run may be valid.
        assert "no run was valid" in case["refused"]["lab"]
    verdicts = {by: of["verdict"] for by, of in case["expectations"][0]["results"].items()}
    assert verdicts["sim"] == "met"
    assert verdicts["lab"] in {"met", "undecided"}
    unchanged(machine)


@needs_kernel
def test_what_was_left_is_found(machine: dict[str, Any]) -> None:
    name = f"fhl{os.getpid()}"
    orphan = _orphan()
    sh("ip", "netns", "add", name)
    try:
        sh("ip", "-n", name, "tuntap", "add", "dev", "lab0", "mode", "tun")
        done = lab("lab", "clean")
        assert done.returncode == 1
        assert f"ip netns delete {name}" in done.stdout
        assert f"process {orphan.pid}, a fairhaul-host whose parent has exited" in done.stdout
        assert orphan.poll() is None
        assert lab("lab", "clean", "--kill").returncode == 1
        assert orphan.wait(timeout=60) == -signal.SIGKILL
    finally:
        orphan.kill()
        orphan.communicate()
        sh("ip", "netns", "delete", name)
    nothing_is_left(machine)


@pytest.mark.skipif(not host.PROGRAM.is_file(), reason="fairhaul-host was not built here")
@pytest.mark.parametrize("terminal", [[0, 1], [1, 2], [99, 98], [-1, 2]])
def test_a_terminal_that_was_not_handed_over_is_refused(terminal: list[int]) -> None:
    request = {
        "do": "shell",
        "scenario": {"text": SCENARIO, "file": "x", "overrides": [], "variant": [], "seed": 1},
        "host": "own",
        "command": ["true"],
        "receivers": [],
        "terminal": terminal,
    }
    with pytest.raises(host.Refused, match=f"file descriptor {terminal[0]} was not passed"):
        host.ask(request)


@pytest.mark.skipif(not host.PROGRAM.is_file(), reason="fairhaul-host was not built here")
def test_a_descriptor_can_be_used_once(file: Path) -> None:
    with file.open() as opened:
        number = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 3)
    request = {
        "do": "shell",
        "scenario": {"text": SCENARIO, "file": "x", "overrides": [], "variant": [], "seed": 1},
        "host": "own",
        "command": ["true"],
        "receivers": [],
        "terminal": [number, number],
    }
    try:
        with pytest.raises(host.Refused, match=f"file descriptor {number} was not passed"):
            host.ask(request, descriptors=[number])
    finally:
        os.close(number)


@needs_kernel
@pytest.mark.parametrize("closed", ["0<&-", "1>&-"])
def test_a_shell_without_a_standard_stream_is_refused(file: Path, closed: str) -> None:
    call = f"{PYTHON} -m fairhaul lab shell {file} --host own -- true {closed}"
    done = subprocess.run(["sh", "-c", call], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("fairhaul: the program requires standard input and output")


def _orphan() -> subprocess.Popen[bytes]:
    """Start a fairhaul-host that waits for its request, and was started by another, by its mark."""
    environment = {**os.environ, "FAIRHAUL_PARENT": "1"}
    return subprocess.Popen([host.PROGRAM], stdin=subprocess.PIPE, env=environment)

"""The lab without root: an ordinary user's runs, what is refused, and that nothing is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fairhaul as package
from fairhaul.host import process as host
from tests.compiled import bpf_object
from tests.kernel_host import PYTHON, locked, needs_kernel, settled, state, wait_for
from tests.seccomp import FILTER
from tests.test_lab import HIDE_DEVICES, begun, children, in_the_lab

USER = 65534
# An ordinary user. This checkout may be readable for root only, so the user may read every file;
# the lab needs none of it.
# Other work of the machine has less weight: what it does to the lag is not the question here.
ORDINARY = (
    *("nice", "-n", "-15"),
    *("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
)
# A device that every user may open, as on distributions with udev.
OPEN_DEVICES = (
    "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 && chmod 755 /dev/net && "
    'exec "$@"'
)
# 1 % of the round-trip time may be lag: 2 ms, which a router without priority keeps to beside
# other work.
SCENARIO = """\
title    = "An ordinary user's"
duration = "12 s"
warmup   = "5 s"
packet   = "1500 B"
profile  = "linux-tcp"

[bottleneck]
rate  = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", capacity = "1 bdp" }

[[flow]]
name       = "own"
rtt        = "200 ms"
controller = "cubic"

[[expect]]
what     = "the link is used"
number   = "flows.own.goodput_bps"
at_least = 8.7e6
source   = "1448 of 1500 bytes are payload"
"""
PAYLOAD_BPS = 10e6 * 1448 / 1500
# Of the payload that the link carries: what two runs of the kernel, or the two engines, may differ.
TOLERANCE = 0.03
TRIES = 5
RESULT = """\
import json, sys
import fairhaul
(record,) = fairhaul.run(sys.argv[1], seeds=1, engine="lab").records
flow = fairhaul.measure(record)["flows"][0]
print(json.dumps({"trust": record.meta["trust"], "goodput_bps": flow["goodput_bps"]}))
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[dict[str, Any]]:
    """The state of the machine, which has to be the same at the end of the module."""
    with locked():
        before = state()
        yield before
        assert settled(before) == before


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of the scenario."""
    file = tmp_path / "own.toml"
    file.write_text(SCENARIO)
    return file


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may read and write, because all others may be closed to the user."""
    folder = Path(tempfile.mkdtemp(prefix="fairhaul-rootless-", dir="/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def call(*words: str | Path, before: tuple[str, ...] = ORDINARY) -> Any:
    """Call the command line as an ordinary user, and wait for its end."""
    command = [*before, PYTHON, "-m", "fairhaul", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=600, stdin=subprocess.DEVNULL
    )


def measured(file: Path, before: tuple[str, ...]) -> dict[str, Any]:
    """Give the result of a run of the lab that is valid."""
    reasons = []
    for _ in range(TRIES):
        command = [*before, PYTHON, "-c", RESULT, str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        if result["trust"]["valid"]:
            return result
        reasons.append(result["trust"]["reasons"])
    raise AssertionError(f"no run counts: {reasons}")


def within(script: str) -> tuple[str, ...]:
    return ("unshare", "--mount", "sh", "-c", script, "sh")


@needs_kernel
@pytest.mark.usefixtures("machine")
def test_an_ordinary_user_measures_what_root_and_the_simulator_measure(file: Path) -> None:
    """Each privilege over each device, and the simulator: five goodputs within 3 % of the link."""
    kinds = {
        ("root", "tun"): (),
        ("root", "veth"): within(HIDE_DEVICES),
        ("user", "tun"): (*within(OPEN_DEVICES), *ORDINARY),
        ("user", "veth"): (*within(HIDE_DEVICES), *ORDINARY),
    }
    (record,) = package.run(SCENARIO, seeds=1).records
    simulated = package.measure(record)["flows"][0]["goodput_bps"]
    goodputs = {("simulator", ""): simulated}
    for (who, devices), before in kinds.items():
        # A sender that has to wait for a processor is slower in a run that is valid, too.
        for _ in range(TRIES):
            result = measured(file, before)
            if abs(result["goodput_bps"] - simulated) < TOLERANCE * PAYLOAD_BPS / 2:
                break
        goodputs[who, devices] = result["goodput_bps"]
        trust = result["trust"]
        assert (trust["as_root"], trust["devices"]) == (who == "root", devices)
        # What is missing without root is said, and nothing else is.
        assert trust["windows"]["of"] == ("packets" if who == "root" else "polls")
        assert [("priority" in warning) for warning in trust["warnings"]] == [True] * (
            who == "user"
        )
    spread = max(goodputs.values()) - min(goodputs.values())
    assert spread < TOLERANCE * PAYLOAD_BPS, goodputs
    assert min(goodputs.values()) > 0.9 * PAYLOAD_BPS, goodputs


@needs_kernel
@pytest.mark.usefixtures("machine")
def test_expectations_are_checked_without_root(file: Path) -> None:
    """The command of the CI job in docs/lab-reference.md."""
    for _ in range(TRIES):
        done = call("check", file, "--engine", "lab", "--seeds", "1")
        if "no run is valid" not in done.stderr:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    # One run decides nothing, unless its number is out of bounds.
    assert "0 met, 0 not met, 1 undecided" in done.stdout


@needs_kernel
@pytest.mark.usefixtures("machine")
def test_a_user_without_any_capability_and_many_packets_at_once(folder: Path) -> None:
    """1.2 Gbit/s, at which hosts hand over many segments at once; its lag is not judged."""
    text = SCENARIO.replace("10 Mbit/s", "1.2 Gbit/s").replace('"200 ms"', '"40 ms"')
    program = shutil.copy(host.PROGRAM, folder / "fairhaul-host")
    scenario = {"text": text, "file": "x.toml", "overrides": [("duration", "6 s")]}
    question = {"do": "lab", "record": str(folder / "record.json")}
    request = {**question, "scenario": {**scenario, "variant": [], "seed": 1}}
    done = subprocess.run(
        [program],
        input=json.dumps({"request": request}),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        user=USER,
        group=USER,
        extra_groups=[],
        cwd="/",
    )
    result = json.loads(done.stdout.splitlines()[-1])["result"]
    record = json.loads((folder / "record.json").read_text())
    trust = result["trust"]
    assert (trust["as_root"], trust["devices"], trust["mode"]) == (False, "veth", "fast")
    assert "dropped" not in " ".join(trust["reasons"])
    (transfer,) = record["transfers"]
    # A sixth of what the link carries: on a busy machine the hosts, too, lack time.
    assert transfer["bytes"] * 8 / 6 > 200e6


@needs_kernel
@pytest.mark.usefixtures("machine")
def test_what_needs_root_is_refused_with_what_to_do(file: Path, folder: Path) -> None:
    only = "only root can load into the kernel"
    run = ("run", file, "--engine", "lab", "--seeds", "1")
    for words, said in (
        ((*run, "--set", "flow.own.controller=fhstcp"), (only, "cubic", "as root")),
        (("check", file, "--engine", "lab", "--set", "flow.own.controller=fhstcp"), (only,)),
        (("reproduce", "fhstcp", "--engine", "sim,lab", "--out", folder / "out"), (only,)),
        (("lab", "cells", "--cells", "fhstcp-200M-100ms-1bdp", "--out", folder / "c"), (only,)),
        (("lab", "shell", file, "--host", "own", "--set", "flow.own.controller=ghstcp"), (only,)),
        ((*run, "--set", "flow.own.send_buffer=100 MB"), ("net.core.wmem_max=100000000",)),
        (("kernel", "install", "fhstcp"), ("needs root",)),
        (("kernel", "remove", "--all"), ("needs root",)),
        (("kernel", "watch"), ("needs root",)),
    ):
        done = call(*words)
        assert done.returncode == 2, (words, done.stdout, done.stderr)
        for word in said:
            assert word in done.stderr, words
    question = f"""\
import fairhaul
fairhaul.run({str(file)!r}, engine="lab", overrides={{"flow.own.controller": "mine"}},
             controllers={{"mine": {str(bpf_object("cubic"))!r}}})
"""
    done = subprocess.run(
        [*ORDINARY, PYTHON, "-c", question], capture_output=True, text=True, check=False
    )
    assert f'controller "mine": it is an eBPF program, which {only}' in done.stderr


@needs_kernel
@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("controller", ["reno", "cubic", "bbr"])
def test_programs_of_a_user_have_the_controller_of_the_flow(file: Path, controller: str) -> None:
    """Also one that `tcp_allowed_congestion_control` does not list."""
    words = ("lab", "shell", file, "--host", "own", "--set", f"flow.own.controller={controller}")
    program = "iperf3 -J -c $FAIRHAUL_PEER -t 1"
    done = call(*words, "--receiver", "iperf3 -s", "--", "sh", "-c", program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["end"]["sender_tcp_congestion"] == controller


# How user namespaces are forbidden, and what has to be said of it.
NO_USER = "echo 0 > /proc/sys/user/max_user_namespaces"
NO_NETWORK = "echo 0 > /proc/sys/user/max_net_namespaces"
FORBIDDEN = {
    "limit": (
        ("unshare", "--user", "--map-root-user", "sh", "-c", f'{NO_USER} && exec "$@"', "sh"),
        "sysctl -w user.max_user_namespaces=10000",
    ),
    "limit of networks": (
        ("unshare", "--user", "--map-root-user", "sh", "-c", f'{NO_NETWORK} && exec "$@"', "sh"),
        "or user.max_net_namespaces is reached",
    ),
    "filter": ((*ORDINARY, PYTHON, str(FILTER)), "--security-opt seccomp=unconfined"),
    "root without capabilities": (
        ("setpriv", "--bounding-set=-all", "--inh-caps=-all"),
        "Run the command as root",
    ),
}


@needs_kernel
@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("how", FORBIDDEN)
@pytest.mark.parametrize("verb", [("run", "--engine", "lab"), ("lab", "shell", "--host", "own")])
def test_a_forbidden_user_namespace_is_refused_with_its_reason(
    file: Path, how: str, verb: tuple[str, ...]
) -> None:
    before, said = FORBIDDEN[how]
    done = call(*verb, file, before=before)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "the lab needs root or a user namespace" in done.stderr
    assert said in done.stderr


@needs_kernel
@pytest.mark.parametrize("part", ["command line", "host"])
def test_a_run_that_is_killed_leaves_nothing(
    machine: dict[str, Any], file: Path, part: str
) -> None:
    with begun(
        "run", file, "--engine", "lab", "--set", "duration=60 s", before=ORDINARY
    ) as process:
        wait_for(lambda: children(process.pid, "fairhaul-host"))
        (program,) = children(process.pid, "fairhaul-host")
        wait_for(lambda: in_the_lab(program))
        # Its user sees it, and root does; another user does not.
        found = json.loads(call("lab", "clean", "--json").stdout)
        assert (found["left"], found["at_work"]) == ([], [program])
        root = json.loads(call("lab", "clean", "--json", before=()).stdout)
        assert program in root["at_work"]
        another = tuple(word.replace(str(USER), str(USER - 1)) for word in ORDINARY)
        done = call("lab", "clean", before=another)
        assert (done.returncode, done.stdout) == (0, "Nothing is left.\n")
        os.kill(process.pid if part == "command line" else program, signal.SIGKILL)
        process.communicate(timeout=60)
    wait_for(lambda: not Path(f"/proc/{program}").exists())
    assert settled(machine) == machine
    done = call("lab", "clean")
    assert (done.returncode, done.stdout) == (0, "Nothing is left.\n")


@needs_kernel
def test_programs_of_a_user_end_with_the_lab(machine: dict[str, Any], file: Path) -> None:
    forever = f"sleep 302.{os.getpid()}"
    words = ("lab", "shell", file, "--host", "own", "--receiver", f"exec {forever}")
    running = ["pgrep", "--full", "--exact", forever]
    with begun(*words, "--", *forever.split(), before=ORDINARY) as process:
        wait_for(lambda: subprocess.run(running, capture_output=True, check=False).stdout)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    wait_for(lambda: not subprocess.run(running, capture_output=True, check=False).stdout)
    assert settled(machine) == machine


@needs_kernel
@pytest.mark.usefixtures("machine")
def test_a_user_finds_and_ends_what_is_left_of_the_own_labs() -> None:
    # It waits for its request, and was started by another process, by its mark.
    environment = {**os.environ, "FAIRHAUL_PARENT": "1"}
    orphan = subprocess.Popen(
        [*ORDINARY, host.PROGRAM], stdin=subprocess.PIPE, env=environment, text=True
    )
    try:
        wait_for(lambda: Path(f"/proc/{orphan.pid}/comm").read_text() == "fairhaul-host\n")
        done = call("lab", "clean")
        assert done.returncode == 1
        assert f"process {orphan.pid}, a fairhaul-host whose parent has exited" in done.stdout
        assert call("lab", "clean", "--kill").returncode == 0
        assert orphan.wait(timeout=60) == -signal.SIGKILL
    finally:
        orphan.kill()
        orphan.communicate()

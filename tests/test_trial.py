"""`fairhaul kernel trial`: its statistics, and trials on the real kernel in namespaces and cgroups
that the tests make.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairhaul.host import process as host
from fairhaul.host.process import Refused
from fairhaul.statistics import sequence
from fairhaul.studies import trial as api
from fairhaul.studies.trial import judge
from fairhaul.studies.trial.judge import Comparison, Measured
from fairhaul.studies.trial.results import State
from fairhaul.studies.trial.words import outcome_of
from tests.compiled import compiled_by_clang
from tests.kernel_host import (
    PYTHON,
    Pair,
    locked,
    needs_kernel,
    pair,
    settled,
    sh,
    state,
    wait_for,
)
from tests.test_recording import flow, look

TRAFFIC = Path(__file__).parent / "trial_traffic.py"
OBJECTS = Path(__file__).parent / "objects"
LOT = "fh_trial_lot"
BASE = 15.0


def transfer(number: int, log_goodput: float, block: int | None = None) -> dict[str, Any]:
    """A transfer of one connection, as `fairhaul-host` reports it: 1 MB."""
    return {
        "controller": number,
        "block": block,
        "peer": "192.0.2.1",
        "connections": [
            {
                "acked_bytes": 1_000_000,
                "sent": 700,
                "retransmitted": 7,
                "rtt_ms": 40.0,
                "min_rtt_ms": 40.0,
                "busy_s": 8e6 / math.exp(log_goodput),
                "receive_window_s": 0.0,
                "send_buffer_s": 0.0,
            }
        ],
    }


def new_state(**more: Any) -> State:
    """A trial of two controllers that has just begun."""
    given: dict[str, Any] = {
        "controllers": ["reno", "cubic"],
        "design": "transfer",
        "least_bytes": 100_000,
    }
    return State(**given | more)


def decided(differences: np.ndarray, alpha: float) -> np.ndarray:
    """Whether each row of differences ends with one, when it is looked at after every pair."""
    count = np.arange(1, differences.shape[1] + 1)
    means = np.cumsum(differences, axis=1) / count
    squares = np.cumsum(differences**2, axis=1) - count * means**2
    deviations = np.sqrt(np.maximum(0, squares) / np.maximum(1, count - 1))
    widths = np.array([sequence.half_width(int(n), alpha) for n in count])
    outside = np.abs(means) > deviations * widths
    found: np.ndarray = outside[:, judge.LEAST_PAIRS - 1 :].any(axis=1)
    return found


def test_of_1000_trials_of_equal_controllers_at_most_5_percent_end_with_a_difference() -> None:
    chance = np.random.default_rng(45)
    first, other = chance.normal(BASE, 0.5, (2, 1000, 1500))
    found = decided(other - first, judge.ALPHA)
    assert found.mean() <= judge.ALPHA
    # The judge decides as the arrays do. It may also say that there is no difference.
    for row in [*np.flatnonzero(found)[:3], 0, 1]:
        comparison = Comparison()
        for base, new in zip(first[row], other[row], strict=True):
            for value, is_first in ((base, True), (new, False)):
                of = Measured(log_goodput=value, sent=100, retransmitted=1)
                comparison.add(of, is_first=is_first)
        assert (comparison.verdict in {"higher", "lower"}) == found[row]


def test_looking_after_every_pair_with_a_fixed_interval_would_find_differences() -> None:
    # The test above can fail: 1.96 standard errors are exceeded in many of the trials.
    differences = np.random.default_rng(45).normal(0, 1, (1000, 1500))
    count = np.arange(1, 1501)
    means = np.cumsum(differences, axis=1) / count
    assert (np.abs(means) > 1.96 / np.sqrt(count))[:, 49:].any(axis=1).mean() > 0.2


def test_a_true_difference_is_found_by_the_number_that_is_said_to_be_needed() -> None:
    needed = judge.transfers_needed(0.2)
    chance = np.random.default_rng(45)
    first, other = chance.normal(0, 0.2, (2, 300, needed))
    assert decided(other + math.log(1.05) - first, judge.ALPHA).mean() >= sequence.FOUND


def test_a_sequence_is_that_of_the_formula() -> None:
    # rho^2 = (-2 ln 0.05 + ln(1 - 2 ln 0.05)) / 500 = (5.991 + 1.945) / 500 = 0.015872; with 500
    # values sqrt(2 x 8.936 / (500 x 7.936) ln(2.989 / 0.05)) = sqrt(0.0045042 x 4.0906) = 0.1357.
    assert sequence.half_width(500, 0.05) == pytest.approx(0.1357, abs=5e-5)
    of = sequence.Sequence()
    for value in (1.0, 2.0, 4.0):
        of.add(value)
    assert [of.mean, of.deviation] == pytest.approx([7 / 3, math.sqrt(7 / 3)])
    low, high = of.interval(0.05)
    assert low < of.at_least(0.05) < of.mean < of.at_most(0.05) < high


@pytest.mark.parametrize(
    ("shift", "verdict", "words"),
    [
        (0.2, "higher", "cubic wins beside reno: its transfers have 21.7 % [12.5, 31.5] more"),
        (-0.08, "lower", "cubic loses beside reno: its transfers have 8.1 % [0.6, 14.9] less"),
        (-0.5, "harm", "cubic does harm: its goodput is at least 10 % below that of reno."),
        (0.001, "same", "cubic and reno differ by less than 5 % in goodput"),
    ],
)
def test_the_verdict_is_of_the_controllers_beside_each_other(
    shift: float, verdict: str, words: str
) -> None:
    trial = new_state()
    for n in range(400):
        noise = 0.1 * (-1) ** (n // 2)
        trial.add(transfer(0, BASE + noise))
        trial.add(transfer(1, BASE + noise * (-1) ** n + shift))
        if trial.is_decided:
            break
    outcome = outcome_of(trial)
    assert trial.values()["comparisons"][0]["verdict"] == verdict
    assert words in outcome.answer
    assert outcome.question == "Which wins beside the other, reno or cubic?"
    assert "advantage in competition" in next(iter(outcome.evidence())).text[0]


def test_few_transfers_are_not_judged_and_small_ones_not_counted() -> None:
    trial = new_state(least_bytes=2_000_000)
    trial.add(transfer(0, BASE))
    assert trial.values()["not_counted"]["small"] == 1
    trial = new_state()
    for n in range(49):
        trial.add(transfer(0, BASE + 0.01 * (n % 3)))
        trial.add(transfer(1, BASE + 0.01 * (n % 3) + 0.02))
    assert "49 transfers of each controller are too few" in outcome_of(trial).answer
    assert trial.values()["comparisons"][0]["goodput_ratio"] is None


def test_a_larger_share_of_retransmitted_packets_is_harm() -> None:
    trial = new_state()
    for n in range(20):
        trial.add(transfer(0, BASE))
        of = transfer(1, BASE)
        of["connections"][0]["retransmitted"] = 28 + n % 2  # 4 % instead of 1 %
        trial.add(of)
    assert trial.is_decided
    assert "it retransmits 3.1 % more of its packets than reno" in outcome_of(trial).answer


def test_by_time_the_unit_is_the_block_and_the_question_is_another() -> None:
    trial = new_state(design="time")
    for block in range(1, 121):
        for n in range(3):
            shift = 0.3 * (block % 2) + 0.02 * (n + block % 3)
            trial.add(transfer(block % 2, BASE + shift, block))
    trial.close()
    (compared,) = trial.values()["comparisons"]
    assert compared["pairs"] <= 60
    outcome = outcome_of(trial)
    assert outcome.question == "What if all connections change from reno to cubic?"
    assert outcome.answer.startswith("With cubic on all connections, they have 35")
    blocks = api.drawn_blocks(2)
    assert all({*blocks[at : at + 2]} == {0, 1} for at in range(0, 100, 2))
    assert len({tuple(blocks[at : at + 2]) for at in range(0, 100, 2)}) == 2


def test_three_controllers_share_the_probability_of_an_error() -> None:
    trial = new_state(controllers=["reno", "cubic", "bbr"])
    assert [of.alpha for of in trial.comparisons] == [0.025, 0.025]


def test_the_number_of_transfers_that_is_needed_follows_from_a_recording(tmp_path: Path) -> None:
    made = api_recording(tmp_path / "flows", 40)
    # The logs of goodput of every controller are -0.5 and 0.5 in turn: their deviation is 0.506.
    assert api.recorded_deviation(made, 100_000) == pytest.approx(0.5, rel=0.02)
    with pytest.raises(Refused, match="wanted 30 connections"):
        api.recorded_deviation(made, 10_000_000)


def api_recording(directory: Path, connections: int) -> Path:
    """Record connections that have sent 1 MB, half of them at e times the goodput of the others."""
    from fairhaul.host.recording import new_recording

    made = new_recording(directory)
    for acked_bytes in (10, 1_000_000):
        flows = [
            flow(n, acked_bytes=acked_bytes, busy_s=math.exp((-1) ** n / 2), controller="cubic")
            for n in range(connections)
        ]
        made.add(look(acked_bytes / 1e6, *flows))
    return directory


def cgroups() -> Path:
    """Where the cgroups of version 2 are mounted."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, system = line.partition(" - ")
        if system.startswith("cgroup2 "):
            return Path(mount.split()[4])
    pytest.skip("no file system cgroup2 is mounted")


def programs() -> list[str]:
    """The programs of the kind sock_ops in the kernel."""
    found = json.loads(sh("bpftool", "-j", "prog", "list"))
    return sorted(str(of.get("name")) for of in found if of["type"] == "sock_ops")


@pytest.fixture(scope="module")
def kernel() -> Iterator[Pair]:
    """Two namespaces, of which the far one accepts connections to many addresses."""
    with locked():
        before, loaded = state(), programs()
        with pair() as made:
            sh("ip", "-n", made.far, "route", "add", "local", "10.199.0.0/16", "dev", "lo")
            sh("ip", "-n", made.near, "route", "add", "10.199.0.0/16", "dev", "wire")
            server = subprocess.Popen(
                ["ip", "netns", "exec", made.far, PYTHON, str(TRAFFIC), "serve"]
            )
            try:
                wait_for(lambda: ":5001" in sh("ip", "netns", "exec", made.far, "ss", "-tln"))
                yield made
            finally:
                server.kill()
                server.wait()
        assert settled(before) == before
        assert programs() == loaded


@pytest.fixture
def cgroup() -> Iterator[Path]:
    """A cgroup of its own."""
    made = cgroups() / f"fairhaul-test-{os.getpid()}"
    made.mkdir()
    try:
        yield made
    finally:
        if made.exists():
            wait_for(lambda: not (made / "cgroup.procs").read_text())
            made.rmdir()


def inside(kernel: Pair, *command: str | Path) -> tuple[str | Path, ...]:
    """Give a command in the near namespace, which sees the cgroups of the host."""
    return ("nsenter", f"--net=/run/netns/{kernel.near}", *command)


@contextmanager
def begun(kernel: Pair, cgroup: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Start a trial of a cgroup, and wait until it draws; it is killed at the end."""
    command = (PYTHON, "-m", "fairhaul", "kernel", "trial", "reno", "cubic")
    process = subprocess.Popen(
        inside(kernel, *command, "--cgroup", cgroup, *words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        wait_for(lambda: LOT in programs() or process.poll() is not None)
        time.sleep(0.3)
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def sent(
    kernel: Pair, cgroup: Path, count: int, size: int, peers: int | None = None
) -> list[tuple[str, str]]:
    """Make transfers from the near namespace, in the cgroup; gives peers and controllers."""
    words = ("send", "10.199.1.0", str(peers or count), str(count), str(size), "20", cgroup)
    told = json.loads(sh(*inside(kernel, PYTHON, TRAFFIC, *words)))
    return [(str(peer), str(controller)) for peer, controller in told]


@needs_kernel
def test_of_1000_connections_none_has_a_controller_that_was_not_drawn(
    kernel: Pair, cgroup: Path
) -> None:
    request = {"do": "trial", "controllers": ["reno", "cubic"], "cgroup": str(cgroup)}
    drawn: dict[str, str] = {}
    with subprocess.Popen(
        inside(kernel, host.PROGRAM), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"request": request}))
        process.stdin.close()
        wait_for(lambda: LOT in programs())
        time.sleep(0.3)
        had = dict(sent(kernel, cgroup, 1000, 2000))
        for line in process.stdout:
            told = json.loads(line)
            assert "error" not in told, told
            if "transfer" in told:
                of = told["transfer"]
                (connection,) = of["connections"]
                # The beginning and the end of a connection count as a byte each.
                assert 2000 <= connection["acked_bytes"] <= 2002
                drawn[of["peer"]] = request["controllers"][of["controller"]]
            if len(drawn) == 1000:
                break
        process.kill()
    assert drawn == had
    assert 400 < list(had.values()).count("cubic") < 600


@needs_kernel
def test_connections_of_others_keep_their_controller_and_connections_to_one_peer_share_theirs(
    kernel: Pair, cgroup: Path
) -> None:
    own = sh(*inside(kernel, "cat", "/proc/sys/net/ipv4/tcp_congestion_control")).strip()
    peers = ("--peer", "10.199.1.0/26", "--port", "5001", "--json")
    with begun(kernel, cgroup, *peers, "--duration", "6s") as trial:
        assert {name for _, name in sent(kernel, cgroup.parent, 64, 2000)} == {own}
        had = sent(kernel, cgroup, 256, 2000, peers=128)
        out, err = trial.communicate(timeout=60)
    values = json.loads(out)["values"]
    assert trial.returncode == 0, err
    # Each of the first 64 addresses takes part, with both its connections.
    names: dict[str, set[str]] = {}
    for peer, name in had:
        names.setdefault(peer, set()).add(name)
    every = list(names.values())
    assert all(len(of) == 1 for of in every)
    assert (set.union(*every[:64]), set.union(*every[64:])) == ({"reno", "cubic"}, {own})
    assert sum(arm["assigned"] for arm in values["controllers"]) == 128
    # What took less than a tick of the kernel's clocks has no goodput.
    assert values["not_counted"]["small"] == 64


@needs_kernel
def test_a_kill_at_any_moment_leaves_nothing_and_programs_of_others_stay(
    kernel: Pair, cgroup: Path, tmp_path: Path
) -> None:
    other = compiled_by_clang(OBJECTS / "sockops.bpf.c", "sockops")
    before = programs()
    bpffs = tmp_path / "bpf"
    bpffs.mkdir()
    sh("mount", "-t", "bpf", "fairhaul-test", bpffs)
    try:
        sh("bpftool", "prog", "load", other, bpffs / "other")
        sh("bpftool", "cgroup", "attach", cgroup, "sock_ops", "pinned", bpffs / "other", "multi")
        for after_s in (0.0, 0.2, 0.4, 0.8):
            command = (PYTHON, "-m", "fairhaul", "kernel", "trial", "reno", "cubic", "--cgroup")
            trial = subprocess.Popen(
                inside(kernel, *command, cgroup),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            if after_s:
                wait_for(lambda: LOT in programs())
            time.sleep(after_s)
            os.killpg(trial.pid, signal.SIGKILL)
            trial.wait()
            wait_for(lambda: LOT not in programs())
            assert attached(cgroup) == ["choose"]
    finally:
        (bpffs / "other").unlink(missing_ok=True)
        sh("umount", bpffs)
    sh("bpftool", "cgroup", "detach", cgroup, "sock_ops", "name", "choose")
    assert programs() == before


def attached(cgroup: Path) -> list[str]:
    """The programs on a cgroup."""
    told = sh("bpftool", "-j", "cgroup", "show", cgroup).strip()
    return [of["name"] for of in json.loads(told or "[]")]


@needs_kernel
def test_a_trial_ends_when_its_cgroup_goes_and_only_one_runs(kernel: Pair, cgroup: Path) -> None:
    with begun(kernel, cgroup, "--json") as trial:
        assert attached(cgroup) == [LOT]
        with begun(kernel, cgroup) as second:
            assert "another trial runs on this host" in second.communicate(timeout=60)[1]
            assert second.returncode == 2
        cgroup.rmdir()
        out, err = trial.communicate(timeout=60)
    assert trial.returncode == 0, err
    assert json.loads(out)["values"]["ended"] == "the cgroup was removed"


@needs_kernel
def test_by_time_all_connections_have_the_controller_of_their_block(
    kernel: Pair, cgroup: Path
) -> None:
    words = ("--by", "time", "--block", "2s", "--duration", "7s", "--least", "1kB", "--json")
    had: list[str] = []
    with begun(kernel, cgroup, *words) as trial:
        while trial.poll() is None and (len(had) < 10 * 20 or len({*had}) < 2):
            had += [name for _, name in sent(kernel, cgroup, 20, 2000)]
        out, err = trial.communicate(timeout=60)
    assert trial.returncode == 0, err
    values = json.loads(out)["values"]
    assert (values["design"], values["ended"]) == ("time", "its time was over")
    # Every two blocks have both; calls are much shorter than a block, so most are within one.
    calls = [{*had[at : at + 20]} for at in range(0, len(had), 20)]
    assert set.union(*calls) == {"reno", "cubic"}
    assert sum(len(call) == 1 for call in calls) >= len(calls) - 4
    assert values["not_counted"]["settling"] > 0


@needs_kernel
def test_a_dry_run_changes_nothing_and_what_cannot_be_is_refused(
    kernel: Pair, cgroup: Path
) -> None:
    command = (PYTHON, "-m", "fairhaul", "kernel", "trial", "reno", "cubic", "--cgroup", cgroup)
    done = subprocess.run(
        inside(kernel, *command, "--peer", "10.1.0.0/16", "--dry-run"),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    assert f"would attach a program to the cgroup {cgroup} that gives each new" in done.stderr
    assert "to 10.1.0.0/16 one of reno, cubic" in done.stderr
    assert attached(cgroup) == []
    two = ("reno", "cubic")
    refusals: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
        (("reno", "none"), {}, 'no controller "none"'),
        (("reno",), {}, "two to 8 different controllers"),
        (two, {"scope": api.Scope(cgroup="none")}, "cannot be opened"),
        (two, {"scope": api.Scope(cgroup="/proc")}, "is no cgroup of version 2"),
        (two, {"scope": api.Scope(peers=["host"])}, "is not an address or a prefix"),
        (two, {"scope": api.Scope(routes=["10.77.0.0/16"])}, "there is no route to exactly"),
        (two, {"scope": api.Scope(ports=[*range(1, 10)])}, "at most 8 ports"),
        (two, {"block_s": 0.5}, "blocks of at least 1 s"),
    ]
    for controllers, chosen, why in refusals:
        with pytest.raises(Refused, match=why):
            api.trial(controllers, **chosen)


PATH_WITH_LOSS = """\
title    = "A path with random loss"
duration = "60 s"
profile  = "linux-tuned"
packet   = "1500 B"

[bottleneck]
rate  = "100 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", capacity = "1 bdp" }
loss  = 0.01

[[flow]]
name       = "A"
rtt        = "40 ms"
controller = "reno"
"""
# In a host of the lab: a trial of the arguments beside transfers of 500 kB, until it is decided.
TRIAL_IN_THE_LAB = """\
"$1" "$2" send 10.0.0.0 250 100000 500000 12 "$3" 10.16.0.0 > /dev/null & sender=$!
"$1" -m fairhaul kernel trial "$4" "$5" --cgroup "$3" --port 5001 --json --duration 50s > "$6"
kill $sender
wait
"""


@needs_kernel
@pytest.mark.parametrize(
    ("controllers", "verdicts"),
    [(("reno", "bbr"), {"higher"}), (("bbr", "reno"), {"harm", "lower"})],
)
def test_beside_each_other_over_a_path_that_loses_packets_the_right_controller_wins(
    controllers: tuple[str, str], verdicts: set[str], cgroup: Path, tmp_path: Path
) -> None:
    # A window that is halved for every hundredth packet cannot fill the path; that of bbr does.
    (tmp_path / "path.toml").write_text(PATH_WITH_LOSS)
    result = tmp_path / "result.json"
    words = (PYTHON, TRAFFIC, cgroup, *controllers, result)
    sh(
        *(PYTHON, "-m", "fairhaul", "lab", "shell", tmp_path / "path.toml", "--host", "A"),
        *("--receiver", f"{PYTHON} {TRAFFIC} serve", "--", "sh", "-c", TRIAL_IN_THE_LAB, "sh"),
        *words,
    )
    values = json.loads(result.read_text())["values"]
    (compared,) = values["comparisons"]
    assert compared["verdict"] in verdicts, values
    assert compared["pairs"] >= 20

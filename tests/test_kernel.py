"""eBPF ports in the real kernel, as root: installed under temporary names, used, and removed
completely; and all refusals.
"""

from __future__ import annotations

import configparser
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairhaul.host import process as host
from tests.compiled import bpf_object, documented_object, example
from tests.conftest import Fairhaul
from tests.kernel_host import (
    PYTHON,
    Pair,
    hosts,
    in_linux,
    locked,
    needs_kernel,
    needs_ports,
    pair,
    settled,
    sh,
    state,
    wait_for,
)

ROOT = Path(__file__).parents[1]

# Names that nothing else gives: controllers are the same in all namespaces.
ONE, TWO = f"fh_{os.getpid():x}_1", f"fh_{os.getpid():x}_2"

NEEDED = ("bpf", "net_admin", "perfmon", "sys_admin", "sys_ptrace")


@pytest.fixture(scope="module")
def kernel() -> Iterator[Pair]:
    """Two namespaces; at the end of the module the host has to be as it was before."""
    with locked():
        before = state()
        with pair() as made:
            yield made
        assert settled(before) == before


def installed(kernel: Pair, *words: str) -> None:
    done = kernel.fairhaul("kernel", "install", *words)
    assert done.returncode == 0, done.stdout + done.stderr


def status(kernel: Pair) -> Any:
    done = kernel.fairhaul("kernel", "status", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def installed_port(kernel: Pair, name: str) -> Any:
    return next(one for one in status(kernel)["ports"] if one["name"] == name)


def refused(kernel: Pair, *words: str | Path, before: tuple[str, ...] = ()) -> str:
    """Call what is to be refused: the message, after a look that nothing was changed."""
    was = state()
    done = kernel.fairhaul("kernel", *words, before=before)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("fairhaul: ")
    assert settled(was) == was
    return str(done.stderr)


def removed(kernel: Pair, *words: str) -> None:
    done = kernel.fairhaul("kernel", "remove", *(words or ("--all",)))
    assert done.returncode == 0, done.stdout + done.stderr
    if not words:
        assert not kernel.place.exists()


@needs_ports
def test_the_list_has_every_port_with_its_parameters(fairhaul: Fairhaul) -> None:
    found = json.loads(fairhaul("kernel", "list", "--json").stdout)["ports"]
    sources = (ROOT / "crates/ports/bpf").glob("*.bpf.c")
    assert [one["name"] for one in found] == sorted(s.name.removesuffix(".bpf.c") for s in sources)
    (c,) = [key for one in found for key in one["parameters"] if key["name"] == "c"]
    assert c["default"] == 10000
    assert c["unit"] == "0.001/s"
    told = fairhaul("kernel", "list").stdout
    assert "    eta_floor          on or off, default on\n" in told
    assert "    c                  0/s to 1000/s in steps of 0.001/s, default 10/s\n" in told


@needs_kernel
def test_a_flow_is_listed_and_changed_and_continues_when_its_port_is_removed(kernel: Pair) -> None:
    installed(kernel, "fhstcp", "--as", ONE, "--set", "c=20/s")
    sender, receiver = kernel.flow(ONE, 25, "-b", "100M")
    wait_for(lambda: any(flow["sent"] > 1000 for flow in installed_port(kernel, ONE)["flows"]))
    found = installed_port(kernel, ONE)
    assert (found["port"], found["state"]) == ("fhstcp", "installed")
    assert found["parameters"]["c"] == 20000
    flow = max(found["flows"], key=lambda flow: flow["sent"])
    assert flow["namespace"] == kernel.near
    assert flow["remote"] == f"{kernel.address}:5299"
    assert flow["cwnd"] >= 2
    assert 0 < flow["rtt_ms"] < 1000
    # Only of a sender, by what arrived; the receiver has another controller.
    assert flow["rate_bps"] > 0
    assert all(flow["sent"] > 0 for flow in found["flows"])
    text = kernel.fairhaul("kernel", "status").stdout
    assert f"{kernel.address}:5299" in text
    assert kernel.fairhaul("kernel", "set", ONE, "c=5/s").returncode == 0
    assert installed_port(kernel, ONE)["parameters"]["c"] == 5000

    acked = max(flow["acked_bytes"] for flow in installed_port(kernel, ONE)["flows"])
    removed(kernel)
    result = json.loads(sender.communicate(timeout=120)[0])
    assert receiver.wait(timeout=120) == 0
    assert result["end"]["sender_tcp_congestion"] == ONE
    # It continued after its eBPF port was removed, at its own pace: 100 Mbit/s were requested.
    received = result["end"]["sum_received"]["bytes"]
    assert received > acked + 1e6
    assert all(interval["sum"]["bytes"] > 0 for interval in result["intervals"])


@needs_kernel
def test_after_sigkill_of_everything_remove_all_leaves_the_host_as_it_was(kernel: Pair) -> None:
    before = state()
    installed(kernel, "highspeed", "--as", ONE, "--namespace", kernel.near)
    installed(kernel, "ghstcp", "--as", TWO)
    watch = subprocess.Popen(
        [PYTHON, "-m", "fairhaul", "kernel", "watch", "--interval", "1"],
        env={**os.environ, "FAIRHAUL_PLACE": str(kernel.place)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert watch.stdout is not None
    assert ONE in watch.stdout.readline()
    # The watcher keeps what it needs to look and to remove, and no more.
    (child,) = Path(f"/proc/{watch.pid}/task/{watch.pid}/children").read_text().split()
    held = int(_of(Path(f"/proc/{child}/status").read_text(), "CapEff:"), 16)
    assert bin(held).count("1") <= 5
    sender, receiver = kernel.flow(TWO, 30)
    wait_for(lambda: installed_port(kernel, TWO)["flows"])
    os.killpg(watch.pid, signal.SIGKILL)
    for process in (sender, receiver, watch):
        process.kill()
        process.wait()
    assert {one["name"] for one in status(kernel)["ports"]} >= {ONE, TWO}
    assert status(kernel)["defaults"] == {kernel.near: ONE}
    removed(kernel)
    assert settled(before) == before
    assert _default_of(kernel.near) == before["default"].strip()


@needs_kernel
def test_removing_all_reports_the_owners_of_the_ports(kernel: Pair) -> None:
    # As root for two users, by `sudo`; the user who logged in has priority, but here no one has.
    environment = ("env", "-u", "SUDO_UID")
    if int(Path("/proc/self/loginuid").read_text()) != 2**32 - 1:
        pytest.skip("somebody logged in, who is the owner whatever sudo says")
    words = ("kernel", "install", "reno", "--as")
    assert kernel.fairhaul(*words, ONE, before=environment).returncode == 0
    assert kernel.fairhaul(*words, TWO, before=("env", "SUDO_UID=54321")).returncode == 0
    assert installed_port(kernel, ONE)["owner"]["user"] == "root"
    assert "installed by uid 54321, 20" in kernel.fairhaul("kernel", "status").stdout
    for more in (("--dry-run",), ()):
        told = kernel.fairhaul("kernel", "remove", "--all", *more, before=environment)
        assert told.returncode == 0, told.stderr
        assert f"remove {ONE} from the kernel, installed by root (uid 0), 20" in told.stdout
        assert f"remove {TWO} from the kernel, installed by uid 54321, 20" in told.stdout
        assert f"{TWO} was installed by uid 54321, 20" in told.stderr
        assert "not by root (uid 0)" in told.stderr
        assert f"{ONE} was installed" not in told.stderr
    assert not kernel.place.exists()


@in_linux
@needs_kernel
def test_a_killed_installation_is_cleared_away(kernel: Pair) -> None:
    before = state()
    for after in (0.15, 0.3, 0.45, 0.6):
        half = subprocess.Popen(
            [PYTHON, "-m", "fairhaul", "kernel", "install", "reno", "--as", ONE],
            env={**os.environ, "FAIRHAUL_PLACE": str(kernel.place)},
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            half.wait(timeout=after)
        except subprocess.TimeoutExpired:
            os.killpg(half.pid, signal.SIGKILL)
            half.wait()
        removed(kernel)
        assert settled(before) == before


@in_linux
@needs_kernel
def test_defaults_and_routes_are_reported_made_and_undone(kernel: Pair) -> None:
    before = state()
    there = ("nsenter", f"--net=/run/netns/{kernel.near}")
    was = _default_of(kernel.near)
    sh("ip", "-n", kernel.near, "route", "add", "10.200.0.0/16", "via", kernel.address)
    routes = sh("ip", "-n", kernel.near, "route")
    words = ("kernel", "install", "reno", "--as", ONE, "--default", "--route", "10.200.0.0/16")

    told = kernel.fairhaul(*words, "--dry-run", before=there)
    assert told.returncode == 0, told.stderr
    assert f"would make {ONE} the default" in told.stdout
    assert f"would ip route replace 10.200.0.0/16 via {kernel.address} dev wire" in told.stdout
    assert settled(before) == before
    assert (_default_of(kernel.near), sh("ip", "-n", kernel.near, "route")) == (was, routes)

    done = kernel.fairhaul(*words, before=there)
    assert done.returncode == 0, done.stderr
    assert _default_of(kernel.near) == ONE
    assert f"congctl {ONE}" in sh("ip", "-n", kernel.near, "route")
    done = kernel.fairhaul("kernel", "remove", ONE, before=there)
    assert done.returncode == 0, done.stderr
    assert (_default_of(kernel.near), sh("ip", "-n", kernel.near, "route")) == (was, routes)
    assert settled(before) == before


@in_linux
@needs_kernel
def test_a_port_takes_the_place_of_another_on_a_route(kernel: Pair) -> None:
    there = ("nsenter", f"--net=/run/netns/{kernel.near}")
    own = ("via", kernel.address, "proto", "static", "metric", "100", "initcwnd", "20")
    sh("ip", "-n", kernel.near, "route", "add", "10.202.0.0/16", *own)
    routes = sh("ip", "-n", kernel.near, "route")

    def install(name: str, *words: str) -> str:
        route = ("--route", "10.202.0.0/16", *words)
        done = kernel.fairhaul("kernel", "install", "reno", "--as", name, *route, before=there)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    def remove(name: str) -> str:
        done = kernel.fairhaul("kernel", "remove", name, before=there)
        assert done.returncode == 0, done.stderr
        return sh("ip", "-n", kernel.near, "route")

    install(ONE)
    words = ("install", "reno", "--as", TWO, "--route", "10.202.0.0/16")
    assert "which --replace exchanges" in refused(kernel, *words, before=there)
    assert f"initcwnd 20 congctl {TWO} (now {ONE})" in install(TWO, "--replace")
    assert f"congctl {TWO}" in sh("ip", "-n", kernel.near, "route")
    # The one that was there first has the route again, or leaves it to the other.
    assert f"congctl {ONE}" in remove(TWO)
    install(TWO, "--replace")
    assert f"congctl {TWO}" in remove(ONE)
    assert remove(TWO) == routes
    sh("ip", "-n", kernel.near, "route", "del", "10.202.0.0/16")


@in_linux
@needs_kernel
def test_of_two_routes_with_one_prefix_the_metric_chooses(kernel: Pair) -> None:
    there = ("nsenter", f"--net=/run/netns/{kernel.near}")
    for metric in ("100", "200"):
        own = ("via", kernel.address, "metric", metric)
        sh("ip", "-n", kernel.near, "route", "add", "10.203.0.0/16", *own)
    routes = sh("ip", "-n", kernel.near, "route")
    words = ("install", "reno", "--as", ONE, "--route")
    several = refused(kernel, *words, "10.203.0.0/16", before=there)
    assert 'choose one of "10.203.0.0/16 metric 100", "10.203.0.0/16 metric 200"' in several
    wrong = refused(kernel, *words, "10.203.0.0/16 metric 300", before=there)
    assert "no route to exactly 10.203.0.0/16 with metric 300" in wrong

    done = kernel.fairhaul("kernel", *words, "10.203.0.0/16 metric 200", before=there)
    assert done.returncode == 0, done.stderr
    lines = sh("ip", "-n", kernel.near, "route", "show", "10.203.0.0/16").splitlines()
    assert [f"congctl {ONE}" in line for line in lines] == [False, True]
    done = kernel.fairhaul("kernel", "remove", ONE, before=there)
    assert done.returncode == 0, done.stderr
    assert sh("ip", "-n", kernel.near, "route") == routes
    for metric in ("100", "200"):
        sh("ip", "-n", kernel.near, "route", "del", "10.203.0.0/16", "metric", metric)


@in_linux
@needs_kernel
def test_a_watch_without_ports_says_so_and_ends(kernel: Pair) -> None:
    done = kernel.fairhaul("kernel", "watch")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no eBPF port is installed, so there is nothing to watch" in done.stderr


@in_linux
@needs_kernel
def test_what_stalls_short_paths_is_no_default(kernel: Pair) -> None:
    for stalling in ("eta_floor=off", "c=0/s"):
        words = ("install", "fhstcp", "--as", ONE, "--default", "--set", stalling)
        assert "stall" in refused(kernel, *words, before=_within(kernel.far))
    done = kernel.fairhaul(
        "kernel", "install", "fhstcp", "--as", ONE, "--default", before=_within(kernel.far)
    )
    assert done.returncode == 0, done.stderr
    assert "stall" in refused(kernel, "set", ONE, "eta_floor=false")
    assert "eta_floor = on" in kernel.fairhaul("kernel", "status").stdout
    removed(kernel)


@in_linux
@needs_kernel
def test_a_port_with_high_loss_is_removed(kernel: Pair) -> None:
    installed(kernel, "scalable", "--as", ONE)
    # Four packets of room at 20 Mbit/s: any controller loses a few percent there.
    narrow = ("root", "tbf", "rate", "20mbit", "burst", "3000", "limit", "6000")
    sh("ip", "netns", "exec", kernel.near, "tc", "qdisc", "add", "dev", "wire", *narrow)
    sender, receiver = kernel.flow(ONE, 30)
    told = kernel.fairhaul("kernel", "watch", "--seconds", "4", "--interval", "1")
    assert told.returncode == 0, told.stderr
    assert f"{ONE} retransmitted " in told.stderr
    assert f"remove {ONE} from the kernel" in told.stdout
    assert not kernel.place.exists()
    for process in (sender, receiver):
        process.kill()
        process.wait()
    sh("ip", "netns", "exec", kernel.near, "tc", "qdisc", "del", "dev", "wire", "root")


@in_linux
@needs_kernel
def test_a_port_with_low_loss_stays(kernel: Pair) -> None:
    installed(kernel, "scalable", "--as", ONE)
    sender, receiver = kernel.flow(ONE, 5, "-b", "50M")
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(
            [PYTHON, "-m", "fairhaul", "kernel", "watch", "--seconds", "2", "--interval", "1"],
            env={**os.environ, "FAIRHAUL_PLACE": str(kernel.place)},
            capture_output=True,
            timeout=4.5,
            check=False,
        )
    # The command line was killed, and its watching program ends with it.
    wait_for(lambda: not hosts(kernel.place))
    assert installed_port(kernel, ONE)["state"] == "installed"
    sender.communicate()
    receiver.wait()
    removed(kernel)


@needs_kernel
@pytest.mark.parametrize("microseconds", [False, True])
def test_synctcp_reads_time_stamps_in_the_unit_that_the_routes_have(
    kernel: Pair, microseconds: bool
) -> None:
    # 36 ms of queue. By default 10 ms of it are enough to react to; where it takes 100 ms it has to
    # lose packets, and would not if it took the one unit for the other.
    narrow = ("root", "tbf", "rate", "20mbit", "burst", "3000", "limit", "90000")
    sh("ip", "netns", "exec", kernel.near, "tc", "qdisc", "add", "dev", "wire", *narrow)
    program = ROOT / "tests/in_a_namespace.py"
    if microseconds:
        for name in (kernel.near, kernel.far):
            sh(*_within(name), PYTHON, program, "microseconds", "10.199.0.0/24", "wire")
    installed(kernel, "synctcp", "--as", ONE)
    # The fewest of some runs: a busy machine makes a sender lose more, never less.
    lost: dict[str, int] = {}
    for _ in range(4):
        for floor in ("10 ms", "100 ms"):
            us = 1000 * int(floor.removesuffix(" ms"))
            assert kernel.fairhaul("kernel", "set", ONE, f"qmax_floor={us}us").returncode == 0
            receiver = _sink(kernel)
            words = ("send", kernel.address, "5298", ONE, "3")
            told = json.loads(sh(*_within(kernel.near), PYTHON, program, *words))
            receiver.kill()
            receiver.wait()
            assert told["microseconds"] is microseconds
            lost[floor] = min(told["retransmitted"], lost.get(floor, told["retransmitted"]))
        if lost["100 ms"] > lost["10 ms"]:
            break
    removed(kernel)
    sh("ip", "netns", "exec", kernel.near, "tc", "qdisc", "del", "dev", "wire", "root")
    assert lost["100 ms"] > lost["10 ms"]


@needs_kernel
def test_every_port_passes_its_self_test(kernel: Pair) -> None:
    before = state()
    done = kernel.fairhaul("kernel", "verify", "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(kernel.fairhaul("kernel", "list", "--json").stdout)["ports"]
    assert json.loads(done.stdout)["works"] == [one["name"] for one in listed]
    assert settled(before) == before


@in_linux
@needs_kernel
def test_missing_root_is_reported_with_the_reasons(kernel: Pair) -> None:
    for words in (("install", "reno", "--as", ONE), ("remove", "--all"), ("verify",)):
        error = refused(kernel, *words, before=_without("all"))
        assert "needs root" in error
        assert "CAP_NET_ADMIN, to register a congestion controller" in error
    # Anybody may look.
    done = kernel.fairhaul("kernel", "status", before=_without("all"))
    assert done.returncode == 0, done.stderr
    assert "without root" in done.stderr


@in_linux
@needs_kernel
@pytest.mark.parametrize("name", NEEDED)
def test_each_capability_that_is_named_is_needed(kernel: Pair, name: str) -> None:
    error = refused(kernel, "install", "reno", "--as", ONE, before=_without(name))
    assert f"CAP_{name.upper()}, to " in error
    assert error.count("CAP_") == 1


@in_linux
@needs_kernel
def test_the_capabilities_that_are_named_are_enough(kernel: Pair) -> None:
    words = ("kernel", "install", "reno", "--as", ONE, "--namespace", kernel.far)
    done = kernel.fairhaul(*words, before=_only())
    assert done.returncode == 0, done.stderr
    done = kernel.fairhaul("kernel", "remove", "--all", before=_only())
    assert done.returncode == 0, done.stderr


@needs_kernel
def test_the_units_for_systemd_say_what_works(kernel: Pair) -> None:
    before = state()
    for file in (ROOT / "docs/deploy").glob("*.service"):
        unit = configparser.ConfigParser(interpolation=None, strict=False)
        unit.optionxform = str  # type: ignore[assignment,method-assign]
        unit.read_string(file.read_text())
        service = unit["Service"]
        only = service["CapabilityBoundingSet"].lower().split()
        assert sorted(only) == [f"cap_{name}" for name in sorted(NEEDED)]
        for line in (service[key] for key in ("ExecStart", "ExecStop") if key in service):
            program, *words = line.split()
            assert program == "/opt/fairhaul/bin/fairhaul"
            assert kernel.fairhaul(*words, "--dry-run", before=_only()).returncode == 0
    assert settled(before) == before


@in_linux
@needs_kernel
def test_a_kernel_without_types_is_refused(kernel: Pair) -> None:
    hide = 'mount -t tmpfs none /sys/kernel/btf && exec "$@"'
    before = ("unshare", "--mount", "sh", "-c", hide, "sh")
    error = refused(kernel, "install", "reno", "--as", ONE, before=before)
    assert "/sys/kernel/btf/vmlinux is missing" in error
    assert "CONFIG_DEBUG_INFO_BTF" in error


@needs_kernel
def test_a_kernel_without_controllers_as_bpf_is_refused(kernel: Pair, tmp_path: Path) -> None:
    other = tmp_path / "btf"
    _other_types(other)
    swap = f'mount --bind {other} /sys/kernel/btf/vmlinux && exec "$@"'
    before = ("unshare", "--mount", "sh", "-c", swap, "sh")
    error = refused(kernel, "install", "reno", "--as", ONE, before=before)
    assert "lacks BPF congestion controllers" in error
    assert "Linux 6.4" in error


@in_linux
@needs_kernel
def test_a_name_that_is_used_is_refused(kernel: Pair) -> None:
    installed(kernel, "reno", "--as", ONE)
    assert "is already installed" in refused(kernel, "install", "bic", "--as", ONE)
    elsewhere = Pair(
        near=kernel.near,
        far=kernel.far,
        address=kernel.address,
        place=kernel.place.parent / "other",
    )
    error = refused(elsewhere, "install", "bic", "--as", ONE)
    assert (
        f"the kernel already has a controller {ONE}, which was not installed by Fairhaul" in error
    )
    removed(kernel)
    assert "is not a valid name for a controller" in refused(
        kernel, "install", "reno", "--as", "cubic"
    )


@needs_kernel
def test_damaged_objects_are_refused(kernel: Pair, tmp_path: Path) -> None:
    whole = _object(tmp_path)
    done = kernel.fairhaul("kernel", "install", whole, "--as", ONE)
    assert done.returncode == 0, done.stderr
    removed(kernel)
    cut, foreign = tmp_path / "cut.bpf.o", tmp_path / "foreign.bpf.o"
    cut.write_bytes(whole.read_bytes()[:4000])
    foreign.write_bytes(whole.read_bytes().replace(b"fairhaul port 1", b"something else!"))
    for file, why in (
        (cut, "cannot read the object"),
        (foreign, "description in the object is damaged"),
    ):
        error = refused(kernel, "install", file, "--as", ONE)
        assert str(file) in error
        assert why in error
    assert "No such file" in refused(kernel, "install", tmp_path / "none.bpf.o", "--as", ONE)
    os.mkfifo(tmp_path / "fifo.bpf.o")
    pipe = refused(kernel, "install", tmp_path / "fifo.bpf.o", "--as", ONE)
    assert "is not a regular file" in pipe


@needs_kernel
def test_an_object_of_a_user_is_installed_as_it_is(kernel: Pair) -> None:
    cubic, dctcp = str(bpf_object("cubic")), str(bpf_object("dctcp"))
    installed(kernel, cubic, "--as", ONE, "--set", "kept=600")
    found = installed_port(kernel, ONE)
    # A constant is set when the object is loaded, and cannot be changed then.
    assert (found["port"], found["parameters"]) == ("test_cubic", {})
    assert 'no parameter "kept"' in refused(kernel, "set", ONE, "kept=700")
    sender, receiver = kernel.flow(ONE, 3, "-b", "50M")
    assert (sender.wait(), receiver.wait()) == (0, 0)
    removed(kernel)
    installed(kernel, str(documented_object()), "--as", ONE, "--set", "kept=800")
    removed(kernel)
    installed(kernel, str(documented_object("own-controllers")), "--as", ONE, "--set", "step=2")
    removed(kernel)
    assert "name one: test_dctcp, test_other" in refused(kernel, "install", dctcp)
    assert "no controller dctcp; it has test_dctcp" in refused(kernel, "install", f"{dctcp}:dctcp")
    installed(kernel, f"{dctcp}:test_dctcp", "--as", TWO)
    done = kernel.fairhaul("kernel", "set", TWO, "initial_alpha=512")
    assert done.returncode == 0, done.stderr
    found = installed_port(kernel, TWO)
    assert (found["port"], found["parameters"]) == ("test_dctcp", {"initial_alpha": 512})
    removed(kernel)


@in_linux
@needs_kernel
def test_unknown_words_get_the_nearest_valid_ones(kernel: Pair) -> None:
    assert 'did you mean "fhstcp"?' in refused(kernel, "install", "fhtcp", "--as", ONE)
    assert 'did you mean "factor"?' in refused(
        kernel, "install", "fhstcp", "--as", ONE, "--set", "facor=1"
    )
    switch = refused(kernel, "install", "fhstcp", "--as", ONE, "--set", "eta_floor=2")
    assert "eta_floor = 2: wanted on or off" in switch
    bounds = refused(kernel, "install", "fhstcp", "--as", ONE, "--set", "c=2000/s")
    assert "from 0/s to 1000/s" in bounds
    bare = refused(kernel, "install", "fhstcp", "--as", ONE, "--set", "c=20")
    assert "wanted c=20/s" in bare
    way_out = refused(kernel, "install", "reno", "--as", ONE, "--namespace", "../../etc")
    assert '"../../etc" is not a valid name of a network namespace' in way_out
    assert "unknown network namespace" in refused(
        kernel, "install", "reno", "--as", ONE, "--namespace", "nowhere"
    )
    assert "no route to exactly" in refused(
        kernel,
        "install",
        "reno",
        "--as",
        ONE,
        "--route",
        "198.18.7.0/24",
        before=_within(kernel.far),
    )
    assert "fh_nothing is not installed; no eBPF port is installed" in refused(
        kernel, "remove", "fh_nothing"
    )
    assert "is not installed" in refused(kernel, "set", "fh_nothing", "c=1")
    assert "is not installed" in refused(kernel, "watch", "fh_nothing")


@needs_kernel
@pytest.mark.usefixtures("kernel")
def test_an_acknowledgement_costs_what_it_costs_with_cubic_give_or_take() -> None:
    # The measurement itself checks that every window had 64 packets; otherwise it gives no figure.
    before = state()
    found = host.ask({"rounds": 1, "seconds": 0, "paced_seconds": 0}, program=example("cost"))
    assert settled(before) == before
    assert found["window_packets"] == 64
    rows = found["acknowledgements"]
    # These move their windows themselves, so that no route holds them at 64 packets: see below.
    names = {one["name"] for one in host.ask({"do": "list"})["ports"]} - {"bbr3", "prague"}
    assert [one["name"] for one in rows if one["is_port"]] == sorted(names)
    assert [one["name"] for one in rows if not one["is_port"]] == ["cubic", "reno"]
    for one in rows:
        assert 0.5 < one["over_cubic"]["median"] < 3, one
        # Of a microsecond or two, the programs are a part.
        assert (one["programs_ns"] is not None) is one["is_port"]
        if one["is_port"]:
            assert 1 < one["programs_ns"]["median"] < one["ns"]["median"], one


@needs_kernel
@pytest.mark.usefixtures("kernel")
def test_a_packet_of_a_paced_flow_costs_what_it_costs_with_a_paced_cubic_give_or_take() -> None:
    before = state()
    request = {"rounds": 1, "seconds": 0, "paced_seconds": 2}
    paced = host.ask(request, program=example("cost"))["paced"]
    assert settled(before) == before
    own, *ports = paced["controllers"]
    assert (own["name"], own["is_port"], own["programs_ns"]) == ("bbr", False, None)
    assert [(port["name"], port["is_port"]) for port in ports] == [("bbr3", True), ("prague", True)]
    for one in (own, *ports):
        assert 0.3 < one["over_cubic"]["median"] < 3, one
        # Work per packet can be compared only among flows with about as many packets.
        assert one["goodput_bps"]["median"] > 0.5 * paced["cubic_bps"]["median"], one
    for port in ports:
        assert 1 < port["programs_ns"] < port["ns"]["median"], port


def _sink(kernel: Pair) -> subprocess.Popen[bytes]:
    """Start a receiver that reads all and answers nothing."""
    code = (
        "import socket; s = socket.create_server(('', 5298)); c, _ = s.accept()\n"
        "while c.recv(1 << 20): pass"
    )
    receiver = subprocess.Popen([*_within(kernel.far), PYTHON, "-c", code])
    wait_for(lambda: "5298" in sh("ip", "netns", "exec", kernel.far, "ss", "-tln"))
    return receiver


def _of(text: str, key: str) -> str:
    return next(line.split()[1] for line in text.splitlines() if line.startswith(key))


def _default_of(namespace: str) -> str:
    file = "/proc/sys/net/ipv4/tcp_congestion_control"
    return sh("nsenter", f"--net=/run/netns/{namespace}", "cat", file).strip()


def _within(namespace: str) -> tuple[str, ...]:
    return ("nsenter", f"--net=/run/netns/{namespace}")


def _without(name: str) -> tuple[str, ...]:
    """Be root with all capabilities but one, or with none."""
    return ("setpriv", f"--bounding-set=-{name}", f"--inh-caps=-{name}")


def _only() -> tuple[str, ...]:
    """Be root with only the requested capabilities."""
    return ("setpriv", "--bounding-set=-all," + ",".join(f"+{name}" for name in NEEDED))


def _other_types(file: Path) -> None:
    """Write types of another program where a kernel's would stand."""
    source = file.with_suffix(".c")
    source.write_text("struct other { int field; } other;\n")
    made = file.with_suffix(".o")
    sh("clang", "-g", "-O2", "-target", "bpf", "-c", source, "-o", made)
    sh("llvm-objcopy", "--dump-section", f".BTF={file}", made)


def _object(folder: Path) -> Path:
    """Give an object as `make ports` writes it."""
    sh(example("objects"), folder)
    return folder / "reno.bpf.o"

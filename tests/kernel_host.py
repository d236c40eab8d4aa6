"""What the tests of the real kernel share: whether they can run here, the lock that they take, two
namespaces, and what is compared before and after.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from fairhaul.host import process as host
from tests.conftest import called

PYTHON = sys.executable
TABLE = "bpf_struct_ops_tcp_congestion_ops"


def without_ports() -> str | None:
    """Give the reason why this build has no eBPF ports; None if it has them."""
    if not host.PROGRAM.is_file():
        return "fairhaul-host was not built here"
    missing = host.ask({"do": "list"})["missing"]
    return None if missing is None else str(missing)


# Reading what the ports are needs no right.
WITHOUT_PORTS = without_ports()
needs_ports = pytest.mark.skipif(WITHOUT_PORTS is not None, reason=str(WITHOUT_PORTS))


def lacking() -> str | None:
    """Say why the tests of the real kernel cannot run here; nothing where they can."""
    if sys.platform != "linux":
        return "this is not Linux"
    if WITHOUT_PORTS is not None:
        return WITHOUT_PORTS
    if os.geteuid() != 0:
        return "the tests of the real kernel need root"
    if not Path("/sys/kernel/btf/vmlinux").is_file():
        return "the kernel does not tell its types (BTF)"
    for tool in ("ip", "tc", "iperf3", "bpftool", "unshare", "nsenter", "setpriv"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    return None


REASON = lacking()
needs_kernel = pytest.mark.skipif(REASON is not None, reason=str(REASON))
# Runs in Linux in simulated time, too, where any user is root (tests/test_kernel_in_linux.py).
in_linux = pytest.mark.in_linux


@contextmanager
def locked() -> Iterator[None]:
    """Exclude other tests that change global state of the kernel, Rust tests included."""
    folder = os.open("/run", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def sh(*command: str | Path, **more: Any) -> str:
    """Run a command that has to succeed, and give what it printed."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **more
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return str(done.stdout)


def state() -> dict[str, Any]:
    """Give what of the host Fairhaul could leave traces in, as far as it is Fairhaul's.

    Others mount, make namespaces and load programs meanwhile; what they do says nothing of us.
    """
    controllers = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    mounts = [line.split(" - ") for line in Path("/proc/1/mountinfo").read_text().splitlines()]
    namespaces = [line.split()[0] for line in sh("ip", "netns", "list").splitlines()]
    return {
        "controllers": [name for name in controllers if is_ours(name)],
        "default": Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(),
        # What a link keeps, pinned or not, is among them.
        "tables": _tables(),
        # The mount point, and what was mounted: `fairhaul` is the source of every mount of ours.
        "mounts": [
            left.split()[4]
            for left, right in mounts
            if right.split()[1] == "fairhaul" or "fairhaul" in left.split()[4]
        ],
        "run": [
            path.name
            for path in sorted(Path("/run").iterdir())
            if path.name == "fairhaul" or path.name == f"fairhaul-test-{os.getpid()}"
        ],
        # Of these the program makes none with a name; the tests' own have our number.
        "namespaces": [name for name in namespaces if str(os.getpid()) in name],
        "devices": [
            path.name
            for path in sorted(Path("/sys/class/net").iterdir())
            if path.name.startswith("lab") or path.name == "wire"
        ],
        "routes": [
            line
            for line in sh("ip", "route", "show", "table", "all").splitlines()
            if "congctl fh_" in line
        ],
    }


def is_ours(controller: str) -> bool:
    """Whether a controller is an eBPF port whose name no other running process has chosen.

    Tests and runs name theirs by the number of their process. One whose process has gone was left.
    """
    words = controller.split("_")
    if words[0] != "fh":
        return False
    try:
        process = int(words[1], 16)
    except (IndexError, ValueError):
        return True
    return process == os.getpid() or not Path(f"/proc/{process}").exists()


def _tables() -> list[str]:
    """Give the controllers of ours whose table of operations the kernel still holds."""
    for _ in range(20):
        # A table that another process takes out meanwhile makes it fail.
        done = subprocess.run(
            ["bpftool", "-j", "struct_ops", "dump"], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            break
        time.sleep(0.1)
    told = json.loads(done.stdout)
    tables = [one[TABLE]["data"]["name"] for one in told if TABLE in one]
    return sorted(name for name in tables if is_ours(name))


def settled(before: dict[str, Any]) -> dict[str, Any]:
    """Give the state of the host, after the kernel has freed everything that it frees later."""
    now = state()
    for _ in range(300):
        if now == before:
            break
        time.sleep(0.1)
        now = state()
    return now


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two namespaces with a wire between them, and the folder of installed eBPF ports."""

    near: str
    far: str
    address: str
    place: Path

    def fairhaul(self, *words: str | Path, before: tuple[str, ...] = ()) -> Any:
        """Call the command line, as a process if `before`, such as `setpriv`, precedes it."""
        if not before:
            with patch.dict(os.environ, FAIRHAUL_PLACE=str(self.place)):
                return called(*words)
        command = [*before, PYTHON, "-m", "fairhaul", *map(str, words)]
        environment = {**os.environ, "FAIRHAUL_PLACE": str(self.place)}
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, timeout=600
        )

    def flow(self, controller: str, seconds: int, *more: str) -> tuple[Any, Any]:
        """Start a flow from near to far: its sender and its receiver."""
        receiver = subprocess.Popen(
            ["ip", "netns", "exec", self.far, "iperf3", "-s", "-1", "-p", "5299"],
            stdout=subprocess.DEVNULL,
        )
        wait_for(lambda: "5299" in sh("ip", "netns", "exec", self.far, "ss", "-tln"))
        command = ["iperf3", "-J", "-c", self.address, "-p", "5299", "-C", controller]
        sender = subprocess.Popen(
            ["ip", "netns", "exec", self.near, *command, "-t", str(seconds), *more],
            stdout=subprocess.PIPE,
            text=True,
        )
        return sender, receiver


def hosts(place: Path) -> list[int]:
    """Give the processes of fairhaul-host that are at work with what is installed at a place."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = stat.read_text().split(" (", 1)
            environment = stat.with_name("environ").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        name, _, state_ = rest.rpartition(") ")
        if name == "fairhaul-host" and state_[0] != "Z" and str(place).encode() in environment:
            found.append(int(pid))
    return found


def wait_for(fact: Any, seconds: float = 60.0) -> None:
    """Wait until something is so; the bound is for a defect, not for a machine that is busy."""
    end = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


@contextmanager
def pair() -> Iterator[Pair]:
    """Make two namespaces, and see to it that nothing is left of them or of what was installed."""
    number = os.getpid()
    near, far, folder = f"fht{number}a", f"fht{number}b", Path(f"/run/fairhaul-test-{number}")
    made = Pair(near=near, far=far, address="10.199.0.2", place=folder / "place")
    folder.mkdir(mode=0o700)
    try:
        for name in (near, far):
            sh("ip", "netns", "add", name)
        sh(
            *("ip", "link", "add", "wire", "netns", near, "type", "veth"),
            *("peer", "name", "wire", "netns", far),
        )
        for name, address in ((near, "10.199.0.1"), (far, "10.199.0.2")):
            sh("ip", "-n", name, "address", "add", f"{address}/24", "dev", "wire")
            for device in ("lo", "wire"):
                sh("ip", "-n", name, "link", "set", device, "up")
        yield made
    finally:
        made.fairhaul("kernel", "remove", "--all")
        for name in (near, far):
            subprocess.run(["ip", "netns", "delete", name], check=False)
        folder.rmdir()

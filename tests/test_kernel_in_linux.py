"""eBPF ports in the kernel of Linux in simulated time, as any user."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fairhaul.host import process as host
from tests.compiled import compiled_by_clang
from tests.inside_linux import inside
from tests.linux_program import needs_linux

OBJECTS = Path(__file__).parent / "objects"
PYTHON = sys.executable

# A program of the kind sock_ops for the connections of a group of processes.
SOCKOPS = """\
mkdir /run/bpf /run/cgroup
mount -t bpf bpf /run/bpf && mount -t cgroup2 none /run/cgroup && mkdir /run/cgroup/flows || exit 1
bpftool prog load "$1" /run/bpf/choose || exit 1
bpftool cgroup attach /run/cgroup/flows sock_ops pinned /run/bpf/choose || exit 1
"$2" -c "$3"
echo $$ > /run/cgroup/flows/cgroup.procs
"$2" -c "$3"
"""
# Opens a connection, and prints its controller.
CONNECT = """\
import os, socket
with socket.create_connection((os.environ["FAIRHAUL_PEER"], 5001)) as flow:
    print(flow.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\\0")[0].decode())
"""
ACCEPT = (
    "import socket; server = socket.create_server(('', 5001)); server.accept(); server.accept()"
)


@needs_linux
def test_a_port_is_installed_changed_and_removed_as_any_user() -> None:
    fairhaul = f"{PYTHON} -m fairhaul kernel"
    steps = (
        f"{fairhaul} install fhstcp prague >&2 && {fairhaul} set fh_fhstcp c=5/s >&2 && "
        f"{fairhaul} status --json && {fairhaul} remove --all >&2"
    )
    done = inside("sh", "-c", steps)
    assert done.returncode == 0, done.stderr
    found, prague = json.loads(done.stdout)["ports"]
    assert (found["name"], found["state"], found["parameters"]["c"]) == (
        "fh_fhstcp",
        "installed",
        5000,
    )
    assert "remove fh_fhstcp from the kernel" in done.stderr
    # Without accurate feedback it claims nothing.
    assert prague["name"] == "fh_prague"
    assert "every connection of fh_prague is Reno, and none sends ECT(1)" in done.stderr


@needs_linux
def test_the_kernel_in_the_program_accepts_every_port() -> None:
    done = inside(PYTHON, "-m", "fairhaul", "kernel", "verify", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["works"] == [
        one["name"] for one in host.ask({"do": "list"})["ports"]
    ]


@needs_linux
def test_the_tests_of_the_kernel_pass_in_linux() -> None:
    # Those of tests/test_threats.py pass there, too, in a minute and a half.
    options = ("-m", "in_linux", "-p", "no:cacheprovider", "-q")
    done = inside(PYTHON, "-m", "pytest", *options, "tests/test_kernel.py")
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert "skipped" not in done.stdout, done.stdout


@needs_linux
def test_programs_of_the_kind_sock_ops_choose_a_controller() -> None:
    choose = compiled_by_clang(OBJECTS / "sockops.bpf.c", "sockops")
    receiver = f'{PYTHON} -c "{ACCEPT}"'
    done = inside("sh", "-c", SOCKOPS, "sh", choose, PYTHON, CONNECT, receivers=(receiver,))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["cubic", "scalable"]

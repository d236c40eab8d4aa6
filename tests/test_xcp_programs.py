"""XCP on Linux between programs: without a router, without options, and with data both ways."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import fairhaul
from tests.compiled import bpf_object
from tests.inside_linux import NETWORK, inside
from tests.kernel_host import PYTHON
from tests.linux_program import needs_linux

SECONDS = 30
# Flows at once, which the kernel paces if a rate is given: prints what arrives, and what
# comes back, by port, in bytes.
SEND = f"""\
import os, socket, struct, sys, threading, time

def send(name, port):
    flow = socket.socket()
    flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    if "PACED" in os.environ:
        flow.setsockopt(socket.SOL_SOCKET, 47, int(os.environ["PACED"]))
    flow.connect((os.environ["FAIRHAUL_PEER"], port))
    end, back = time.monotonic() + {SECONDS}, [0]

    def receive():
        while data := flow.recv(1 << 16):
            back[0] += len(data)

    threading.Thread(target=receive, daemon=True).start()
    while time.monotonic() < end:
        flow.send(bytes(20_000))
    info = flow.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 200)
    print(port, struct.unpack_from("Q", info, 120)[0], back[0], flush=True)

threads = [
    threading.Thread(target=send, args=(name, 5001 + number))
    for number, name in enumerate(sys.argv[1:])
]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
os._exit(0)
"""
# With the name of a controller, it sends, too.
RECEIVE = """\
import socket, sys, threading

flow = socket.create_server(("", int(sys.argv[1]))).accept()[0]

def send(name):
    flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    if sys.argv[3:]:
        flow.setsockopt(socket.SOL_SOCKET, 47, int(sys.argv[3]))
    while True:
        flow.send(bytes(20_000))

[threading.Thread(target=send, args=(name,), daemon=True).start() for name in sys.argv[2:3]]
while flow.recv(1 << 16):
    pass
"""
INSTALL = f"{PYTHON} -m fairhaul kernel install xcp"
# A cgroup in which no connection of the test is: at the receiver no program sends answers.
ELSEWHERE = (
    "mkdir /run/cgroup && mount -t cgroup2 none /run/cgroup && mkdir /run/cgroup/others && "
    f"{INSTALL} --cgroup /run/cgroup/others"
)


@dataclass(frozen=True, kw_only=True)
class Passed:
    """What flows have sent, by port, bytes; and what became of their packets."""

    there: list[int]
    back: list[int]
    dropped: int
    arrived: int
    without_request: int

    @property
    def loss(self) -> float:
        """The fraction of packets that were dropped."""
        return self.dropped / (self.dropped + self.arrived)


def passed(
    *controllers: str,
    install: str = INSTALL,
    network: str = NETWORK,
    back: str = "",
    paced: str = "",
) -> Passed:
    """Run flows along a path, with the port installed by a command.

    Args:
        controllers: those of the flows, from the sender.
        install: the command.
        network: the scenario of the path.
        back: the controller with which the receiver sends, too.
        paced: the largest rate of a sender, bytes/s, at which the kernel paces it.
    """
    with TemporaryDirectory() as folder:
        send, receive = Path(folder) / "send.py", Path(folder) / "receive.py"
        send.write_text(SEND)
        receive.write_text(RECEIVE)
        ports = range(5001, 5001 + len(controllers))
        receivers = tuple(f"{PYTHON} {receive} {port} {back} {paced}" for port in ports)
        pacing = f"PACED={paced} " if paced else ""
        line = f"{install} >&2 && {pacing}{PYTHON} {send} $*"
        done = inside("sh", "-c", line, "sh", *controllers, receivers=receivers, network=network)
    assert done.returncode == 0, done.stderr
    amounts = sorted([int(word) for word in line.split()] for line in done.stdout.splitlines())

    def counted(text: str) -> int:
        found = re.search(text, done.stderr)
        return int(found[1]) if found else 0

    return Passed(
        there=[there for _, there, _ in amounts],
        back=[back for _, _, back in amounts],
        dropped=counted(r"(\d+) were dropped on the path"),
        arrived=counted(r"(\d+) packets arrived"),
        without_request=counted(r"(\d+) packets with data had no room"),
    )


@cache
def two_of_reno() -> Passed:
    return passed("reno", "reno", install="true")


def stripped() -> str:
    """Give a command that installs XCP behind a device that removes its options."""
    device = "$(ip -o route get $FAIRHAUL_PEER | sed 's/.* dev \\([^ ]*\\).*/\\1/')"
    return f"ip link set dev {device} xdpgeneric obj {bpf_object('strip_xcp')} sec xdp && {INSTALL}"


@needs_linux
@pytest.mark.parametrize(
    "install",
    [lambda: INSTALL, lambda: ELSEWHERE, stripped],
    ids=["with a program at the receiver", "without one", "with answers removed on the way"],
)
def test_where_no_router_answers_it_is_reno(install: Callable[[], str]) -> None:
    found = passed("fh_xcp", "reno", install=install())
    asking, plain = found.there
    assert 0.4 <= asking / (asking + plain) <= 0.6
    assert found.loss <= 2 * two_of_reno().loss


ROUTER = NETWORK.replace('"droptail"', '"xcp"')
# Bytes of a packet with data, of its payload beside time stamps, a request and an answer, and of an
# acknowledgement without data.
DATA, PAYLOAD, ACK = 1000, 924, 60


def used(found: Passed) -> float:
    """Give how much of the link both ways of a flow use on average, headers included."""
    data = sum((*found.there, *found.back)) / PAYLOAD
    carried = data * DATA + (found.arrived - data) * ACK
    return carried * 8 / SECONDS / (2 * 20e6)


@needs_linux
def test_data_both_ways_where_packets_without_room_and_losses_cost_little() -> None:
    lossy = ROUTER.replace("[bottleneck]", "[bottleneck]\nloss = 0.01\nreverse_loss = 0.01")
    found = passed("fh_xcp", network=lossy, back="fh_xcp")
    # Beside a SACK block there is room for a request or for an answer.
    assert found.without_request > 1000
    head, table, rest = lossy.partition("[[flow]]")
    flow = table + rest.replace('"cubic"', '"xcp"')
    opposite = flow.replace('"A"', '"B"') + 'direction = "reverse"\n'
    head = head.replace('"plain"', '"linux-tcp"').replace('"10 s"', f'"{SECONDS} s"')
    figures = fairhaul.run(head + flow + opposite, seeds=1).measures[0]
    simulated = sum(link["utilization"] for link in figures["links"]) / 2
    assert used(found) >= 0.9 * simulated


@needs_linux
def test_pacing_fills_the_link_both_ways() -> None:
    def both_ways(paced: str) -> float:
        return used(passed("fh_xcp", network=ROUTER, back="fh_xcp", paced=paced))

    assert both_ways("12500000") >= 0.9
    # Without it packets leave in clusters, behind which those of the other way wait. The programs
    # of a busy machine write less regularly, which spreads them (0.82 in one run).
    assert any(both_ways("") < 0.8 for _ in range(3))

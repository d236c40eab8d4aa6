"""The commands that carry out the changes of an advice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairhaul.host.buffers import LARGEST_WINDOW, raised
from fairhaul.host.deployable import Way, install_command, pacing_command, way_of
from fairhaul.host.process import Refused
from fairhaul.scenario.profiles import TUNED
from fairhaul.studies.advice.hosts import PACKET_BYTES, Hosts, name_of

if TYPE_CHECKING:
    from fairhaul.studies.advice.results import Advice

MEBIBYTE = 1 << 20
# Half of a socket buffer is for the kernel's own records.
RECORDS = 2
# While a lost packet is repaired, the receiver holds up to a second window behind it.
WINDOWS = 2
# Headers of IPv4 and ICMP, which `ping -s` does not count.
ICMP_HEADERS = 28


def commands(advice: Advice) -> list[tuple[str, str]]:
    """Give the commands of what is recommended, each with what it is for; none for no change."""
    hosts, now = advice.winner.candidate.hosts, advice.now.candidate.hosts
    found = []
    if (hosts.send_buffer, hosts.receive_buffer) != (now.send_buffer, now.receive_buffer):
        found.append(_buffers(advice))
    if (hosts.pacing, hosts.cap) != (now.pacing, now.cap) and hosts.pacing is not None:
        most_bps = hosts.cap_bps(advice.question.rate_bps)
        pace = f"sudo {pacing_command(hosts.pacing, most_bps)}"
        each = "" if most_bps is None else ", and a limit of each connection"
        found.append((f"on the sender: pacing{each}, at the device of the route", pace))
    if hosts.packet_bytes != now.packet_bytes:
        found += _packets(hosts.packet_bytes)
    if (hosts.controller, hosts.streams) != (now.controller, now.streams):
        found += _controller(advice, hosts)
    elif found:
        found.append(("a test with iperf3", f"iperf3 -c FAR{_parallel(hosts)} -t 60"))
    return found


def buffer_bytes(advice: Advice) -> int:
    """Give the socket buffers with which no connection is limited, in whole mebibytes.

    The runs had no limit either. Any connection may at times have all that the path holds.
    """
    needed = RECORDS * WINDOWS * advice.path_bytes
    return min(LARGEST_WINDOW, math.ceil(needed / MEBIBYTE) * MEBIBYTE)


def _buffers(advice: Advice) -> tuple[str, str]:
    """Give the command that raises the limits of buffers of this host, and what it is for."""
    least = buffer_bytes(advice)
    limits = raised(least)
    of = "the path"
    if least == LARGEST_WINDOW:
        of = "the largest window of TCP; the runs had no limit"
    if not limits.before:
        return f"on both hosts: buffers of at least {least} bytes, for {of}", ""
    if not limits.command:
        return (
            f"on the other host, if its limits are smaller: larger buffers, for {of}; those of "
            "this host suffice",
            f'sudo sysctl -w net.core.rmem_max={least} net.ipv4.tcp_rmem="4096 131072 {least}"',
        )
    return (
        f"on this host: larger buffers, for {of} (now {limits.text()}); "
        "on the other host the same, where its values are smaller",
        limits.command,
    )


def _packets(size: int) -> list[tuple[str, str]]:
    """Give the commands for packets of another size, of which the path must be asked first."""
    ping = f"ping -c 3 -M do -s {size - ICMP_HEADERS} FAR"
    found = [("on both hosts: the size of packets", f"sudo ip link set dev DEVICE mtu {size}")]
    if size > PACKET_BYTES:
        found.append(("whether the whole path carries them; if not, undo it", ping))
    return found


def _controller(advice: Advice, hosts: Hosts) -> list[tuple[str, str]]:
    """Give the commands for a controller, or a number of connections."""
    name, way, found = name_of(hosts.controller), way_of(hosts.controller, advice.ways), []
    if hosts.controller == advice.now.candidate.hosts.controller:
        return [(f"{hosts.streams} connections, here with iperf3", _iperf3(hosts, name))]
    if way is Way.PORT:
        try:
            install = f"sudo {install_command(hosts.controller, TUNED)}"
            found.append(("on the sender: the controller", install))
        except Refused as refused:
            return [(f"on the sender: {name} cannot be installed as simulated: {refused}", "")]
        name = f"fh_{name}"
    elif way is Way.NONE:
        return [(f"on the sender: {name} is not available on this host", "")]
    each = f", {hosts.streams} for each transfer" if hosts.streams > 1 else ""
    return [
        *found,
        ("a test with iperf3", _iperf3(hosts, name)),
        (
            f"or for all connections to the other site{each}",
            f"sudo ip route change PREFIX via GATEWAY dev DEVICE congctl {name}",
        ),
    ]


def _iperf3(hosts: Hosts, controller: str) -> str:
    return f"iperf3 -c FAR -C {controller}{_parallel(hosts)} -t 60"


def _parallel(hosts: Hosts) -> str:
    return f" -P {hosts.streams}" if hosts.streams > 1 else ""

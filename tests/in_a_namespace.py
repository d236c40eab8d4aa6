"""What tests run inside a network namespace, as a program of its own.

    python in_a_namespace.py microseconds ADDRESS/LENGTH DEVICE
    python in_a_namespace.py send ADDRESS PORT CONTROLLER SECONDS

The first gives the route to a network the feature `tcp_usec_ts` (Linux 6.7), which `ip` of Debian
12 does not know. The second sends as fast as it may, and prints what the kernel tells of the flow.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import struct
import sys
import time

NEW_ROUTE = 24
REQUEST, ACKNOWLEDGE, REPLACE, CREATE = 0x1, 0x4, 0x100, 0x400
MAIN_TABLE, BY_BOOT, LINK_SCOPE, UNICAST = 254, 3, 253, 1
DESTINATION, DEVICE, METRICS, FEATURES, USEC_TS = 1, 4, 8, 12, 1 << 4
TCP_INFO, USEC_OPTION = 11, 64


def attribute(kind: int, value: bytes) -> bytes:
    """Give an attribute of a netlink message, which fills whole words."""
    length = 4 + len(value)
    return struct.pack("HH", length, kind) + value + bytes(-length % 4)


def microseconds(network: str, device: str) -> None:
    """Replace the route to a network by one with the feature."""
    to = ipaddress.ip_network(network)
    head = struct.pack(
        "BBBBBBBBI",
        *(socket.AF_INET, to.prefixlen, 0, 0, MAIN_TABLE, BY_BOOT, LINK_SCOPE, UNICAST, 0),
    )
    metrics = attribute(FEATURES, struct.pack("I", USEC_TS))
    body = head + attribute(DESTINATION, to.network_address.packed)
    body += attribute(DEVICE, struct.pack("I", socket.if_nametoindex(device)))
    body += attribute(METRICS, metrics)
    flags = REQUEST | ACKNOWLEDGE | REPLACE | CREATE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
        netlink.send(struct.pack("IHHII", 16 + len(body), NEW_ROUTE, flags, 1, 0) + body)
        (error,) = struct.unpack_from("i", netlink.recv(4096), 16)
        if error:
            raise OSError(-error, "the route was not replaced")


def send(address: str, port: int, controller: str, seconds: float) -> None:
    """Send, and print the state that the kernel reports at the end."""
    with socket.create_connection((address, port)) as flow:
        flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            flow.sendall(bytes(1 << 16))
        info = flow.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 256)
        options, (srtt_us,) = info[5], struct.unpack_from("I", info, 68)
        (retransmitted,) = struct.unpack_from("I", info, 100)
        told = {
            "microseconds": bool(options & USEC_OPTION),
            "srtt_ms": srtt_us / 1000,
            "retransmitted": retransmitted,
        }
        print(json.dumps(told))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["microseconds", network, device]:
            microseconds(network, device)
        case ["send", address, port, controller, seconds]:
            send(address, int(port), controller, float(seconds))
        case _:
            sys.exit(__doc__)

"""The transfers of a trial in a test, as programs inside of network namespaces.

    python trial_traffic.py serve
    python trial_traffic.py send ADDRESS PEERS COUNT SIZE AT_A_TIME [CGROUP [SOURCE]]

The first reads what arrives at port 5001, from any number of connections. The second makes COUNT
transfers of SIZE bytes to PEERS addresses in turn, from ADDRESS on, AT_A_TIME at a time, and prints
the peer and the controller of each connection. With SOURCE the own address changes, too.
"""

from __future__ import annotations

import ipaddress
import json
import selectors
import socket
import sys
from pathlib import Path

PORT = 5001
BLOCK = bytes(1 << 16)


def serve() -> None:
    """Read from every connection until its end."""
    ready = selectors.DefaultSelector()
    listener = socket.create_server(("", PORT), backlog=1000)
    ready.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            flow = key.fileobj
            assert isinstance(flow, socket.socket)
            if flow is listener:
                ready.register(listener.accept()[0], selectors.EVENT_READ)
            elif not flow.recv(1 << 20):
                ready.unregister(flow)
                flow.close()


def send(
    first: str, peers: int, count: int, size: int, at_a_time: int, source: str | None
) -> list[tuple[str, str]]:
    """Make the transfers, and give the peers and the controllers of their connections."""
    ready, controllers = selectors.DefaultSelector(), list[tuple[str, str]]()
    numbers = iter(range(count))
    open_flows = 0

    def begin() -> int:
        if (number := next(numbers, None)) is None:
            return 0
        peer = str(ipaddress.ip_address(first) + number % peers)
        own = source and (str(ipaddress.ip_address(source) + number % peers), 0)
        flow = socket.create_connection((peer, PORT), source_address=own or None)
        flow.setblocking(False)
        name = flow.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        controllers.append((peer, name.split(b"\0")[0].decode()))
        ready.register(flow, selectors.EVENT_WRITE, size)
        return 1

    for _ in range(at_a_time):
        open_flows += begin()
    while open_flows:
        for key, _ in ready.select():
            flow, left = key.fileobj, key.data
            assert isinstance(flow, socket.socket)
            if left := left - (flow.send(BLOCK[:left]) if left else 0):
                ready.modify(flow, selectors.EVENT_WRITE, left)
                continue
            ready.unregister(flow)
            flow.shutdown(socket.SHUT_WR)
            flow.close()
            open_flows += begin() - 1
    return controllers


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve"]:
            serve()
        case ["send", first, peers, count, size, at_a_time, *more]:
            for folder in more[:1]:
                (Path(folder) / "cgroup.procs").write_text("0")
            numbers = (int(peers), int(count), int(size), int(at_a_time))
            print(json.dumps(send(first, *numbers, *more[1:] or (None,))))
        case _:
            sys.exit(__doc__)

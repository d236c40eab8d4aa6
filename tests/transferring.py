"""A transfer over the loopback device for a number of seconds, as a program of its own.

    python transferring.py SECONDS [MOST]

The receiver reads at most MOST bytes a second, so that its window limits the sender.
"""

from __future__ import annotations

import socket
import sys
import threading
import time


def transfer(seconds: float, most: float = float("inf")) -> None:
    """Send to a socket of this process, which reads, until the time is over."""
    end_s = time.monotonic() + seconds
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
    threading.Thread(target=_send, args=(sender,), daemon=True).start()
    begin_s, received = time.monotonic(), 0
    while (now_s := time.monotonic()) < end_s:
        received += len(receiver.recv(1 << 16))
        time.sleep(max(0.0, received / most - (now_s - begin_s)))


def _send(sender: socket.socket) -> None:
    while True:
        sender.sendall(bytes(1 << 16))


if __name__ == "__main__":
    transfer(*map(float, sys.argv[1:]))

"""The programs at the ends of a path: a sender that is limited as planned, and a receiver.

`guest.py send PLAN FOLDER` runs at the sender: it captures headers, prints `ss` once a second, and
sends; `guest.py receive PLAN` runs at the receiver. PLAN is a JSON object. It needs no package.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PORT = 5201
DEVICE = "lab0"
HEADER_BYTES = 128
# Numbers that the module socket lacks: SO_RCVBUFFORCE, SO_TIMESTAMPNS, SO_MAX_PACING_RATE.
FORCED_BUFFER, TIME_STAMP, PACING = 33, 35, 47
# Where the clocks are in tcp_info (linux/tcp.h): busy, receive window and send buffer, in us.
CLOCKS, CLOCKS_AT = ("busy", "receive_window", "send_buffer"), 168
LOOK_S = 1.0
BUFFERS = Path("/proc/sys/net/ipv4/tcp_wmem")


def _send(plan: dict[str, Any], folder: Path) -> None:
    peer = os.environ["FAIRHAUL_PEER"]
    if "most_send" in plan:
        BUFFERS.write_text(f"4096 16384 {plan['most_send']}")
    children = [_child(lambda: _capture(folder)), _child(lambda: _look(peer, folder))]
    time.sleep(0.2)
    with socket.socket() as end:
        if "send_buffer" in plan:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, plan["send_buffer"])
        if "pacing" in plan:
            end.setsockopt(socket.SOL_SOCKET, PACING, plan["pacing"])
        end.connect((peer, PORT))
        begin = time.monotonic()
        if "every" in plan:
            _write_often(end, plan)
        else:
            _write_always(end, plan)
        took = time.monotonic() - begin
        info = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        times = struct.unpack_from("3Q", info, CLOCKS_AT)
        clocks = {name: of / 1e6 for name, of in zip(CLOCKS, times, strict=True)}
        for child in children:
            os.kill(child, 15)
            os.waitpid(child, 0)
    (folder / "clocks.json").write_text(json.dumps({"seconds": took, **clocks}))


def _write_always(end: socket.socket, plan: dict[str, Any]) -> None:
    """Write as soon as the send buffer takes more."""
    data = bytes(plan["write"])
    stop = time.monotonic() + plan["seconds"]
    end.setblocking(False)
    ready = select.poll()
    ready.register(end, select.POLLOUT)
    while time.monotonic() < stop:
        ready.poll(1000)
        with contextlib.suppress(BlockingIOError):
            end.send(data)


def _write_often(end: socket.socket, plan: dict[str, Any]) -> None:
    """Write once in each `every` seconds."""
    data, begin = bytes(plan["write"]), time.monotonic()
    for number in range(1, round(plan["seconds"] / plan["every"]) + 1):
        end.sendall(data)
        time.sleep(max(0.0, begin + number * plan["every"] - time.monotonic()))


def _child(does: Any) -> int:
    if child := os.fork():
        return child
    does()
    os._exit(0)


def _capture(folder: Path) -> None:
    """Write each packet of the device as pcap, with its time of the kernel."""
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3)) as device,
        (folder / "sender.pcap").open("wb", buffering=0) as file,
    ):
        device.bind((DEVICE, 0))
        device.setsockopt(socket.SOL_SOCKET, FORCED_BUFFER, 1 << 27)
        device.setsockopt(socket.SOL_SOCKET, TIME_STAMP, 1)
        # Nanoseconds, packets that begin with the header of IP.
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, HEADER_BYTES, 101))
        while True:
            packet, said, _, _ = device.recvmsg(HEADER_BYTES, 64)
            seconds, nanoseconds = struct.unpack("qq", said[0][2])
            (size,) = struct.unpack_from(">H", packet, 2)
            file.write(struct.pack("<IIII", seconds, nanoseconds, len(packet), size) + packet)


def _look(peer: str, folder: Path) -> None:
    """Print what `ss` says once a second, as the page of explain says."""
    with (folder / "sender.txt").open("wb") as file:
        while True:
            time.sleep(LOOK_S)
            subprocess.run(["ss", "-tinm", "dst", peer], stdout=file, check=True)


def _receive(plan: dict[str, Any]) -> None:
    with socket.socket() as listener:
        if "receive_buffer" in plan:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, plan["receive_buffer"])
        listener.bind(("", PORT))
        listener.listen()
        end, _ = listener.accept()
        read = 0
        begin = time.monotonic()
        while size := len(end.recv(1 << 16)):
            read += size
            if "reads" in plan:
                time.sleep(max(0.0, begin + read / plan["reads"] - time.monotonic()))


if __name__ == "__main__":
    if sys.argv[1] == "send":
        _send(json.loads(sys.argv[2]), Path(sys.argv[3]))
    else:
        _receive(json.loads(sys.argv[2]))

"""Packet captures that tests make: a sender with a window over a path that drops, at the sender."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MSS = 1448
# A frame of a full packet with its check sequence, in bytes.
FRAME = MSS + 70
SENDER, RECEIVER = "10.0.0.1", "10.0.0.2"

# Says of a packet (its time in seconds, its bytes) how long it waits, or that it is dropped (None).
Bottleneck = Callable[[float, int], float | None]


def policer(rate_bps: float, burst: float) -> Bottleneck:
    """Drop what finds too few tokens."""
    state = [burst, 0.0]

    def decide(now: float, size: int) -> float | None:
        state[0] = min(burst, state[0] + rate_bps / 8 * (now - state[1]))
        state[1] = now
        if state[0] < size:
            return None
        state[0] -= size
        return 0.0

    return decide


def queue(rate_bps: float, buffer: float, burst: float = 0.0) -> Bottleneck:
    """Let packets wait, up to a buffer; the first `burst` bytes do not wait."""
    state = [0.0, 0.0]

    def decide(now: float, size: int) -> float | None:
        state[0] = max(0.0, state[0] - rate_bps / 8 * (now - state[1]))
        state[1] = now
        if state[0] + size > burst + buffer:
            return None
        state[0] += size
        return max(0.0, state[0] - burst) / (rate_bps / 8)

    return decide


def losing(drops: Callable[[int], bool]) -> Bottleneck:
    """Drop packets by their number."""
    count = [0]

    def decide(_now: float, _size: int) -> float | None:
        count[0] += 1
        return None if drops(count[0]) else 0.0

    return decide


@dataclass(kw_only=True)
class Transfer:
    """A sender that sends `window` packets in each round trip, `gap_s` after one another.

    After `chunk` packets it pauses for `pause_s`. The window is halved by a loss if `halves`.
    `announced` is the window in headers; that of the handshake has no scale, and is the largest.
    """

    packets: int
    window: int = 40
    rtt_s: float = 0.05
    gap_s: float = 0.0005
    chunk: int = 0
    pause_s: float = 0.0
    halves: bool = False
    port: int = 5001
    announced: int = 65535
    scale: int = 7
    rows: list[tuple[float, bytes]] = field(default_factory=list)
    dropped: set[float] = field(default_factory=set)
    passed: dict[float, float] = field(default_factory=dict)
    heard_s: float = 0.0

    def run(self, bottleneck: Bottleneck) -> Transfer:
        """Send everything over a bottleneck."""
        self._handshake()
        waiting: list[int] = []
        fresh, now, window = 0, 2 * self.rtt_s, self.window
        received: set[int] = set()
        while fresh < self.packets or waiting:
            batch, waiting = waiting[:window], waiting[window:]
            room = window - len(batch)
            limit = self.packets
            if self.chunk:
                ended = fresh % self.chunk == 0 and batch
                limit = fresh if ended else min(limit, (fresh // self.chunk + 1) * self.chunk)
            new = list(range(fresh, min(limit, fresh + room)))
            fresh += len(new)
            arrivals: list[tuple[float, int]] = []
            missing: list[int] = []
            for at, number in enumerate([*batch, *new]):
                time = now + at * self.gap_s
                self._data(time, number)
                waits = bottleneck(time, FRAME)
                if waits is None:
                    missing.append(number)
                    self.dropped.add(time)
                else:
                    self.passed[time] = time + waits
                    arrivals.append((time + self.rtt_s + waits, number))
            for time, number in sorted(arrivals):
                received.add(number)
                self._ack(time, received)
            waiting = sorted([*missing, *waiting])
            if self.halves:
                window = max(2, window // 2) if missing else min(window + 1, self.window)
            self.heard_s = last = max([now + self.rtt_s, *(time for time, _ in arrivals)])
            now = last + 0.0001
            if self.chunk and not waiting and fresh % self.chunk == 0 and fresh < self.packets:
                now += self.pause_s
        return self

    def at_the_receiver(self) -> Transfer:
        """Give the same at the receiver: without what was dropped, half a round trip later."""
        rows = []
        for time, row in self.rows:
            far = row[26:30] == bytes(map(int, RECEIVER.split(".")))
            if far:
                rows.append((time - self.rtt_s / 2 + 5e-5, row))
            elif time not in self.dropped:
                rows.append((self.passed.get(time, time) + self.rtt_s / 2, row))
        self.rows = rows
        return self

    def _handshake(self) -> None:
        options = b"\x02\x04\x05\xb4\x04\x02\x08\x0a" + bytes(8) + b"\x01\x03\x03"
        scale = bytes([self.scale])
        self.rows.append((0.0, self._packet(0, 0, 0x02, options + scale, far=False)))
        answer = self._packet(0, 1, 0x12, options + scale, far=True)
        self.rows.append((self.rtt_s, answer))
        self.rows.append((self.rtt_s + 1e-5, self._packet(1, 1, 0x10, self._stamps(0), far=False)))

    @staticmethod
    def _stamps(now: float, echo: float = 0.0) -> bytes:
        return b"\x01\x01\x08\x0a" + struct.pack(">II", int(1000 * now) + 1, int(1000 * echo) + 1)

    def _data(self, now: float, number: int) -> None:
        sequence = 1 + number * MSS
        head = self._packet(
            sequence, 1, 0x10, self._stamps(now, self.heard_s), far=False, payload=MSS
        )
        self.rows.append((now, head))

    def _ack(self, now: float, received: set[int]) -> None:
        edge = self.__dict__.setdefault("edge", 0)
        while edge in received:
            received.discard(edge)
            edge += 1
        self.__dict__["edge"] = edge
        blocks: list[tuple[int, int]] = []
        for number in sorted(received):
            if blocks and blocks[-1][1] == number:
                blocks[-1] = (blocks[-1][0], number + 1)
            else:
                blocks.append((number, number + 1))
        shown = blocks[-3:]
        options = self._stamps(now, max(0.0, now - self.rtt_s))
        if shown:
            options += b"\x01\x01\x05" + bytes([2 + 8 * len(shown)])
            for first, last in shown:
                options += struct.pack(">II", 1 + first * MSS, 1 + last * MSS)
        self.rows.append((now, self._packet(1, 1 + edge * MSS, 0x10, options, far=True)))

    def _packet(
        self, sequence: int, ack: int, flags: int, options: bytes, *, far: bool, payload: int = 0
    ) -> bytes:
        addresses = [bytes(map(int, name.split("."))) for name in (SENDER, RECEIVER)]
        ports = [self.port, 443]
        if far:
            addresses.reverse()
            ports.reverse()
        header = (5 + len(options) // 4) << 4
        window = 65535 if flags & 2 else self.announced
        tcp = struct.pack(">HHIIBBHHH", *ports, sequence, ack, header, flags, window, 0, 0)
        total = 20 + len(tcp) + len(options) + payload
        ip = struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0x4000, 64, 6, 0) + b"".join(addresses)
        head = bytes(12) + b"\x08\x00" + ip + tcp + options
        return head + struct.pack(">I", payload)


def pcap(transfers: Sequence[Transfer], *, nanoseconds: bool = False) -> bytes:
    """Put the packets of transfers into a pcap file; their data is cut off."""
    rows = sorted((row for of in transfers for row in of.rows), key=lambda row: row[0])
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    unit = 1e9 if nanoseconds else 1e6
    out = [struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 96, 1)]
    for time, row in rows:
        head, payload = row[:-4], struct.unpack(">I", row[-4:])[0]
        second = int(time)
        fraction = int((time - second) * unit)
        out.append(struct.pack("<IIII", second, fraction, len(head), len(head) + payload) + head)
    return b"".join(out)


def pcapng(transfer: Transfer) -> bytes:
    """Put the packets of a transfer into a pcapng file with nanoseconds."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        size = len(body) + 12
        return struct.pack("<II", kind, size) + body + struct.pack("<I", size)

    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    interface = struct.pack("<HHI", 1, 0, 96) + struct.pack("<HHBxxxHH", 9, 1, 9, 0, 0)
    out = [block(0x0A0D0D0A, section), block(1, interface)]
    for time, row in sorted(transfer.rows, key=lambda row: row[0]):
        head, payload = row[:-4], struct.unpack(">I", row[-4:])[0]
        units = int(time * 1e9)
        fields = (0, units >> 32, units & 0xFFFFFFFF, len(head), len(head) + payload)
        out.append(block(6, struct.pack("<IIIII", *fields) + head))
    return b"".join(out)

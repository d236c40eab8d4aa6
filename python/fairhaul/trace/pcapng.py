"""A capture at the sender's interface, in the pcapng format, for Wireshark and tshark.

Headers are IPv4 and TCP with the sizes of the model: 40 bytes, no timestamps. The requests that
open a connection carry the options that the rest relies on (segment size, window scale, SACK),
and an acknowledgement with reports carries its SACK blocks, so these are longer here than in the
model. The payload is cut off, as a capture of headers does.

Unlike the model, TCP acknowledges the answer to the request by a packet of its own; it is not in
the capture. Addresses are of the range for documentation (RFC 5737).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairhaul.trace import runs

if TYPE_CHECKING:
    import polars as pl

SENDER, RECEIVER = bytes([192, 0, 2, 1]), bytes([198, 51, 100, 1])
PORT = 5001
FIRST_CLIENT_PORT = 10_000
HEADER = 40
SYN, PSH, ACK = 0x02, 0x08, 0x10
WINDOW_SCALE = 14
RAW_IP = 101
NANOSECONDS = 9
# Maximum segment size, then SACK permitted and window scale, padded to four bytes.
OPTIONS = struct.pack("!BBHBBBBBBBB", 2, 4, 0, 1, 1, 4, 2, 1, 3, 3, WINDOW_SCALE)


def capture(table: pl.DataFrame, packet_bytes: int) -> bytes:
    """Give the capture of a trace whose full data packets have `packet_bytes` on the wire."""
    payload = packet_bytes - HEADER
    parts = [_section(), _interface()]
    seen = table.filter(table["what"].cast(str).is_in(["sent", "ack_received"]))
    columns = ("t_s", "what", "connection", "number", "bytes", "opens", "sack")
    for t_s, what, connection, number, size, opens, sack in seen.select(columns).iter_rows():
        port = FIRST_CLIENT_PORT + connection % 50_000
        if what == "sent":
            packet, length = _data(port, number, size, opens, payload)
        else:
            packet, length = _ack(port, number, opens, sack, payload)
        parts.append(_enhanced(t_s, packet, length))
    return b"".join(parts)


@dataclass(frozen=True, kw_only=True)
class _Segment:
    """A TCP segment between the sender, at `port`, and its receiver."""

    port: int
    sequence: int
    acknowledged: int
    flags: int
    options: bytes = b""
    carried: int = 0


def _data(port: int, number: int, size: int, opens: bool, payload: int) -> tuple[bytes, int]:
    """Give the headers of what the sender sends, and the packet's whole length."""
    if opens:
        segment = _Segment(port=port, sequence=0, acknowledged=0, flags=SYN, options=_open(payload))
    else:
        segment = _Segment(
            port=port,
            sequence=1 + number * payload,
            acknowledged=1,
            flags=ACK | PSH,
            carried=size - HEADER,
        )
    return _packet(segment, outgoing=True)


def _ack(port: int, number: int, opens: bool, sack: str, payload: int) -> tuple[bytes, int]:
    """Give the headers of what the sender receives, and the packet's whole length."""
    if opens:
        options = _open(payload)
        segment = _Segment(port=port, sequence=0, acknowledged=1, flags=SYN | ACK, options=options)
    else:
        segment = _Segment(
            port=port,
            sequence=1,
            acknowledged=1 + number * payload,
            flags=ACK,
            options=_blocks(sack, payload),
        )
    return _packet(segment, outgoing=False)


def _open(payload: int) -> bytes:
    return OPTIONS[:2] + struct.pack("!H", payload) + OPTIONS[4:]


def _blocks(sack: str, payload: int) -> bytes:
    """Give the SACK option for the `sack` column."""
    edges = [1 + edge * payload for run in runs(sack) for edge in run]
    if not edges:
        return b""
    packed = b"".join(struct.pack("!I", edge & 0xFFFFFFFF) for edge in edges)
    return struct.pack("!BBBB", 1, 1, 5, 2 + len(packed)) + packed


def _packet(segment: _Segment, *, outgoing: bool) -> tuple[bytes, int]:
    """Give IPv4 and TCP headers, and the whole length.

    The TCP checksum is left to the hardware, as on a real host.
    """
    length = HEADER + len(segment.options) + segment.carried
    hosts = (SENDER, RECEIVER) if outgoing else (RECEIVER, SENDER)
    ports = (segment.port, PORT) if outgoing else (PORT, segment.port)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 0, 0x4000, 64, 6, 0, *hosts)
    ip = ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:]
    tcp = struct.pack(
        "!HHIIBBHHH",
        *ports,
        segment.sequence & 0xFFFFFFFF,
        segment.acknowledged & 0xFFFFFFFF,
        (20 + len(segment.options)) // 4 << 4,
        segment.flags,
        0xFFFF,
        0,
        0,
    )
    return ip + tcp + segment.options, length


def _checksum(header: bytes) -> int:
    """Give the checksum of an IP header [RFC 1071]."""
    total: int = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def _block(kind: int, body: bytes) -> bytes:
    body += b"\0" * (-len(body) % 4)
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + struct.pack("<I", length)


def _section() -> bytes:
    return _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def _interface() -> bytes:
    resolution = struct.pack("<HHB3xHH", 9, 1, NANOSECONDS, 0, 0)
    return _block(1, struct.pack("<HHI", RAW_IP, 0, 0) + resolution)


def _enhanced(t_s: float, packet: bytes, length: int) -> bytes:
    at = round(t_s * 10**NANOSECONDS)
    head = struct.pack("<IIIII", 0, at >> 32, at & 0xFFFFFFFF, len(packet), length)
    return _block(6, head + packet)

"""A capture at the sender's interface, in the pcapng format, for Wireshark and tshark.

Headers are IPv4 and TCP with the sizes of the model: 40 bytes, no timestamps. The requests that
open a connection carry the options that the rest relies on (segment size, window scale, SACK),
and an acknowledgement with reports carries its SACK blocks, so these are longer here than in the
model. In the engine `linux` packets have the sizes that they had there; the time stamps, whose
values are not in a trace, are padding. The payload is cut off, as a capture of headers does. Of a
flow with ECN the requests negotiate it, and data and acknowledgements carry its bits [RFC 3168],
or the three of accurate feedback [RFC 9768], whose option is padding.
The congestion header of XCP stands between IP's and TCP's, where no tool would look for TCP behind
it: it is not written.

A flow of datagrams has UDP's header instead of TCP's; what the model counts as the rest of its
40 bytes is payload here, so that a packet has the same length. Its number stands in the
identification of the IP header, modulo 65536, since UDP has no place for it. So has a flow of a
transport stack in both directions, with the contents of its datagrams as far as they were kept; if
these are IP packets, they are the packets of the capture. The keys of their encryption are in a
block of the capture, from which Wireshark decrypts them.

Unlike the model, TCP acknowledges the answer to the request by a packet of its own; it is not in
the capture, and neither is the end of a connection in `linux`. Addresses are of the range for
documentation (RFC 5737).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.record.trace import Traced, runs
from fairhaul.scenario.packets import HEADER_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

SENDER, RECEIVER = bytes([192, 0, 2, 1]), bytes([198, 51, 100, 1])
PORT = 5001
TCP, UDP = 6, 17
FIRST_CLIENT_PORT = 10_000
SYN, PSH, ACK, ECE, CWR = 0x02, 0x08, 0x10, 0x40, 0x80
# Where AE, CWR and ECE are in the flags; the first one stands in the byte before the others.
ACE_FROM = 6
CODEPOINTS = {"Not-ECT": 0b00, "ECT(1)": 0b01, "ECT(0)": 0b10, "CE": 0b11}
WINDOW_SCALE = 14
RAW_IP = 101
NANOSECONDS = 9
# The kind of secrets that a log of the keys of TLS is.
TLS_KEY_LOG = 0x544C534B
# A byte of padding between options.
NO_OPTION = b"\x01"
# Maximum segment size, then SACK permitted and window scale, padded to four bytes.
OPTIONS = struct.pack("!BBHBBBBBBBB", 2, 4, 0, 1, 1, 4, 2, 1, 3, 3, WINDOW_SCALE)


def capture(traced: Traced) -> bytes:
    """Give the capture of a trace."""
    if traced.datagrams:
        return _datagrams(traced)
    parts = [_section(), _interface()]
    at_sender = traced.rows.filter(traced.rows["what"].is_in(["sent", "ack_received"]))
    for row in at_sender.iter_rows(named=True):
        outgoing = row["what"] == "sent"
        if row["opens"]:
            segment = _opening(row, traced, outgoing=outgoing)
        else:
            segment = (_data if outgoing else _ack)(row, traced)
        size = row["bytes"] if traced.has_options else 0
        packet, length = _packet(segment, size, outgoing=outgoing)
        parts.append(_enhanced(row["t_s"], packet, length))
    return b"".join(parts)


def _datagrams(traced: Traced) -> bytes:
    """Give the capture of a flow of datagrams, of which only those of a stack are answered."""
    contents = traced.outlet.contents if traced.outlet else {}
    keys = traced.outlet.keys if traced.outlet else b""
    parts = [_section(), _interface(), *([_secrets(keys)] if keys else [])]
    at_sender = traced.rows.filter(traced.rows["what"].is_in(["sent", "ack_received"]))
    for row in at_sender.iter_rows(named=True):
        outgoing, length = row["what"] == "sent", row["bytes"]
        content = contents.get((row["connection"], outgoing, row["number"]), b"")
        if len(content) == length:
            parts.append(_enhanced(row["t_s"], content, length))
            continue
        hosts = (SENDER, RECEIVER) if outgoing else (RECEIVER, SENDER)
        ports = (_port(row), PORT) if outgoing else (PORT, _port(row))
        ip = _ip(length, UDP, *hosts, CODEPOINTS[row["ecn"]], row["number"] & 0xFFFF)
        # A checksum of zero says that there is none [RFC 768].
        udp = struct.pack("!HHHH", *ports, length - len(ip), 0)
        parts.append(_enhanced(row["t_s"], ip + udp + content, length))
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
    codepoint: int = 0


def _opening(row: Mapping[str, Any], traced: Traced, *, outgoing: bool) -> _Segment:
    """Give what opens a connection, or the answer to that."""
    # The request asks with both flags, the answer agrees with one [RFC 3168, 6.1.1].
    flags = SYN if outgoing else SYN | ACK
    if row["ace"] is not None:
        flags |= _accurate(row)
    elif traced.ecn:
        flags |= ECE | CWR if outgoing else ECE
    options = OPTIONS[:2] + struct.pack("!H", traced.segment) + OPTIONS[4:]
    return _Segment(
        port=_port(row), sequence=0, acknowledged=0 if outgoing else 1, flags=flags, options=options
    )


def _data(row: Mapping[str, Any], traced: Traced) -> _Segment:
    return _Segment(
        port=_port(row),
        sequence=1 + traced.offset(row["connection"], row["number"]),
        acknowledged=1,
        flags=ACK | PSH | (CWR if row["cwr"] else 0) | _accurate(row),
        carried=row["payload"],
        codepoint=CODEPOINTS[row["ecn"]],
    )


def _ack(row: Mapping[str, Any], traced: Traced) -> _Segment:
    return _Segment(
        port=_port(row),
        sequence=1,
        acknowledged=1 + traced.offset(row["connection"], row["number"]),
        flags=ACK | (ECE if row["ece"] else 0) | _accurate(row),
        options=_blocks(row, traced),
    )


def _accurate(row: Mapping[str, Any]) -> int:
    """Give the flags of a packet with accurate feedback."""
    return 0 if row["ace"] is None else int(row["ace"]) << ACE_FROM


def _port(row: Mapping[str, Any]) -> int:
    return FIRST_CLIENT_PORT + int(row["connection"]) % 50_000


def _blocks(row: Mapping[str, Any], traced: Traced) -> bytes:
    """Give the SACK option for the `sack` column."""
    sacked = (edge for run in runs(row["sack"]) for edge in run)
    edges = [1 + traced.offset(row["connection"], edge) for edge in sacked]
    if not edges:
        return b""
    packed = b"".join(struct.pack("!I", edge & 0xFFFFFFFF) for edge in edges)
    return struct.pack("!BBBB", 1, 1, 5, 2 + len(packed)) + packed


def _packet(segment: _Segment, size: int, *, outgoing: bool) -> tuple[bytes, int]:
    """Give IPv4 and TCP headers, and the whole length, which is `size` at least.

    The TCP checksum is left to the hardware, as on a real host.
    """
    options = segment.options.ljust(size - HEADER_BYTES - segment.carried, NO_OPTION)
    length = HEADER_BYTES + len(options) + segment.carried
    hosts = (SENDER, RECEIVER) if outgoing else (RECEIVER, SENDER)
    ports = (segment.port, PORT) if outgoing else (PORT, segment.port)
    ip = _ip(length, TCP, *hosts, segment.codepoint)
    tcp = struct.pack(
        "!HHIIBBHHH",
        *ports,
        segment.sequence & 0xFFFFFFFF,
        segment.acknowledged & 0xFFFFFFFF,
        (20 + len(options)) // 4 << 4 | segment.flags >> 8,
        segment.flags & 0xFF,
        0xFFFF,
        0,
        0,
    )
    return ip + tcp + options, length


def _ip(
    length: int, protocol: int, source: bytes, target: bytes, codepoint: int, number: int = 0
) -> bytes:
    """Give the IPv4 header of a packet of `length` bytes."""
    head = (0x45, codepoint, length, number, 0x4000, 64, protocol, 0, source, target)
    ip = struct.pack("!BBHHHBBH4s4s", *head)
    return ip[:10] + struct.pack("!H", _checksum(ip)) + ip[12:]


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


def _secrets(keys: bytes) -> bytes:
    """Give a block of decryption secrets with a log of the keys of TLS."""
    return _block(10, struct.pack("<II", TLS_KEY_LOG, len(keys)) + keys)


def _enhanced(t_s: float, packet: bytes, length: int) -> bytes:
    at = round(t_s * 10**NANOSECONDS)
    head = struct.pack("<IIIII", 0, at >> 32, at & 0xFFFFFFFF, len(packet), length)
    return _block(6, head + packet)

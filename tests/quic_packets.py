"""The frames of QUIC's 1-RTT packets in a capture that has the keys of its connection."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from aioquic.buffer import Buffer  # type: ignore[attr-defined]
from aioquic.quic.crypto import CryptoContext
from aioquic.quic.packet import QuicProtocolVersion, pull_quic_header
from aioquic.tls import CipherSuite

ENHANCED, SECRETS = 6, 10
IP_AND_UDP = 28
# By the length of the secret.
SUITES = {32: CipherSuite.AES_128_GCM_SHA256, 48: CipherSuite.AES_256_GCM_SHA384}
PADDING, ACK, ACK_ECN, CRYPTO, NEW_ID = 0x00, 0x02, 0x03, 0x06, 0x18
# The frames that are numbers alone, and how many [RFC 9000, 19]; the last two are of
# draft-ietf-quic-ack-frequency.
NUMBERS = {0x01: 0, 0x10: 1, 0x11: 2, 0x12: 1, 0x13: 1, 0x14: 1, 0x15: 2, 0x16: 1, 0x17: 1}
NUMBERS |= {0x19: 1, 0x1E: 0, 0x1F: 0, 0xAF: 4}


class Stream(NamedTuple):
    """A STREAM frame: a part of a stream, and whether the stream ends behind it."""

    stream: int
    offset: int
    data: bytes
    is_last: bool


def blocks(capture: bytes) -> Iterator[tuple[int, bytes]]:
    """Give the blocks of a pcapng file in little endian."""
    while capture:
        kind, size = struct.unpack_from("<II", capture)
        yield kind, capture[8 : size - 4]
        capture = capture[size:]


def secrets_of(capture: bytes) -> dict[str, bytes]:
    """Give the secrets of a capture of one connection, by their labels."""
    (body,) = (body for kind, body in blocks(capture) if kind == SECRETS)
    kind, size = struct.unpack_from("<4sI", body)
    assert kind == b"KSLT"
    lines = (line.split() for line in body[8 : 8 + size].decode().splitlines())
    return {label: bytes.fromhex(secret) for label, _, secret in lines}


def datagrams(capture: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Give the source of each packet of a capture and what its headers of IPv4 and UDP carry."""
    for kind, body in blocks(capture):
        if kind == ENHANCED:
            (size,) = struct.unpack_from("<I", body, 12)
            packet = body[20 : 20 + size]
            yield packet[12:16], packet[IP_AND_UDP:]


def short_packets(capture: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Give the 1-RTT packets: the source, the packet, and the length of the id in its header.

    A long header says how long the id of its source is, which short headers to it have.
    """
    lengths: dict[bytes, int] = {}
    for source, payload in datagrams(capture):
        left = payload
        while left and left[0] & 0x80:
            # The fixed bit need not be set (RFC 9287).
            header = pull_quic_header(Buffer(data=bytes([left[0] | 0x40]) + left[1:]))
            lengths[source] = len(header.source_cid)
            left = left[header.packet_length :]
        if left:
            (length,) = (length for other, length in lengths.items() if other != source)
            yield source, left, length


class Direction:
    """The keys of one direction, and the packet number that comes next."""

    def __init__(self, secret: bytes) -> None:
        self.keys = CryptoContext()
        version = QuicProtocolVersion.VERSION_1
        self.keys.setup(cipher_suite=SUITES[len(secret)], secret=secret, version=version)
        self.expected = 0

    def frames_of(self, packet: bytes, id_length: int) -> bytes:
        """Decrypt a packet with a short header; its tag has to be right."""
        _, text, number, _ = self.keys.decrypt_packet(packet, 1 + id_length, self.expected)
        self.expected = max(self.expected, number + 1)
        return text


def streams(frames: bytes) -> Iterator[Stream]:
    """Give the STREAM frames of a packet; an unknown frame is an error."""
    left = Buffer(data=frames)
    while not left.eof():
        kind = left.pull_uint_var()
        if 0x08 <= kind <= 0x0F:
            stream = left.pull_uint_var()
            offset = left.pull_uint_var() if kind & 4 else 0
            size = left.pull_uint_var() if kind & 2 else len(frames) - left.tell()
            yield Stream(stream, offset, left.pull_bytes(size), bool(kind & 1))
        elif kind != PADDING:
            _skip(left, kind)


def _skip(left: Buffer, kind: int) -> None:
    numbers = NUMBERS.get(kind, 2)
    if kind in {ACK, ACK_ECN}:
        left.pull_uint_var()
        left.pull_uint_var()
        numbers = 1 + 2 * left.pull_uint_var() + (3 if kind == ACK_ECN else 0)
    elif kind == CRYPTO:
        left.pull_uint_var()
        left.pull_bytes(left.pull_uint_var())
        return
    elif kind not in NUMBERS and kind != NEW_ID:
        raise ValueError(f"a frame of the kind {kind:#x}")
    for _ in range(numbers):
        left.pull_uint_var()
    if kind == NEW_ID:
        left.pull_bytes(left.pull_uint8() + 16)

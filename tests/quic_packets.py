"""The frames of QUIC's 1-RTT packets in a capture that has the keys of its connection [RFC 9001].

AES and its mode GCM are written out, because no library for them is among the requirements. A full
packet takes about ten milliseconds.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Iterator
from typing import NamedTuple

ENHANCED, SECRETS = 6, 10
IP_AND_UDP = 28
TAG = 16
PADDING, ACK, ACK_ECN, CRYPTO = 0x00, 0x02, 0x03, 0x06
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

    A long header says how long the id of its source is, which short headers to it have, and how
    long its own packet is, behind which others may stand in the datagram.
    """
    lengths: dict[bytes, int] = {}
    for source, payload in datagrams(capture):
        at = 0
        while at < len(payload) and payload[at] & 0x80:
            kind = payload[at] & 0x30
            target = payload[at + 5]
            own = payload[at + 6 + target]
            lengths[source] = own
            place = at + 7 + target + own
            if kind == 0:
                token, place = number(payload, place)
                place += token
            size, place = number(payload, place)
            at = place + size
        if at < len(payload):
            (length,) = (length for other, length in lengths.items() if other != source)
            yield source, payload[at:], length


def number(text: bytes, at: int) -> tuple[int, int]:
    """Read a number of variable length, and give the place behind it [RFC 9000, 16]."""
    size = 1 << (text[at] >> 6)
    value = int.from_bytes(text[at : at + size]) & ((1 << 8 * size - 2) - 1)
    return value, at + size


class Direction:
    """The keys of one direction, and the largest packet number that was decrypted."""

    def __init__(self, secret: bytes) -> None:
        self.hash = {32: "sha256", 48: "sha384"}[len(secret)]
        size = {32: 16, 48: 32}[len(secret)]
        self.key = Aes(self._expanded(secret, "quic key", size))
        self.header_key = Aes(self._expanded(secret, "quic hp", size))
        self.iv = int.from_bytes(self._expanded(secret, "quic iv", 12))
        self.largest = -1

    def _expanded(self, secret: bytes, label: str, size: int) -> bytes:
        """HKDF-Expand-Label, of at most one block [RFC 8446, 7.1]."""
        name = b"tls13 " + label.encode()
        info = struct.pack("!HB", size, len(name)) + name + b"\0"
        return hmac.digest(secret, info + b"\1", self.hash)[:size]

    def frames_of(self, packet: bytes, id_length: int) -> bytes:
        """Decrypt a packet with a short header [RFC 9001, 5]; its tag has to be right."""
        at = 1 + id_length
        mask = self.header_key.encrypted(packet[at + 4 : at + 20])
        first = packet[0] ^ mask[0] & 0x1F
        size = (first & 0x03) + 1
        masked = zip(packet[at : at + size], mask[1:], strict=False)
        shown = bytes(byte ^ of for byte, of in masked)
        full = self._full_number(int.from_bytes(shown), 8 * size)
        header = bytes([first]) + packet[1:at] + shown
        nonce = (self.iv ^ full).to_bytes(12)
        text = self.key.opened(nonce, packet[at + size :], header)
        self.largest = max(self.largest, full)
        return text

    def _full_number(self, shown: int, bits: int) -> int:
        """Give the number nearest to the one that is expected [RFC 9000, A.3]."""
        expected, step = self.largest + 1, 1 << bits
        base = expected - expected % step + shown
        return min((base - step, base, base + step), key=lambda of: (of < 0, abs(of - expected)))


def streams(frames: bytes) -> Iterator[Stream]:
    """Give the STREAM frames of a packet; an unknown frame is an error."""
    at = 0
    while at < len(frames):
        kind, at = number(frames, at)
        if kind == PADDING:
            continue
        if kind in NUMBERS:
            for _ in range(NUMBERS[kind]):
                _, at = number(frames, at)
        elif kind in {ACK, ACK_ECN}:
            at = _behind_ack(frames, at, kind)
        elif kind == CRYPTO:
            _, at = number(frames, at)
            size, at = number(frames, at)
            at += size
        elif kind == 0x18:
            _, at = number(frames, at)
            _, at = number(frames, at)
            at += 1 + frames[at] + 16
        elif 0x08 <= kind <= 0x0F:
            stream, at = number(frames, at)
            offset, at = number(frames, at) if kind & 4 else (0, at)
            size, at = number(frames, at) if kind & 2 else (len(frames) - at, at)
            yield Stream(stream, offset, frames[at : at + size], bool(kind & 1))
            at += size
        else:
            raise ValueError(f"a frame of the kind {kind:#x}")


def _behind_ack(frames: bytes, at: int, kind: int) -> int:
    for _ in range(2):
        _, at = number(frames, at)
    ranges, at = number(frames, at)
    for _ in range(1 + 2 * ranges + (3 if kind == ACK_ECN else 0)):
        _, at = number(frames, at)
    return at


def _doubled(byte: int) -> int:
    return byte << 1 ^ (0x11B if byte & 0x80 else 0)


def _s_box() -> bytes:
    """Give the inverse of each byte in the field, then an affine map (FIPS 197, 5.1.1)."""
    powers = [1]
    for _ in range(254):
        powers.append(powers[-1] ^ _doubled(powers[-1]))
    inverse = {of: powers[-place % 255] for place, of in enumerate(powers)} | {0: 0}

    def mapped(byte: int) -> int:
        twice = byte << 8 | byte
        rotated = [twice >> 8 - shift & 0xFF for shift in range(5)]
        return rotated[0] ^ rotated[1] ^ rotated[2] ^ rotated[3] ^ rotated[4] ^ 0x63

    return bytes(mapped(inverse[byte]) for byte in range(256))


S_BOX = _s_box()
# A column of MixColumns for each byte of the state: twice, once, once and three times its value.
MIXED = [
    int.from_bytes((_doubled(of), of, of, _doubled(of) ^ of))
    for of in (S_BOX[i] for i in range(256))
]
ROTATED = [[(of << 32 | of) >> 8 * shift & 0xFFFFFFFF for of in MIXED] for shift in range(4)]


class Aes:
    """AES (FIPS 197), of which GCM (NIST SP 800-38D) needs the encryption alone."""

    def __init__(self, key: bytes) -> None:
        words = list(struct.unpack(f"!{len(key) // 4}I", key))
        size, constant = len(words), 1
        for place in range(size, 4 * (size + 7)):
            last = words[-1]
            if place % size == 0:
                last = self._substituted((last << 8 | last >> 24) & 0xFFFFFFFF) ^ constant << 24
                constant = _doubled(constant)
            elif size > 6 and place % size == 4:
                last = self._substituted(last)
            words.append(words[place - size] ^ last)
        self.rounds = [words[at : at + 4] for at in range(0, len(words), 4)]
        self.hash_key = int.from_bytes(self.encrypted(bytes(16)))

    @staticmethod
    def _substituted(word: int) -> int:
        return int.from_bytes(S_BOX[byte] for byte in word.to_bytes(4))

    def encrypted(self, block: bytes) -> bytes:
        """Encrypt 16 bytes."""
        first, *middle, last = self.rounds
        state = [a ^ b for a, b in zip(struct.unpack("!4I", block), first, strict=True)]
        t0, t1, t2, t3 = ROTATED
        for keys in middle:
            a, b, c, d = state
            state = [
                t0[w >> 24] ^ t1[x >> 16 & 255] ^ t2[y >> 8 & 255] ^ t3[z & 255] ^ key
                for w, x, y, z, key in zip(
                    (a, b, c, d), (b, c, d, a), (c, d, a, b), (d, a, b, c), keys, strict=True
                )
            ]
        text = struct.pack("!4I", *state)
        shifted = bytes(S_BOX[text[(place * 5) % 16]] for place in range(16))
        return (int.from_bytes(shifted) ^ int.from_bytes(struct.pack("!4I", *last))).to_bytes(16)

    def opened(self, nonce: bytes, sealed: bytes, header: bytes) -> bytes:
        """Decrypt what ends with a tag.

        Raises:
            ValueError: the tag is wrong.
        """
        text, tag = sealed[:-TAG], sealed[-TAG:]
        blocks = range(2, 2 + -(-len(text) // 16))
        stream = b"".join(self.encrypted(nonce + count.to_bytes(4)) for count in blocks)
        sizes = struct.pack("!QQ", 8 * len(header), 8 * len(text))
        hashed = self._hashed(_padded(header) + _padded(text) + sizes)
        mask = int.from_bytes(self.encrypted(nonce + (1).to_bytes(4)))
        if (hashed ^ mask).to_bytes(16) != tag:
            raise ValueError("the tag is wrong: another key, or another packet")
        return bytes(a ^ b for a, b in zip(text, stream, strict=False))

    def _hashed(self, text: bytes) -> int:
        """GHASH: a polynomial in the hash key, with the lowest power in the highest bit."""
        total = 0
        for at in range(0, len(text), 16):
            factor, total = total ^ int.from_bytes(text[at : at + 16]), 0
            power = self.hash_key
            for bit in range(127, -1, -1):
                if factor >> bit & 1:
                    total ^= power
                power = power >> 1 ^ (0xE1 << 120 if power & 1 else 0)
        return total


def _padded(text: bytes) -> bytes:
    return text + bytes(-len(text) % 16)

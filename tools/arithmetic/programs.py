"""Whole programs of ports, and the memory that they find: crates/ports/tests/ranges.txt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import z3

from tools import ROOT
from tools.arithmetic.machine import Machine, Region
from tools.arithmetic.objects import Object
from tools.arithmetic.values import (
    HALF,
    WORD,
    Path,
    Pointer,
    UnsupportedError,
    Value,
    constant,
    product,
    total,
)

RANGES = ROOT / "crates/ports/tests/ranges.txt"
OWN_AT, OWN_BYTES = 32, 104
_ANY = (0, HALF - 1)


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of a socket, or one that a port keeps in it."""

    name: str
    size: int
    low: int
    high: int


def _field(name: str, size: int, interval: tuple[int, int]) -> Field:
    return Field(name=name, size=size, low=interval[0], high=interval[1])


def fields(owner: str) -> dict[int, Field]:
    """The fields of an owner, by their places."""
    rows = [line.split(" ") for line in RANGES.read_text().splitlines() if line[:1].isalpha()]
    return {
        int(place): Field(name=name, size=int(size), low=int(low), high=int(high))
        for owner_, place, size, name, low, high in rows
        if owner_ == owner
    }


# Fields without a range that a test could assert.
_SOCKET = {
    0: _field("sk_pacing_rate", 8, (0, WORD - 1)),
    8: _field("sk_max_pacing_rate", 8, (0, WORD - 1)),
    16: _field("sk_pacing_status", 4, _ANY),
    24: _field("icsk_ca_state", 4, (0, 4)),
    28: _field("beside icsk_ca_state", 4, _ANY),
    204: _field("is_cwnd_limited", 4, _ANY),
    216: _field("saw_tstamp", 4, (0, 65535)),
}
_WINDOW = {0: _field("fraction", 4, _ANY), 4: _field("restart", 4, _ANY)}
_SAMPLE = {
    0: _field("pkts_acked", 4, (0, (1 << 30) - 1)),
    4: _field("rtt_us", 4, (-(1 << 31), (1 << 31) - 1)),
}
# Relations of fields, asserted by crates/ports/tests/all/ranges.rs.
_RELATIONS: dict[str, Callable[[dict[str, Any]], list[Any]]] = {
    "htcp": lambda f: [
        f["since_us"] <= f["tcp_mstamp"],
        f["round_since_us"] <= f["tcp_mstamp"],
    ],
}
# These grow by up to 2^15 packets in a round, so that an acknowledgement of more packets than
# these might overflow at a window of one packet.
_ACKED = {"bic": (1 << 16) - 1, "htcp": (1 << 16) - 1}

PROGRAMS = {
    "reno": ("cong_avoid", "ssthresh", "set_state", "undo_cwnd"),
    "scalable": ("cong_avoid", "ssthresh", "set_state"),
    "highspeed": ("cong_avoid", "ssthresh", "set_state"),
    "bic": ("cong_avoid", "ssthresh", "set_state"),
    "htcp": ("pkts_acked", "cong_avoid", "ssthresh", "set_state"),
    "synctcp": ("cong_avoid", "ssthresh", "set_state"),
}
"""The programs that are followed as a whole; docs/arithmetic.md lists what is not proven."""


def parameters(object_: Object) -> dict[str, tuple[int, int]]:
    """The bounds of each parameter, from the object's description."""
    if "fairhaul_note" not in object_.data:
        return {}
    lines = object_.data["fairhaul_note"].rstrip(b"\0").decode().split("\n")[4:]
    rows = [line.split("|") for line in lines if line]
    return {row[0]: (int(row[1]), int(row[2])) for row in rows}


def parameter_regions(object_: Object) -> dict[str, Region]:
    """Parameters as unknowns within their bounds."""

    def region(name: str, low: int, high: int) -> Region:
        return lambda path, _place, _size: path.unknown(name, low, high)

    return {name: region(name, *bounds) for name, bounds in parameters(object_).items()}


def _unknown(path: Path, field: Field) -> Value:
    value = path.unknown(field.name, field.low, field.high)
    if field.low >= 0 or field.size == 8:
        return value
    half = path.quotient(value, constant(HALF))[1]
    return Value(term=half.term, low=half.low, high=half.high, origin=value)


def _socket(name: str) -> Region:
    every = fields("socket") | _SOCKET
    every |= {OWN_AT + place: one for place, one in (_WINDOW | fields(name)).items()}

    def region(path: Path, place: int, size: int) -> Value | Pointer:
        field = every[place]
        if size == 2 * field.size:  # a bit field, which is read with its neighbour
            low, high = (_unknown(path, every[place + at]) for at in (0, field.size))
            return total(low, product(high, constant(1 << 8 * field.size)))
        if size != field.size:
            raise UnsupportedError(f"{size} bytes of {field.name}")
        return _unknown(path, field)

    return region


def _arguments(name: str, function: str) -> Region:
    def region(path: Path, place: int, _: int) -> Value | Pointer:
        if place == 16:
            return path.unknown("acked", 0, _ACKED.get(name, (1 << 31) - 1))
        if place == 8 and function == "set_state":
            return path.unknown("next", 0, 4)
        return Pointer(region="socket" if place == 0 else "sample", offset=constant(0))

    return region


def machine(name: str, object_: Object, function: str) -> tuple[Machine, Path]:
    """A program of a port, and the path that it begins with."""
    regions = parameter_regions(object_) | {
        "socket": _socket(name),
        "sample": lambda path, place, _: _unknown(path, _SAMPLE[place]),
        "arguments": _arguments(name, function),
    }
    start = Path(
        at=0,
        registers={
            1: Pointer(region="arguments", offset=constant(0)),
            10: Pointer(region="stack", offset=constant(0)),
        },
    )
    if name in _RELATIONS:
        known = {}
        own = {OWN_AT + place: one for place, one in fields(name).items()}
        for place, field in (fields("socket") | own).items():
            value = _unknown(start, field)
            start.memory["socket", place, field.size] = value
            known[field.name] = value.term
        start.known += [z3.simplify(one) for one in _RELATIONS[name](known)]
    return Machine(object=object_, function=function, regions=regions), start

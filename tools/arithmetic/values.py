"""Integers as a program computes them: a term, and an interval that is known to hold it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import z3

WORD, HALF = 1 << 64, 1 << 32
_numbers = count()


class UnsupportedError(Exception):
    """The function contains what this machine cannot follow."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """An integer, not a word of bits. `zeros` are low bits that are zero.

    `origin` is the value that this one is the low 32 bits of. `shifted` is the value that was
    shifted to the left by `shift` bits, beyond the register, because the next instruction shifts it
    back. A `wrapped` value is the low half of one that does not fit: a compiler computes it before
    the comparison that discards it, and a difference of two sequence numbers is compared with a
    sign; `is_check` is one that a constant was added to, so that one comparison checks two bounds.
    """

    term: Any
    low: int
    high: int
    zeros: int = 0
    origin: Value | None = None
    shifted: Value | None = None
    shift: int = 0
    wrapped: bool = False
    is_check: bool = False

    @property
    def number(self) -> int | None:
        """The only value, if there is one."""
        return self.low if self.low == self.high else None

    def within(self, low: int, high: int) -> Value:
        """The same value, about which more is known."""
        return replace(self, low=max(self.low, low), high=min(self.high, high))


@dataclass(frozen=True, kw_only=True)
class Pointer:
    """A place in a region of memory."""

    region: str
    offset: Value


def constant(number: int) -> Value:
    """A number."""
    zeros = 64 if number == 0 else (number & -number).bit_length() - 1
    return Value(term=number, low=number, high=number, zeros=zeros)


def fresh(name: str, low: int, high: int) -> Value:
    """An unknown number of an interval."""
    if low == high:
        return constant(low)
    return Value(term=z3.Int(f"{name}.{next(_numbers)}"), low=low, high=high)


@dataclass(kw_only=True)
class Path:
    """One way through a program: the registers, the memory, and what is known."""

    at: int
    registers: dict[int, Value | Pointer]
    memory: dict[tuple[str, int, int], Value | Pointer] = field(default_factory=dict)
    known: list[Any] = field(default_factory=list)

    def copy(self, at: int) -> Path:
        """The same path, going on elsewhere."""
        return Path(
            at=at,
            registers=dict(self.registers),
            memory=dict(self.memory),
            known=list(self.known),
        )

    def unknown(self, name: str, low: int, high: int) -> Value:
        """A new unknown, whose interval is known to z3, too."""
        value = fresh(name, low, high)
        if value.number is None:
            self.known += [value.term >= low, value.term <= high]
        return value

    def narrow(self, value: Value, low: int, high: int) -> bool:
        """Note that a value lies in an interval; whether that is possible."""
        if max(value.low, low) > min(value.high, high):
            return False
        if value.number is not None:
            return True
        same = value.term
        for places in (self.registers, self.memory):
            for key, held in places.items():
                if isinstance(held, Value) and held.number is None and held.term.eq(same):
                    places[key] = held.within(low, high)  # type: ignore[index]
        return True

    def quotient(self, value: Value, divisor: Value) -> tuple[Value, Value]:
        """The quotient, rounded down, and the remainder, which is not negative."""
        if value.number is not None and divisor.number is not None:
            whole, rest = divmod(value.number, divisor.number)
            return constant(whole), constant(rest)
        ends = [value.low // divisor.low, value.low // divisor.high]
        ends += [value.high // divisor.low, value.high // divisor.high]
        whole_ = self.unknown("quotient", min(ends), max(ends))
        rest_ = self.unknown("remainder", 0, divisor.high - 1)
        self.known += [
            value.term == whole_.term * divisor.term + rest_.term,
            rest_.term < divisor.term,
        ]
        return whole_, rest_


def total(a: Value, b: Value) -> Value:
    """Give a + b."""
    return Value(
        term=a.term + b.term,
        low=a.low + b.low,
        high=a.high + b.high,
        zeros=min(a.zeros, b.zeros),
    )


def difference(a: Value, b: Value) -> Value:
    """Give a - b."""
    low, high = a.low - b.high, a.high - b.low
    return Value(term=a.term - b.term, low=low, high=high, zeros=min(a.zeros, b.zeros))


def product(a: Value, b: Value) -> Value:
    """Give the product a b."""
    ends = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
    zeros = a.zeros + b.zeros
    return Value(term=a.term * b.term, low=min(ends), high=max(ends), zeros=zeros)


def assume(path: Path, relation: str, a: Value, b: Value) -> bool:
    """Note a relation of two values; whether intervals leave it possible."""
    if relation in (">", ">="):
        a, b, relation = b, a, {">": "<", ">=": "<="}[relation]
    terms = {
        "<": lambda: a.term < b.term,
        "<=": lambda: a.term <= b.term,
        "==": lambda: a.term == b.term,
        "!=": lambda: a.term != b.term,
    }
    claim = terms[relation]()
    if isinstance(claim, bool):
        return claim
    path.known.append(claim)
    if relation == "==":
        low, high = max(a.low, b.low), min(a.high, b.high)
        return path.narrow(a, low, high) and path.narrow(b, low, high)
    if relation == "!=":
        for one, other in ((a, b), (b, a)):
            if other.number is not None and one.low == other.number:
                return path.narrow(one, one.low + 1, one.high)
        return a.number is None or a.number != b.number
    less = 1 if relation == "<" else 0
    return path.narrow(a, a.low, b.high - less) and path.narrow(b, a.low + less, b.high)


def store(path: Path, key: tuple[str, int, int], value: Value | Pointer) -> None:
    """Replace a slot of memory, and what overlaps with it."""
    region, place, size = key
    for held, at, wide in list(path.memory):
        if held == region and at < place + size and place < at + wide:
            old = path.memory.pop((held, at, wide))
            if wide > size and isinstance(old, Value):
                for part in range(at, at + wide, size):
                    if part != place and old.number is not None:
                        piece = (old.number >> 8 * (part - at)) % (1 << 8 * size)
                        path.memory[region, part, size] = constant(piece)
    path.memory[key] = value


def masked(path: Path, a: Value, mask: int) -> Value:
    """The bits of a mask that is one run of ones."""
    mask %= WORD
    low = (mask & -mask).bit_length() - 1 if mask else 0
    run = (mask >> low) + 1
    if run & run - 1:
        raise UnsupportedError("a mask of several runs")
    rest = path.quotient(a, constant(run << low))[1] if run << low < WORD else a
    if run << low >= WORD and a.low < 0:
        raise UnsupportedError("a mask of a negative number")
    return product(path.quotient(rest, constant(1 << low))[0], constant(1 << low))


def shift_right(path: Path, a: Value, b: Value) -> Value:
    """Divide by a power of two, rounded down."""
    if b.number is None:
        raise UnsupportedError("a shift by an unknown number")
    return path.quotient(a, constant(1 << b.number))[0]

"""Follows a compiled function for all numbers of given intervals at once.

Every value is an integer. An instruction computes what it would compute with integers, if the
result fits into the register; that it fits is an obligation, which intervals or z3 meet. So all
that z3 has to know are integers, their quotients and remainders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import z3

from tools.arithmetic.codes import (
    ADD,
    AND,
    ARSH,
    DIV,
    JUMPS,
    LSH,
    MOD,
    MOV,
    MUL,
    NEG,
    OPPOSITE,
    OR,
    RSH,
    SUB,
    XOR,
)
from tools.arithmetic.objects import Instruction, Object
from tools.arithmetic.values import (
    HALF,
    WORD,
    Path,
    Pointer,
    UnsupportedError,
    Value,
    assume,
    constant,
    difference,
    masked,
    product,
    shift_right,
    store,
    total,
)

_TIMEOUT_MS = 120_000
Region = Callable[[Path, int, int], Value | Pointer]


@dataclass(kw_only=True)
class Machine:
    """A function, the memory that it finds, and what has been proven of it."""

    object: Object
    function: str
    regions: dict[str, Region]
    by_interval: int = 0
    by_solver: int = 0
    failures: list[str] = field(default_factory=list)

    def run(self, start: Path) -> list[Path]:
        """All paths to the end of the function."""
        code = self.object.functions[self.function]
        start.at = min(code)
        open_, ended = [start], []
        while open_:
            path = open_.pop()
            while True:
                instruction = code[path.at]
                if instruction.code == 0x95:
                    ended.append(path)
                    break
                others = self._step(path, instruction)
                if others is not None:
                    open_ += others
                    break
        return ended

    def proves(self, path: Path, claim: Any) -> bool | None:
        """Whether what is known of a path implies a claim; None if z3 gives up."""
        solver = z3.Solver()
        solver.set("timeout", _TIMEOUT_MS)
        solver.add(*path.known, z3.Not(claim))
        answer = solver.check()
        return None if answer == z3.unknown else answer == z3.unsat

    def _fits(self, path: Path, value: Value, low: int, high: int, what: str) -> Value:
        """The value, which has to lie from `low` to `high`."""
        if low <= value.low and value.high <= high:
            self.by_interval += 1
            return value
        proof = self.proves(path, z3.And(value.term >= low, value.term <= high))
        if proof:
            self.by_solver += 1
        else:
            note = f"{self.function}:{path.at}: {what}, from {value.low} to {value.high}"
            self.failures.append(note + (", z3 gave up" if proof is None else ""))
        return value.within(low, high)

    def _register(self, path: Path, value: Value) -> Value:
        """A result, which has to fit into 64 bits, with a sign or without one."""
        has_sign = value.low < 0 and value.high < WORD // 2
        low, high = (-(WORD // 2), WORD // 2 - 1) if has_sign else (0, WORD - 1)
        return self._fits(path, value, low, high, "64 bits overflow")

    def _low_half(self, path: Path, value: Value) -> Value:
        """The low 32 bits."""
        if value.low >= 0 and value.high < HALF:
            return value
        if value.number is not None:
            return constant(value.number % HALF)
        rest = path.quotient(value, constant(HALF))[1]
        return Value(term=rest.term, low=rest.low, high=rest.high, origin=value)

    def _as_signed(self, path: Path, value: Value) -> Value:
        """The low 32 bits as a number with a sign."""
        origin = value if value.origin is None else value.origin
        if origin.low >= -(HALF // 2) and origin.high < HALF // 2:
            return origin
        low = self._low_half(path, value)
        if low.number is not None:
            return constant((low.number + HALF // 2) % HALF - HALF // 2)
        found = path.unknown("signed", -(HALF // 2), HALF // 2 - 1)
        path.known.append(found.term == z3.If(low.term < HALF // 2, low.term, low.term - HALF))
        return found

    def _step(self, path: Path, instruction: Instruction) -> list[Path] | None:
        """Follow an instruction; the paths that go on, if it is not this one alone."""
        kind = instruction.code & 7
        if instruction.code == 0x18:
            name, number = instruction.symbol, constant(instruction.immediate)
            path.registers[instruction.to] = (
                number if name is None else Pointer(region=name, offset=number)
            )
            path.at += 2
        elif instruction.code == 0x85:
            return self._logarithm(path, instruction)
        elif kind in (5, 6):
            return self._jump(path, instruction)
        elif kind in (4, 7):
            self._compute(path, instruction)
            path.at += 1
        elif kind == 1:
            pointer = path.registers[instruction.source]
            size = {0x61: 4, 0x69: 2, 0x71: 1, 0x79: 8}[instruction.code]
            path.registers[instruction.to] = self._load(path, pointer, instruction.offset, size)
            path.at += 1
        else:
            self._store(path, instruction)
            path.at += 1
        return None

    def _operand(self, path: Path, instruction: Instruction) -> Value | Pointer:
        if instruction.code & 8:
            return path.registers[instruction.source]
        return constant(instruction.immediate)

    def _compute(self, path: Path, instruction: Instruction) -> None:
        operation, to = instruction.code & 0xF0, instruction.to
        other = self._operand(path, instruction)
        if operation == MOV and instruction.code & 7 == 7:
            path.registers[to] = other
            return
        held = constant(0) if operation == MOV else path.registers.get(to, constant(0))
        if operation not in (MOV, LSH):
            self._refuse_wrapped(path, held, other)
        if isinstance(held, Pointer):
            if operation != ADD or isinstance(other, Pointer):
                raise UnsupportedError("arithmetic with pointers")
            offset = total(held.offset, other)
            path.registers[to] = Pointer(region=held.region, offset=offset)
        elif isinstance(other, Pointer):
            if operation != ADD:
                raise UnsupportedError("arithmetic with pointers")
            path.registers[to] = Pointer(region=other.region, offset=total(other.offset, held))
        elif instruction.code & 7 == 4:
            path.registers[to] = self._half(path, operation, held, other)
        else:
            path.registers[to] = self._whole(path, operation, held, other)

    def _half(self, path: Path, operation: int, a: Value, b: Value) -> Value:
        """An instruction of 32 bits, whose result is extended by zeros."""
        b = self._low_half(path, b) if operation != ADD or b.number is None else b
        if operation == MOV:
            return b
        a = self._low_half(path, a)
        if operation == ARSH:
            return self._low_half(path, shift_right(path, self._as_signed(path, a), b))
        exact = self._exact(path, operation, a, b)
        if exact.low >= 0 and exact.high < HALF:
            self.by_interval += 1
            return exact
        fits = self.proves(path, z3.And(exact.term >= 0, exact.term < HALF))
        if fits:
            self.by_solver += 1
            return exact.within(0, HALF - 1)
        is_check = operation == ADD and b.number is not None
        return replace(self._low_half(path, exact), wrapped=True, is_check=is_check)

    def _refuse_wrapped(self, path: Path, *values: Value | Pointer) -> None:
        """A value that has wrapped must not be computed with."""
        for value in values:
            if not isinstance(value, Value) or not value.wrapped or value.origin is None:
                continue
            term = value.origin.term
            if self.proves(path, z3.And(term >= 0, term < HALF)):  # a comparison has shown it since
                continue
            self.failures.append(f"{self.function}:{path.at}: uses a value that has wrapped")

    def _whole(self, path: Path, operation: int, a: Value, b: Value) -> Value:
        if a.shifted is not None:
            if operation == ARSH and b.number == a.shift == 32:
                origin = a.shifted.origin or a.shifted
                return self._fits(path, origin, -(HALF // 2), HALF // 2 - 1, "a sign is lost")
            self._refuse_wrapped(path, a.shifted)
            if operation == RSH and b.number is not None and b.number >= a.shift:
                rest = path.quotient(a.shifted, constant(1 << 64 - a.shift))[1]
                return shift_right(path, rest, constant(b.number - a.shift))
            a = self._register(path, a)
        if operation == LSH and b.number is not None:
            exact = self._exact(path, LSH, a, b)
            if exact.low < -(WORD // 2) or exact.high >= WORD:
                return replace(exact, shifted=a, shift=b.number)
        if operation in (RSH, DIV, MOD) and a.low < 0:
            a = self._fits(path, a, 0, WORD - 1, "a negative number without its sign")
        if operation == ARSH:
            return shift_right(path, self._signed_word(path, a), b)
        return self._register(path, self._exact(path, operation, a, b))

    def _signed_word(self, path: Path, value: Value) -> Value:
        """A value that the program takes for one with a sign."""
        return self._fits(path, value, -(WORD // 2), WORD // 2 - 1, "a sign appears")

    def _exact(self, path: Path, operation: int, a: Value, b: Value) -> Value:  # noqa: PLR0911
        """The result with integers."""
        if operation in (ADD, SUB, MUL):
            return {ADD: total, SUB: difference, MUL: product}[operation](a, b)
        if operation == NEG:
            return difference(constant(0), a)
        if operation in (DIV, MOD):
            b = self._fits(path, b, 1, WORD - 1, "division by zero")
            return path.quotient(a, b)[0 if operation == DIV else 1]
        if operation == RSH:
            return shift_right(path, a, b)
        if operation == LSH and b.number is not None:
            return product(a, constant(1 << b.number))
        if operation == XOR and b.number is not None and b.number % WORD == WORD - 1:
            return difference(constant(-1), a)
        if operation == AND and b.number is not None:
            return masked(path, a, b.number)
        if operation == OR:
            for one, other in ((a, b), (b, a)):
                if other.low >= 0 and other.high < 1 << one.zeros:
                    return total(one, other)
        raise UnsupportedError(f"operation {operation:#x} at {path.at}")

    def _load(
        self, path: Path, pointer: Value | Pointer, offset: int, size: int
    ) -> Value | Pointer:
        if isinstance(pointer, Value):
            raise UnsupportedError("a load from a number")
        place = total(pointer.offset, constant(offset))
        if pointer.region in self.object.data and pointer.region not in self.regions:
            return self._constant_of(path, self.object.data[pointer.region], place, size)
        if place.number is None:
            raise UnsupportedError("an unknown place")
        key = (pointer.region, place.number, size)
        if key not in path.memory:
            path.memory[key] = self._composed(path, *key)
        return path.memory[key]

    def _composed(self, path: Path, region: str, place: int, size: int) -> Value | Pointer:
        """What was stored in other sizes, or what the region begins with."""
        halves = [path.memory.get((region, place + 4 * n, 4)) for n in range(2)]
        if size == 8 and all(isinstance(half, Value) for half in halves):
            low, high = halves
            return total(low, product(high, constant(HALF)))  # type: ignore[arg-type]
        for wide in (8, 4):
            for at in range(place - wide + size, place + 1):
                held = path.memory.get((region, at, wide))
                if size < wide and isinstance(held, Value):
                    if held.number is not None:
                        return constant((held.number >> 8 * (place - at)) % (1 << 8 * size))
                    if at == place and size == 4:
                        return self._low_half(path, held)
                    raise UnsupportedError("a part of a word")
        if region not in self.regions:
            raise UnsupportedError(f"{region} is not set at {place}")
        return self.regions[region](path, place, size)

    def _constant_of(self, path: Path, data: bytes, place: Value, size: int) -> Value:
        """An entry of a table."""
        step = 1 << min(place.zeros, 4) if place.number is None else size
        step = max(step, size)
        first = place.low
        places = [p for p in range(first, place.high + 1, step) if 0 <= p <= len(data) - size]
        if places != list(range(first, place.high + 1, step)):
            self._fits(path, place, 0, len(data) - size, "outside of a table")
        rows = {p: int.from_bytes(data[p : p + size], "little") for p in places}
        value = path.unknown("entry", min(rows.values()), max(rows.values()))
        if len(rows) > 1:
            path.known += [
                z3.Implies(place.term == p, value.term == row) for p, row in rows.items()
            ]
        return value

    def _store(self, path: Path, instruction: Instruction) -> None:
        pointer = path.registers[instruction.to]
        size = {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}[instruction.code & 0x18]
        if instruction.code & 7 == 3:
            value = path.registers[instruction.source]
        else:
            value = constant(instruction.immediate)
        if isinstance(pointer, Value) or pointer.offset.number is None:
            raise UnsupportedError("a store to an unknown place")
        place = pointer.offset.number + instruction.offset
        self._refuse_wrapped(path, value)
        if isinstance(value, Value):
            if value.shifted is not None:
                value = self._register(path, value)
            if size == 4:
                value = self._low_half(path, value)
            elif size < 4 and not 0 <= value.low <= value.high < 1 << 8 * size:
                value = path.quotient(value, constant(1 << 8 * size))[1]
        store(path, (pointer.region, place, size), value)

    def _logarithm(self, path: Path, instruction: Instruction) -> list[Path]:
        """`log2_of`: one path for each of its values."""
        x = path.registers[1]
        if instruction.symbol != "logarithm" or isinstance(x, Pointer):
            raise UnsupportedError(f"a call of {instruction.symbol}")
        x = self._fits(path, x, 0, WORD - 1, "the logarithm of a negative number")
        found = []
        for power in range(max(x.low, 1).bit_length() - 1, max(x.high, 1).bit_length()):
            low, high = (1 << power if power else 0), (2 << power) - 1
            other = path.copy(path.at + 1)
            other.known += [x.term >= low, x.term <= high]
            if other.narrow(x, low, high):
                other.registers[0] = constant(power)
                found.append(other)
        return found

    def _jump(self, path: Path, instruction: Instruction) -> list[Path] | None:
        target = path.at + 1 + instruction.offset
        if instruction.code == 0x05:
            path.at = target
            return None
        a, b = path.registers[instruction.to], self._operand(path, instruction)
        relation = JUMPS[instruction.code & 0xF0]
        if isinstance(a, Pointer) or isinstance(b, Pointer):
            raise UnsupportedError("a comparison of pointers")
        if not relation.startswith("s") and not a.is_check:
            self._refuse_wrapped(path, a, b)
        if instruction.code & 7 == 6:
            signed = relation.startswith("s")
            a = self._as_signed(path, a) if signed else self._low_half(path, a)
            b = self._as_signed(path, b) if signed else self._low_half(path, b)
        elif relation.startswith("s"):
            a, b = self._signed_word(path, a), self._signed_word(path, b)
        else:
            for name, value in (("a", a), ("b", b)):
                if value.low < 0 and relation not in ("==", "!="):
                    return self._by_sign(path, instruction, name, value)
        relation = relation.removeprefix("s")
        both = [(relation, target), (OPPOSITE[relation], path.at + 1)]
        found = []
        for holds, at in both:
            other = path.copy(at)
            if assume(other, holds, a, b):
                found.append(other)
        return found

    def _by_sign(self, path: Path, instruction: Instruction, name: str, value: Value) -> list[Path]:
        """Compare the bits of a number that may be negative, as those of a large number."""
        register = instruction.to if name == "a" else instruction.source
        if name == "b" and not instruction.code & 8:
            other = constant(value.low + WORD)
            path.registers[11] = other
            changed = replace(instruction, source=11, code=instruction.code | 8)
            return self._jump(path, changed) or [path]
        found = []
        positive, negative = path.copy(path.at), path.copy(path.at)
        if positive.narrow(value, 0, WORD):
            positive.known.append(value.term >= 0)
            found += self._jump(positive, instruction) or []
        if negative.narrow(value, -WORD, -1):
            negative.known.append(value.term < 0)
            held = negative.registers[register]
            negative.registers[register] = total(value.within(-WORD, -1), constant(WORD))
            for after in self._jump(negative, instruction) or []:
                after.registers[register] = held
                found.append(after)
        return found

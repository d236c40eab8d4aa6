"""eBPF objects that are small and want much: sums, counts and nesting, drawn at random.

Damage to an object that a compiler wrote (`make fuzz`, the target `object`) never finds these: each
size in them is plausible, and the sum is not. An object is judged in a process of its own, which
may take neither long nor much memory: `python -m tests.wants_much --time 60 --seed 1`.
"""

from __future__ import annotations

import argparse
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# What reading an object may take: beside the interpreter with the extension, some MB.
MOST_S, MOST_MB = 10.0, 200.0
# The address space of the process that reads; a reader that wants more ends it.
ADDRESS_SPACE = 3 << 30

NULL, PROGRAM_BITS, SYMBOLS, STRINGS, NO_BITS, RELOCATIONS = 0, 1, 2, 3, 8, 9
WRITES, ALLOCATES, EXECUTES = 1, 2, 4
EXIT = struct.pack("<BBhi", 0x95, 0, 0, 0)


@dataclass
class Object:
    """An ELF file of eBPF. Sections may share their bytes, and may say more than they have."""

    content: bytearray = field(default_factory=lambda: bytearray(64))
    sections: list[tuple[str, tuple[int, ...]]] = field(default_factory=lambda: [("", (0,) * 8)])

    def store(self, content: bytes) -> tuple[int, int]:
        """Store bytes, and give where they are and how many."""
        self.content += b"\0" * (-len(self.content) % 8)
        self.content += content
        return len(self.content) - len(content), len(content)

    def add(
        self,
        name: str,
        kind: int,
        flags: int,
        place: tuple[int, int],
        link: tuple[int, int, int] = (0, 0, 0),
    ) -> int:
        """Add a section over stored bytes; `link`: its link, its info and the size of an entry."""
        self.sections.append((name, (kind, flags, *place, *link, 8)))
        return len(self.sections) - 1

    def written(self) -> bytes:
        """Give the file."""
        names, at = bytearray(), dict[str, int]()
        for name in (*(name for name, _ in self.sections), ".shstrtab"):
            if name not in at:
                at[name] = len(names)
                names += name.encode() + b"\0"
        strings = self.add(".shstrtab", STRINGS, 0, self.store(bytes(names)))
        table = bytearray()
        for name, (kind, flags, place, size, link, info, entry, align) in self.sections[1:]:
            table += struct.pack(
                "<IIQQQQIIQQ", at[name], kind, flags, 0, place, size, link, info, align, entry
            )
        table[:0] = bytes(64)
        offset, _ = self.store(bytes(table))
        head = struct.pack(
            "<16sHHIQQQIHHHHHH",
            b"\x7fELF\x02\x01\x01",
            *(1, 247, 1, 0, 0, offset, 0, 64, 0, 0, 64, len(self.sections), strings),
        )
        return head + bytes(self.content[64:])


def types(words: bytes = b"", names: bytes = b"\0") -> bytes:
    """Give type information of an object."""
    head = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(words), len(words), len(names))
    return head + words + names


def with_types(content: bytes | None = None) -> Object:
    """Give an object with type information only."""
    made = Object()
    made.add(".BTF", PROGRAM_BITS, 0, made.store(types() if content is None else content))
    return made


def programs(count: int, size: int) -> Object:
    """Sections of programs over the same bytes."""
    made = with_types()
    place = made.store(EXIT * max(1, size // 8))
    for number in range(min(count, 60_000)):
        made.add(f"program{number}", PROGRAM_BITS, ALLOCATES | EXECUTES, place)
    return made


def variables(count: int, size: int) -> Object:
    """Variables without bytes in the file."""
    made = with_types()
    for number in range(min(count, 60_000)):
        made.add(f".bss.{number}", NO_BITS, ALLOCATES | WRITES, (0, size))
    return made


def type_names(count: int, size: int) -> Object:
    """Types that all have the same name."""
    names = b"\0" + b"n" * size + b"\0"
    return with_types(types(struct.pack("<III", 1, 7 << 24, 0) * count, names))


def members(count: int, size: int) -> Object:
    """Structures with as many members as the format allows."""
    of = min(size, 0xFFFF)
    one = struct.pack("<III", 0, 4 << 24 | of, 4) + struct.pack("<III", 0, 0, 0) * of
    return with_types(types(one * max(1, min(count, 12_000_000 // len(one)))))


def accesses(count: int, size: int) -> Object:
    """Accesses that go round in a structure that contains itself."""
    names = b"\0tcp_sock\0m\0program\0" + b"0" + b":0" * size + b"\0"
    at = {name: names.index(name) for name in (b"tcp_sock", b"m\0", b"program", b"0:0")}
    words = struct.pack("<IIIIII", at[b"tcp_sock"], 4 << 24 | 1, 4, at[b"m\0"], 1, 0)
    listed = struct.pack("<II", at[b"program"], count)
    listed += struct.pack("<IIII", 0, 1, at[b"0:0"], 0) * count
    table = struct.pack("<I", 16) + listed
    head = struct.pack("<HBBIIIIIII", 0xEB9F, 1, 0, 32, 0, 0, 0, 0, 0, len(table))
    made = with_types(types(words, names))
    made.add(".BTF.ext", PROGRAM_BITS, 0, made.store(head + table))
    made.add("program", PROGRAM_BITS, ALLOCATES | EXECUTES, made.store(EXIT))
    return made


def symbols(count: int, size: int) -> Object:
    """Symbols of one section, and relocations of a program that refer to the last symbol."""
    made = with_types()
    name = ".data." + "s" * size
    data = made.add(name, PROGRAM_BITS, ALLOCATES | WRITES, made.store(bytes(8)))
    code = made.add("program", PROGRAM_BITS, ALLOCATES | EXECUTES, made.store(EXIT))
    strings = made.add(".strtab", STRINGS, 0, made.store(b"\0" + b"v" * size + b"\0"))
    one = struct.pack("<IBBHQQ", 1, 1, 0, data, 0, 4)
    listed = made.add(".symtab", SYMBOLS, 0, made.store(bytes(24) + one * count), (strings, 1, 24))
    places = made.store(struct.pack("<QQ", 0, min(count, 1 << 30) << 32 | 1) * count)
    made.add(".relprogram", RELOCATIONS, 0, places, (listed, code, 16))
    return made


def section_names(count: int, size: int) -> Object:
    """Sections that all have the same name."""
    made = with_types()
    place, name = made.store(b""), "s" * size
    for _ in range(min(count, 60_000)):
        made.add(name, PROGRAM_BITS, 0, place)
    return made


KINDS: Mapping[str, Callable[[int, int], Object]] = {
    "programs": programs,
    "variables": variables,
    "type names": type_names,
    "members": members,
    "accesses": accesses,
    "symbols": symbols,
    "section names": section_names,
}
# The largest count and size of each kind that still fit into a file of 16 MB.
LARGEST = {
    "programs": (60_000, 10_000_000),
    "variables": (60_000, 1 << 24),
    "type names": (600_000, 8_000_000),
    "members": (200, 0xFFFF),
    "accesses": (300_000, 2_000_000),
    "symbols": (200_000, 2_000_000),
    "section names": (60_000, 8_000_000),
}

READER = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({space}, {space}))
import fairhaul
try:
    scenario = {{
        "duration": "1 s",
        "bottleneck": {{
            "rate": "1 Mbit/s",
            "delay": "5 ms",
            "queue": {{"kind": "droptail", "capacity": "9 packets"}},
        }},
        "flow": [{{"name": "a", "controller": {{"kind": "bpf", "object": {file!r}}}}}],
    }}
    fairhaul.run(scenario)
    print("it runs")
except fairhaul.ScenarioError as error:
    print(error.args[0])
except fairhaul.RunError as error:
    print(error)
peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(peak[0].split()[1])
"""


def judge(content: bytes) -> str:
    """Read an object in another process: what it said; a complaint begins with `!`."""
    with tempfile.NamedTemporaryFile(suffix=".bpf.o") as file:
        file.write(content)
        file.flush()
        program = READER.format(space=ADDRESS_SPACE, file=file.name)
        begun = time.monotonic()
        command = [sys.executable, "-c", program]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=3 * MOST_S, check=False
            )
        except subprocess.TimeoutExpired:
            return f"! it was read for more than {3 * MOST_S:.0f} s"
    took_s = time.monotonic() - begun
    if done.returncode:
        return f"! status {done.returncode}: {done.stderr[-300:]}"
    said, _, peak_kb = done.stdout.strip().rpartition("\n")
    used_mb = int(peak_kb) / 1000
    if took_s > MOST_S or used_mb > MOST_MB:
        return f"! {took_s:.1f} s and {used_mb:.0f} MB: {said[:200]}"
    return said


def drawn(chance: random.Random) -> tuple[str, int, int]:
    """Draw a kind, a count and a size, both over all orders of magnitude."""
    kind = chance.choice(list(KINDS))
    count, size = (max(1, int(most ** chance.random())) for most in LARGEST[kind])
    return kind, count, size


def main() -> None:
    """Judge drawn objects for a while; exit with 1 if one wants too much."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--time", type=float, default=60.0, help="seconds")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--out", type=Path, default=Path("fuzz/artifacts/wants_much"))
    given = options.parse_args()
    chance, end_s, number, failed = random.Random(given.seed), time.monotonic() + given.time, 0, 0
    while time.monotonic() < end_s:
        kind, count, size = drawn(chance)
        content = KINDS[kind](count, size).written()
        if (said := judge(content)).startswith("!"):
            given.out.mkdir(parents=True, exist_ok=True)
            (given.out / f"{given.seed}-{number}.bpf.o").write_bytes(content)
            print(f"{kind}, count {count}, size {size}: {said}", flush=True)
            failed += 1
        number += 1
    print(f"  objects that want much: {number} inputs, {failed or 'no'} failures")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

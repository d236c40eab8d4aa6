"""Functions of eBPF objects: their instructions, constants and relocations."""

from __future__ import annotations

import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools import ROOT

HELPERS = Path(__file__).parent / "helpers"
PORTS = ROOT / "crates/ports/bpf"
# As crates/ports/build.rs has them; helpers of a port that a wrapper leaves out are unused there.
FLAGS = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-ffreestanding", "-Wall", "-Wextra"]
FLAGS += ["-Wno-unused-function", '-DFAIRHAUL_VERSION="0"', f"-I{PORTS}"]


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One instruction, whose wide constant takes the place of the next one."""

    code: int
    to: int
    source: int
    offset: int
    immediate: int
    symbol: str | None


@dataclass(frozen=True, kw_only=True)
class Object:
    """The functions of an object, and the bytes of its symbols."""

    functions: dict[str, dict[int, Instruction]]
    data: dict[str, bytes]


def wrappers(name: str) -> Object:
    """Compile a file of wrappers as the build compiles a port."""
    return _compiled(HELPERS / f"{name}.c", "proof")


def port(name: str) -> Object:
    """Compile a port as the build does, with `log2_of` as a function that the machine knows."""
    return _compiled(PORTS / f"{name}.bpf.c", "struct_ops", "-include", HELPERS / "wrappers.h")


def _compiled(source: Path, section: str, *options: str | Path) -> Object:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "object.o"
        command = ["clang", *FLAGS, *options, "-c", source, "-o", file]
        subprocess.run(command, check=True)
        return _read(file.read_bytes(), section)


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    content: bytes
    link: int
    info: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    section: int
    at: int
    size: int


def _text(table: bytes, at: int) -> str:
    return table[at : table.index(b"\0", at)].decode()


def _sections(file: bytes) -> list[_Section]:
    start = struct.unpack_from("<Q", file, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", file, 0x3A)
    heads = [struct.unpack_from("<IIQQQQIIQQ", file, start + size * n) for n in range(count)]
    table = file[heads[names][4] :]
    return [_Section(_text(table, h[0]), h[1], file[h[4] : h[4] + h[5]], h[6], h[7]) for h in heads]


def _read(file: bytes, section_name: str) -> Object:
    sections = _sections(file)
    table = next(s for s in sections if s.kind == 2)
    symbols = []
    for name, _, _, section, at, size in struct.iter_unpack("<IBBHQQ", table.content):
        symbols.append(_Symbol(_text(sections[table.link].content, name), section, at, size))
    code = next(n for n, s in enumerate(sections) if s.name == section_name)
    relocations = {}
    for section in sections:
        if section.kind == 9 and section.info == code:
            for at, info in struct.iter_unpack("<QQ", section.content):
                relocations[at] = symbols[info >> 32]
    functions, data = {}, {}
    for symbol in symbols:
        if not symbol.size or symbol.section >= len(sections):
            continue
        content = sections[symbol.section].content[symbol.at : symbol.at + symbol.size]
        if symbol.section == code:
            functions[symbol.name] = _decode(content, symbol.at, relocations, symbols)
        else:
            data[symbol.name] = content
    return Object(functions=functions, data=data)


def _decode(
    content: bytes, start: int, relocations: dict[int, _Symbol], symbols: list[_Symbol]
) -> dict[int, Instruction]:
    found: dict[int, Instruction] = {}
    at = 0
    while at < len(content):
        code, registers, offset, immediate = struct.unpack_from("<BBhi", content, at)
        target = relocations.get(start + at)
        name = None if target is None else target.name
        if target is not None and not target.name:  # a section, and a place in it
            place = target.at + immediate
            inside = [
                s
                for s in symbols
                if s.name and s.section == target.section and s.at <= place < s.at + s.size
            ]
            name, immediate = inside[0].name, place - inside[0].at
        number = at // 8
        at += 8
        if code == 0x18:
            if target is None:
                immediate = (
                    immediate & 0xFFFFFFFF | struct.unpack_from("<i", content, at + 4)[0] << 32
                )
            at += 8
        found[number] = Instruction(
            code=code,
            to=registers & 15,
            source=registers >> 4,
            offset=offset,
            immediate=immediate,
            symbol=name,
        )
    return found

"""Connection vectors of the suite: read from files of Tmix, or generated; and written for a run.

A `Trace` is what the connections of one path of the dumbbell write, in columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairhaul._core import ScenarioError
from fairhaul.files.files import replace

Floats = NDArray[np.float64]

US = 1e6
HEADERS = 40
# The two sizes of packets, and the part of the connections that have the small one
# [TCPEVAL, 2.4].
SMALL, LARGE = 536, 1500
SMALL_PART = 0.1
# Packets that a connection may send at first; only the estimate of its duration needs them.
FIRST_PACKETS = 3
NO_LINE = 'is no line of a Tmix file, such as "SEQ 6851 1 21217 555382", "> 245" or "t 51257"'
ALTERNATE = (
    'this is the alternate format of Tmix; "Connection vectors" in docs/scenario.md has a command '
    "that converts it to the original format"
)


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The connections of one path.

    All columns have an entry for each connection, in the order of their starts.
    """

    start_s: Floats
    down_bytes: Floats
    """What the acceptor writes, payload."""
    up_bytes: Floats
    """What the initiator writes, payload."""
    pauses_s: Floats
    """The sum of its pauses."""
    units: NDArray[np.int64]
    is_small: NDArray[np.bool_]
    """Whether its packets have 536 bytes instead of 1500."""
    kind: Sequence[str]
    """`SEQ` or `CONC`."""
    body: Sequence[str]
    """The lines of its file that say what it writes."""

    def taken(self, which: NDArray[np.int64], start_s: Floats) -> Trace:
        """Give some of the connections, with other starts, in the order of these."""
        order = np.argsort(start_s, kind="stable")
        which = which[order]
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        taken: dict[str, Any] = {
            name: of[which] if isinstance(of, np.ndarray) else [of[index] for index in which]
            for name, of in columns.items()
        }
        return Trace(**{**taken, "start_s": start_s[order]})

    def down_bits(self) -> Floats:
        """Give what each acceptor puts on the wire, headers included."""
        return _bits(self.down_bytes, self.is_small)

    def up_bits(self) -> Floats:
        """Give what each initiator puts on the wire, headers included."""
        return _bits(self.up_bytes, self.is_small)

    def duration_s(self, rtt_s: float) -> Floats:
        """Estimate how long each connection lasts without other traffic.

        A unit takes a round trip to open and one for each doubling of its window.
        """
        payload = np.where(self.is_small, SMALL, LARGE) - HEADERS
        each = (self.down_bytes + self.up_bytes) / np.maximum(self.units, 1)
        rounds = 2 + np.log2(1 + each / (FIRST_PACKETS * payload))
        lasts: Floats = self.pauses_s + rtt_s * self.units * rounds
        return lasts

    def write(self, folder: Path, name: str) -> None:
        """Write a file for each size of packets, such as `r4s1-1500.cvec`."""
        for size, chosen in ((LARGE, ~self.is_small), (SMALL, self.is_small)):
            lines = [f"# Connections with packets of {size} B\n"]
            for index in np.flatnonzero(chosen).tolist():
                start_us = round(self.start_s[index] * US)
                lines.append(f"{self.kind[index]} {start_us}\n{self.body[index]}")
            replace(folder / file_name(name, size), "".join(lines).encode())

    def sizes(self) -> list[int]:
        """Give the sizes of packets that connections have, of `LARGE` and `SMALL`."""
        return [size for size in (LARGE, SMALL) if (self.is_small == (size == SMALL)).any()]


def file_name(name: str, size: int) -> str:
    """Give the name of the file of the connections of a path with packets of `size` bytes."""
    return f"{name}-{size}.cvec"


def _bits(payload: Floats, is_small: NDArray[np.bool_]) -> Floats:
    each = np.where(is_small, SMALL, LARGE) - HEADERS
    bits: Floats = 8 * (payload + HEADERS * np.ceil(payload / each))
    return bits


def read(path: Path, rng: np.random.Generator) -> Trace:
    """Read a file of Tmix.

    A connection whose segments have at most 496 bytes has small packets; if the file does not say
    (lines `m`), one in ten is drawn.

    Raises:
        ScenarioError: the file cannot be read, or a line is wrong.
    """
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: {error}") from None
    connections = list(_connections(text, path))
    if not connections:
        raise ScenarioError(f"{path}: the file has no connection; it begins with SEQ or CONC")
    drawn = rng.random(len(connections)) < SMALL_PART
    segments = np.array([of.segment for of in connections])
    trace = Trace(
        start_s=np.array([of.start_s for of in connections]),
        down_bytes=np.array([float(of.down) for of in connections]),
        up_bytes=np.array([float(of.up) for of in connections]),
        pauses_s=np.array([of.pauses_us / US for of in connections]),
        units=np.array([of.units for of in connections]),
        is_small=np.where(segments > 0, segments <= SMALL - HEADERS, drawn),
        kind=[of.kind for of in connections],
        body=["".join(of.lines) for of in connections],
    )
    return trace.taken(np.arange(len(connections)), trace.start_s)


@dataclass
class _Connection:
    """A connection whose lines are being read."""

    kind: str
    start_s: float
    lines: list[str]
    down: int = 0
    up: int = 0
    pauses_us: int = 0
    units: int = 0
    segment: int = 0

    def take(self, word: str, given: str) -> None:
        """Take a line, of which `given` is what follows its first word."""
        if word == "m":
            sizes = [int(size) for size in given.split()]
            self.segment = min(size for size in sizes if size > 0) if any(sizes) else 0
            return
        if word in {"w", "r", "l"}:
            return
        number = int(given.split(maxsplit=1)[0])
        if word in {">", "c>"}:
            self.up, self.units = self.up + number, self.units + 1
        elif word in {"<", "c<"}:
            self.down, self.units = self.down + number, self.units + 1
        elif word in {"t", "t>", "t<"}:
            self.pauses_us += number
        else:
            raise ValueError
        self.lines.append(f"{word} {number}\n")


def _connections(text: str, path: Path) -> Iterator[_Connection]:
    under_way: _Connection | None = None
    for number, line in enumerate(text.splitlines(), 1):
        word, given = (*line.split(maxsplit=1), "", "")[:2]
        if not word or word.startswith("#"):
            continue
        try:
            if word in {"SEQ", "CONC"}:
                if under_way is not None:
                    yield under_way
                start_s = int(given.split()[0]) / US
                under_way = _Connection(kind=word, start_s=start_s, lines=[])
            elif under_way is None:
                raise ValueError
            else:
                under_way.take(word, given)
        except (ValueError, IndexError):
            wrong = ALTERNATE if word in {"S", "C"} else f"{line.strip()!r} {NO_LINE}"
            raise ScenarioError(f"{path}:{number}: {wrong}") from None
    if under_way is not None:
        yield under_way

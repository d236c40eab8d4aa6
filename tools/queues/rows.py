"""The measurements: a file with a row for each run of the hardware."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fairhaul.text.nearest import hint
from tools import names
from tools.queues import SOURCE

COLUMNS = ("algorithm", "num_flows", "max_queue_depth_packets", "depth_p50")

# Below this buffer (packets) a burst of seven packets is a large part of it.
SMALLEST = 17.0

# The unit in which the switch counts, a packet of the set-up in it, and the packets of which the
# threshold is a multiple.
RATE_BPS = 10e9
CELL_B, PACKET_CELLS, PACKET_B = 80, 113, 9000
# The largest depth that the switch holds whatever its threshold is: with 222 packets no row with a
# full queue exceeds 216, which is 215 packets of 113 cells. Its buffer has 2 MB.
MOST_WAITING = 215


class BadFile(ValueError):
    """A file of measurements that cannot be read: its place, and what was expected."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A run of the hardware: the controller, the number of flows, the buffer, the median depth."""

    controller: str
    flows: int
    buffer: float
    median: float

    @property
    def name(self) -> str:
        """The row in a few words."""
        return f"{self.controller}, {self.flows} flow{'s'[: self.flows > 1]}, {self.buffer:.0f}"

    @property
    def capacity(self) -> int:
        """The packets that the queue holds, with the one that is being sent.

        A packet that leaves is dropped if the cells that it sees reach the threshold.
        """
        cells = round(self.buffer * PACKET_B / CELL_B)
        return min((cells - 1) // PACKET_CELLS, MOST_WAITING) + 1


def read(file: Path) -> list[Row]:
    """Read the rows of a file that have a buffer of at least `SMALLEST` packets.

    Raises:
        BadFile: it cannot be read; the message names the line and the column.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadFile(f"{file}: {str(why).lower()}; the measurements are {SOURCE}") from None
    return [row for row in _rows(file.name, text) if row.buffer >= SMALLEST]


def depth(times: float) -> int:
    """Give the depth that the switch counts for a packet that left after `times` packet times.

    It counts the packet itself, which takes 113 cells of 80 B, so that one without company is
    1.004 packets of 9000 B, which is rounded up.
    """
    return max(2, math.ceil(times))


def _rows(file: str, text: str) -> Iterator[Row]:
    lines = csv.DictReader(text.splitlines())
    for column in COLUMNS:
        if column not in (lines.fieldnames or ()):
            raise BadFile(f"{file}:1: the column {column} is missing; the file is {SOURCE}")
    known = names()
    for line in lines:
        place = f"{file}:{lines.line_num}"
        controller = line["algorithm"] or ""
        if controller not in known:
            raise BadFile(
                f"{place}: column algorithm: {controller!r} is not a controller; "
                f"{hint(controller, known)}"
            )
        flows = _number(place, line, "num_flows")
        if flows != int(flows):
            raise BadFile(f"{place}: column num_flows: {flows:g} is not a whole number")
        yield Row(
            controller=controller,
            flows=int(flows),
            buffer=_number(place, line, "max_queue_depth_packets"),
            median=_number(place, line, "depth_p50"),
        )


def _number(place: str, line: Mapping[str, str | None], column: str) -> float:
    given = line[column] or ""
    try:
        number = float(given)
    except ValueError:
        raise BadFile(f"{place}: column {column}: {given!r} is not a number") from None
    if not (math.isfinite(number) and number > 0):
        raise BadFile(f"{place}: column {column}: {given} is not a number above 0")
    return number

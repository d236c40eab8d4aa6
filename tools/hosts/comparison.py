"""What differs between the engines in a cell, how much of it is within bounds, and the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from fairhaul.text.table import Table
from tools.hosts.cells import Cell

Run = Mapping[str, Any]

# By how much a mean over the seeds may differ from Linux's, as a part of it.
CLOSE = 0.05
# The quantities that are compared: name in a run, heading, decimals.
QUANTITIES = (
    ("burst_mean", "burst", 2),
    ("burst_largest", "largest", 0),
    ("acks_per_packet", "ACKs/packet", 3),
    ("cwnd", "cwnd", 1),
    ("rtt_ms", "RTT ms", 3),
    ("goodput", "goodput", 3),
    ("share", "share", 3),
)
# Equal, and not only close.
EXACT = ("burst_largest",)
# Kept and shown, but not judged.
FURTHER = ("new_burst_mean", "new_burst_largest", "loss_rate", "loss_events")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A quantity in both engines: means over the seeds, and the range in Linux."""

    quantity: str
    sim: float
    linux: float
    least: float
    most: float

    @property
    def part(self) -> float:
        """The difference as a part of Linux's value."""
        return (self.sim - self.linux) / self.linux if self.linux else 0.0

    @property
    def agrees(self) -> bool:
        """Whether it is within bounds."""
        if self.quantity in EXACT:
            return self.sim == self.linux
        return abs(self.sim - self.linux) <= CLOSE * abs(self.linux)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        return {
            "sim": self.sim,
            "linux": self.linux,
            "least": self.least,
            "most": self.most,
            "part": self.part,
            "agrees": self.agrees,
        }


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A cell, and its runs on each engine."""

    cell: Cell
    sim: Sequence[Run]
    linux: Sequence[Run]

    @property
    def differences(self) -> list[Difference]:
        """The quantities that both engines have."""
        return list(self._of(name for name, _, _ in QUANTITIES))

    def _of(self, names: Iterator[str]) -> Iterator[Difference]:
        for name in names:
            ours = [run[name] for run in self.sim if run[name] is not None]
            theirs = [run[name] for run in self.linux if run[name] is not None]
            if ours and theirs:
                unite = max if name in EXACT else fmean
                yield Difference(
                    quantity=name,
                    sim=float(unite(ours)),
                    linux=float(unite(theirs)),
                    least=float(min(theirs)),
                    most=float(max(theirs)),
                )

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        further = {
            name: {
                "sim": [run[name] for run in self.sim],
                "linux": [run[name] for run in self.linux],
            }
            for name in FURTHER
        }
        return {
            "cell": self.cell.name,
            "agrees": all(each.agrees for each in self.differences),
            "differences": {each.quantity: each.to_dict() for each in self.differences},
            **further,
        }


def counts(cells: Sequence[Compared]) -> dict[str, tuple[int, int]]:
    """Give for each quantity, and for all of them, how many agree and how many there are."""
    found: dict[str, tuple[int, int]] = {}
    for name in [name for name, _, _ in QUANTITIES]:
        each = [of for one in cells for of in one.differences if of.quantity == name]
        found[name] = sum(of.agrees for of in each), len(each)
    found["all comparisons"] = tuple(map(sum, zip(*found.values(), strict=True)))  # type: ignore[assignment]
    whole = sum(all(of.agrees for of in one.differences) for one in cells)
    found["whole cells"] = whole, len(cells)
    return found


def markdown(cells: Sequence[Compared]) -> str:
    """Give the counts, and a row for each cell: simulator / Linux, bold where they differ."""
    totals = [
        [name, f"{agree}", f"{number}", f"{agree / number:.0%}" if number else ""]
        for name, (agree, number) in counts(cells).items()
    ]
    heads = ["quantity", "within bounds", "compared", "part"]
    rows = [_row(one) for one in cells]
    columns = ["cell", *(heading for _, heading, _ in QUANTITIES)]
    return "\n".join(
        [
            *Table(columns=heads, rows=totals, words=1).markdown(),
            "",
            *Table(columns=columns, rows=rows, words=len(columns)).markdown(),
            "",
        ]
    )


def _row(one: Compared) -> list[str]:
    found = {each.quantity: each for each in one.differences}
    return [one.cell.name, *(_entry(found.get(name), digits) for name, _, digits in QUANTITIES)]


def _entry(each: Difference | None, digits: int) -> str:
    if each is None:
        return ""
    text = f"{each.sim:.{digits}f} / {each.linux:.{digits}f}"
    return text if each.agrees else f"**{text}**"

"""The ledger of `make soak`: what was drawn at random, how much of it, and what failed.

A row of `tests/search/soak.csv` is a part of one call: its seed, the inputs that were judged, how
many of them failed, and how long it took. A finding stays where `make fuzz` keeps it, or in
`target/soak`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields

from fairhaul.files.files import csv_text
from fairhaul.files.files import replace as write_file
from fairhaul.text.table import Table
from tools import ROOT, csv_rows

LEDGER = ROOT / "tests" / "search" / "soak.csv"
ENGINES, PAUSES, INVARIANTS, OBJECTS = "both engines", "pauses and copies", "invariants", "objects"

COLUMNS = ("part", "seeds", "inputs", "failed", "hours")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A part of a soak."""

    part: str
    seed: int
    inputs: int
    findings: int
    seconds: int
    commit: str


def kept() -> list[Row]:
    """Give the ledger."""
    return [
        Row(
            part=row["part"],
            seed=int(row["seed"]),
            inputs=int(row["inputs"]),
            findings=int(row["findings"]),
            seconds=int(row["seconds"]),
            commit=row["commit"],
        )
        for row in csv_rows(LEDGER)
    ]


def add(rows: Iterable[Row]) -> None:
    """Append to the ledger."""
    head = [field.name for field in fields(Row)]
    LEDGER.parent.mkdir(exist_ok=True)
    write_file(LEDGER, csv_text([head, *map(astuple, [*kept(), *rows])]).encode())


def next_seed(rows: Sequence[Row]) -> int:
    """Give the first seed behind those of the ledger."""
    return max((row.seed for row in rows), default=0) + 1


def read_fuzz(text: str) -> dict[str, tuple[int, int]]:
    """Read what `scripts/fuzz` prints: for each part the inputs and the findings."""
    found: dict[str, tuple[int, int]] = {}
    for line in text.splitlines():
        if drawn := re.match(r"\d+ s: (\d+) cases, .* (\d+) failed;", line):
            found[INVARIANTS] = int(drawn[1]), int(drawn[2])
        elif reader := re.match(r"  (\w+): (\d+) inputs, no failure$", line):
            found[f"reader of a {reader[1]}"] = int(reader[2]), 0
        elif reader := re.match(r"  (\w+): FAILED", line):
            found[f"reader of a {reader[1]}"] = 0, 1
        elif wants := re.match(r"  objects that want much: (\d+) inputs, (\d+|no) failures", line):
            found[OBJECTS] = int(wants[1]), 0 if wants[2] == "no" else int(wants[2])
    return found


def table() -> str:
    """Give the sums of the ledger as Markdown."""
    return "\n".join(Table(columns=COLUMNS, rows=sums(kept()), words=1).markdown())


def sums(rows: Iterable[Row]) -> list[list[str]]:
    """Give for each part the seeds, the inputs, the findings and the hours of all calls."""
    by_part: dict[str, list[Row]] = {}
    for row in rows:
        by_part.setdefault(row.part, []).append(row)
    return [
        [
            part,
            str(len({row.seed for row in of})),
            str(sum(row.inputs for row in of)),
            str(sum(row.findings for row in of)),
            f"{sum(row.seconds for row in of) / 3600:.2f}",
        ]
        for part, of in by_part.items()
    ]

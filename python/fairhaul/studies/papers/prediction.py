"""What the simulator predicts of real hosts, stored before they run, and their results."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fairhaul import _core
from fairhaul.files.files import replace as put
from fairhaul.statistics.estimate import Estimate

if TYPE_CHECKING:
    from pathlib import Path

    from fairhaul.studies.papers.table import Cell, Table

FILE = "prediction.json"


def predicted(table: Table, seeds: int, runs: int) -> Table:
    """Widen the intervals of `table`, of `seeds` runs, to those of a mean over `runs` more.

    An interval of a mean says where the simulator's own lies; the mean of other runs varies too. If
    they are drawn from the same, 95 of 100 such means lie within sqrt(1 + seeds / runs) times it.
    """
    factor = math.sqrt(1 + seeds / runs)

    def wide(cell: Cell) -> Cell:
        return replace(cell, ours=[_widened(ours, factor) for ours in cell.ours])

    return replace(
        table, rows=[replace(row, cells=[wide(cell) for cell in row.cells]) for row in table.rows]
    )


def _widened(ours: Estimate, factor: float) -> Estimate:
    if ours.low is None or ours.high is None:
        return ours
    low, high = (ours.mean + factor * (end - ours.mean) for end in (ours.low, ours.high))
    return replace(ours, low=low, high=high)


def beside(table: Table, kernel: Table, name: str = "kernel") -> Table:
    """Put the results of a kernel, by its name in tables, beside the prediction."""
    rows = [
        replace(
            row,
            cells=[
                replace(cell, kernels={**cell.kernels, name: real.ours})
                for cell, real in zip(row.cells, other.cells, strict=True)
            ],
        )
        for row, other in zip(table.rows, kernel.rows, strict=True)
    ]
    notes = [*table.notes, *(note for note in kernel.notes if note not in table.notes)]
    return replace(table, rows=rows, notes=notes)


def store(out: Path, command: str, tables: Mapping[str, Sequence[Table]]) -> Path:
    """Write the predicted `tables` of each experiment into the directory `out`."""
    content = {
        "version": _core.__version__,
        "command": command,
        "predicted": {name: [table.to_dict() for table in each] for name, each in tables.items()},
    }
    out.mkdir(parents=True, exist_ok=True)
    file = out / FILE
    put(file, f"{json.dumps(content, indent=1, allow_nan=False)}\n".encode())
    return file

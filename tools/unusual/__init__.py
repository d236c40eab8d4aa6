"""What Linux did in the unusual cells, kept in the project, and a table of it and the simulator.

A row of `tests/unusual_linux.csv` is one run of a cell in Linux: its seed, the digest of its
scenario, the version of the kernel, and its figures. A cell whose scenario is another one now has
no rows, and is measured again.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fairhaul.files.files import csv_text, replace
from fairhaul.record.record import Record
from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import read_one
from fairhaul.studies.cells import UNUSUAL, Compared, UnusualCell
from fairhaul.studies.cells.agreement import SHOWN, Agreement, Figures, agreement, entries
from fairhaul.studies.cells.figures import figures_of
from fairhaul.studies.cells.work import REPEATS
from fairhaul.text.table import Table

TABLE = Path(__file__).resolve().parents[2] / "tests" / "unusual_linux.csv"
NAMING = ("cell", "scenario", "kernel", "seed")
# Runs of a cell of two flows, whose shares differ most by chance.
OF_PAIRS = 20
# Kept of the figures of a run, with the round trips of half seconds.
KEPT = ("link_share", "first_share", "rtt_ms", "cwnd", "loss_rate")


def digest(cell: UnusualCell) -> str:
    """Give what distinguishes the scenario of a cell from another that it had."""
    return hashlib.sha256(json.dumps(cell.scenario(), sort_keys=True).encode()).hexdigest()[:12]


def kept() -> Mapping[str, tuple[str, Figures]]:
    """Give for each cell whose scenario was measured the kernel, and its figures by seed."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found: dict[str, tuple[str, dict[str, list[float | None]]]] = {}
    for row in rows:
        cell = UNUSUAL.get(row["cell"])
        if cell is None or row["scenario"] != digest(cell):
            continue
        _, figures = found.setdefault(cell.name, (row["kernel"], {}))
        for figure in (name for name in row if name not in NAMING):
            if row[figure]:
                figures.setdefault(figure, []).append(float(row[figure]))
    return found


def keep(measured: Mapping[str, tuple[str, Figures]]) -> None:
    """Write the table, whole or not at all."""
    figures = list(dict.fromkeys(name for _, of in measured.values() for name in of))
    rows: list[list[object]] = [[*NAMING, *figures]]
    for name in (name for name in UNUSUAL if name in measured):
        kernel, of = measured[name]
        for index in range(len(of["link_share"])):
            values = [of[figure][index] if figure in of else None for figure in figures]
            shown = ["" if value is None else f"{value:.6g}" for value in values]
            rows.append([name, digest(UNUSUAL[name]), kernel, index + 1, *shown])
    replace(TABLE, csv_text(rows).encode())


def seeds_of(cell: UnusualCell) -> range:
    """Give the seeds of a cell."""
    return range(1, 1 + (OF_PAIRS if len(cell.controllers) > 1 else REPEATS))


def measure(cells: Iterable[UnusualCell], engine: Engine) -> Mapping[str, tuple[str, Figures]]:
    """Run cells with `seeds_of`: for each the version of the kernel, if any, and its figures.

    Raises:
        RunError: A run failed.
    """
    runs = [(cell, seed) for cell in cells for seed in seeds_of(cell)]
    found: dict[int, tuple[str, Mapping[str, float | None]]] = {}

    def read(index: int, record: Record) -> None:
        found[index] = (record.meta.get("kernel", ""), figures_of(scenarios[index], record))

    scenarios = [read_one({**cell.scenario(), "seed": seed}) for cell, seed in runs]
    for_each(scenarios, read, jobs=None, on_progress=None, engine=engine)
    measured: dict[str, tuple[str, dict[str, list[float | None]]]] = {}
    for index, (cell, _) in enumerate(runs):
        kernel, values = found[index]
        _, figures = measured.setdefault(cell.name, (kernel, {}))
        for name, value in values.items():
            if name in KEPT or name.startswith("rtt_ms_"):
                figures.setdefault(name, []).append(value)
    return measured


def compared(name: str, sim: Figures, linux: Figures) -> Compared:
    """Put both engines' figures of a cell side by side."""
    return Compared(cell=UNUSUAL[name], cycle_s=None, by={"sim": sim, "linux": linux})


def table(cells: Iterable[Compared]) -> Sequence[str]:
    """Give the lines of tables in Markdown, simulator / Linux.

    Cells of one flow have a table for each figure, with a row for each kind and a column for each
    controller; cells of two flows have one table. A list of the cells that differ follows.
    """
    found = {
        UNUSUAL[one.cell.name]: {each.figure: each for each in agreement(one)} for one in cells
    }
    alone = {cell: figures for cell, figures in found.items() if len(cell.controllers) == 1}
    pairs = {cell: figures for cell, figures in found.items() if len(cell.controllers) > 1}
    lines: list[str] = []
    for column, (figure, heading, _, _) in enumerate(SHOWN):
        if figure != "first_share":
            lines += ["", *_by_controller(alone, column, heading)]
    if pairs:
        head = ["two flows", *(heading for _, heading, _, _ in SHOWN)]
        rows = [[f"`{cell.name}`", *entries(pairs[cell], missing="")] for cell in pairs]
        lines += ["", *_markdown(head, rows)]
    for cell, figures in found.items():
        differ = [_word(name) for name, each in figures.items() if not each.agrees]
        if differ:
            lines += ["", f"`{cell.name}` differs: {', '.join(differ)}"]
    return lines[1:]


def _by_controller(
    cells: Mapping[UnusualCell, Mapping[str, Agreement]], column: int, heading: str
) -> list[str]:
    """A column of `SHOWN` as a table: a row for each kind of cell, a column for each controller."""
    controllers = list(dict.fromkeys(cell.controllers[0] for cell in cells))
    of_kind: dict[str, dict[str, str]] = {}
    for cell, figures in cells.items():
        entry = entries(figures, missing="")[column]
        of_kind.setdefault(cell.kind, {})[cell.controllers[0]] = entry
    rows = [
        [f"`{kind}`", *(of.get(name, "") for name in controllers)] for kind, of in of_kind.items()
    ]
    return _markdown([heading, *(f"`{name}`" for name in controllers)], rows)


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return list(Table(columns=head, rows=list(rows), words=len(head)).markdown())


def _word(figure: str) -> str:
    words = {"link_share": "goodput", "first_share": "share", "rtt_ms": "RTT", "cwnd": "window"}
    return words.get(figure) or f"RTT from {figure.removeprefix('rtt_ms_').removesuffix('s')} s on"

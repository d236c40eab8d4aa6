"""What Linux did in the unusual cells, kept in the project, and a table of it and the simulator.

A row of `tests/unusual_linux.csv` is one run of a cell in Linux: its seed, the digest of its
scenario, the version of the kernel, and its figures. A cell whose scenario is another one now has
no rows, and is measured again.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fairhaul.record.record import Record
from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import read_one
from fairhaul.studies.cells import UNUSUAL, Compared, UnusualCell
from fairhaul.studies.cells.agreement import SHOWN, agreement, entries
from fairhaul.studies.cells.figures import figures_of
from fairhaul.studies.cells.work import REPEATS, Figures

TABLE = Path(__file__).resolve().parents[2] / "tests" / "unusual_linux.csv"
NAMING = ("cell", "scenario", "kernel", "seed")
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
        for figure in row.keys() - set(NAMING):
            if row[figure]:
                figures.setdefault(figure, []).append(float(row[figure]))
    return found


def keep(measured: Mapping[str, tuple[str, Figures]]) -> None:
    """Write the table, whole or not at all."""
    figures = list(dict.fromkeys(name for _, of in measured.values() for name in of))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*NAMING, *figures])
    for name in (name for name in UNUSUAL if name in measured):
        kernel, of = measured[name]
        for index in range(len(of["link_share"])):
            values = [of[figure][index] if figure in of else None for figure in figures]
            shown = ["" if value is None else f"{value:.6g}" for value in values]
            table.writerow([name, digest(UNUSUAL[name]), kernel, index + 1, *shown])
    draft = TABLE.with_suffix(".part")
    draft.write_text(text.getvalue(), encoding="utf-8")
    draft.replace(TABLE)


def measure(cells: Iterable[UnusualCell], engine: Engine) -> Mapping[str, tuple[str, Figures]]:
    """Run cells with five seeds: for each the version of the kernel, if any, and its figures.

    Raises:
        RunError: A run failed.
    """
    runs = [(cell, seed + 1) for cell in cells for seed in range(REPEATS)]
    found: dict[int, tuple[str, Mapping[str, float | None]]] = {}

    def read(index: int, record: Record) -> None:
        found[index] = (record.meta.get("kernel", ""), figures_of(record, runs[index][0]))

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
    """Give the lines of the table in Markdown, simulator / Linux in each column."""
    head = ["cell", *(heading for _, heading, _, _ in SHOWN), "differs in"]
    lines = [_row(head), f"|{'---|' * len(head)}"]
    for one in cells:
        found = {each.figure: each for each in agreement(one)}
        differ = [figure for figure, each in found.items() if not each.agrees]
        lines.append(
            _row(
                [
                    f"`{one.cell.name}`",
                    *entries(found, missing=""),
                    ", ".join(map(_word, differ)),
                ]
            )
        )
    return lines


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _word(figure: str) -> str:
    words = {"link_share": "goodput", "first_share": "share", "rtt_ms": "RTT", "cwnd": "window"}
    return words.get(figure) or f"RTT from {figure.removeprefix('rtt_ms_').removesuffix('s')} s on"

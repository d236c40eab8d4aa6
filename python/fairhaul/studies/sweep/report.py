"""The report of a sweep: its figures, its table, and where its results came from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairhaul.figures.axes import axes, label
from fairhaul.figures.figure import Figure, Section, Table
from fairhaul.figures.steps import goodputs
from fairhaul.figures.swept import figures
from fairhaul.jobs.plan import FILE, read_plan, rows
from fairhaul.jobs.store import Store
from fairhaul.report.page import write as write_page
from fairhaul.results.screen import cells, heads
from fairhaul.results.table import Row, parties
from fairhaul.statistics.estimate import legend
from fairhaul.text.phrases import listed

if TYPE_CHECKING:
    from fairhaul.figures.slide import Style
    from fairhaul.report.renderer import Renderer

PAGE = "report.html"


def is_sweep(directory: Path) -> bool:
    """Whether a directory holds a sweep."""
    return (directory / FILE).is_file()


def write(directory: Path, out: Path | None, renderer: Renderer, style: Style) -> Path:
    """Write the report of the sweep in `directory`; give the path of its page.

    Raises:
        StoreError: the directory is not that of a sweep, or it is damaged.
    """
    plan, store = read_plan(directory), Store(directory)
    table = rows(plan, store)
    title = plan.points[0].title
    sections = [
        Section(heading="Over the swept keys", figures=[*figures(table), *_slider(table)]),
        Section(heading="Every point", text=[_how(table)], tables=[_table(table)]),
        Section(heading="Where the results come from", tables=[_sessions(store)], folded=True),
    ]
    return write_page(
        (out or directory) / PAGE,
        title,
        _question(table),
        _answer(table),
        sections,
        renderer,
        style,
    )


def _slider(table: Sequence[Row]) -> list[Figure]:
    """Draw the goodput of each flow or group with a slider over the points."""
    done = [row for row in table if row.runs]
    names = [label(row, axes(done)) for row in done]
    figure = goodputs(names, [parties(row.summary) for row in done])
    return [figure] if figure else []


def _question(table: Sequence[Row]) -> str:
    keys = [axis.name for axis in axes(table)]
    return f"How do the results depend on {listed(keys)}?" if keys else "What do the runs give?"


def _answer(table: Sequence[Row]) -> str:
    """Say which points are the fairest and the least fair, or how many there are."""
    runs = sum(len(row.runs) for row in table)
    count = f"{len(table)} points, {runs} runs."
    judged = [(row.summary["fairness"]["jain"], row) for row in table if row.runs]
    known = [(jain["mean"], row) for jain, row in judged if jain is not None]
    if len(known) < 2:
        return count
    keys = axes(table)

    def where(row: Row) -> str:
        return ", ".join(f"{axis.name} = {row.point.variant.get(axis.key)}" for axis in keys)

    (low, worst), (high, best) = (
        function(known, key=lambda pair: pair[0]) for function in (min, max)
    )
    return (
        f"{count} Jain's index is {low:.3f} to {high:.3f}: lowest at {where(worst)}, highest at "
        f"{where(best)}."
    )


def _how(table: Sequence[Row]) -> str:
    counts = sorted({len(row.runs) for row in table})
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"Seeds of each point: {seeds}. " + (legend(counts[-1]) if counts[-1] > 1 else "")


def _table(table: Sequence[Row]) -> Table:
    columns, words = heads(table)
    return Table(columns=columns, rows=cells(table), words=words)


def _sessions(store: Store) -> Table:
    used = set(store.column("result", "session"))
    sessions = [row for row in store.rows("session") if row["id"] in used]
    return Table(
        columns=["began", "command", "version", "machine", "processor", "Git"],
        rows=[
            [str(row[key]) or "-" for key in ("began", "command", "build", "machine")]
            + [f"{row['cores']} x {row['processor']}", str(row["git"]) or "-"]
            for row in sorted(sessions, key=lambda row: str(row["began"]))
        ],
        words=6,
        prose=True,
    )

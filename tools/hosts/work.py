"""The runs of the cells on both engines, and the store that keeps what they gave.

A run in Linux is kept whatever the simulator is built from: only its program, `fairhaul-host`, the
scenario and the code of `figures.py` address it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul import RunError
from fairhaul.jobs.store import Job, build_of, jobs_of
from fairhaul.jobs.store.sources import digest, file_of
from fairhaul.jobs.values import Running
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_one
from tools.hosts.comparison import Compared
from tools.hosts.figures import figures_of

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.engines import Engine
    from tools.hosts.cells import Cell

OF = "hosts"
TRACED = "1"
"""The flow whose packets are traced, which is the first."""


@dataclass(frozen=True, kw_only=True)
class Length:
    """How often and how long a cell is measured; by default as docs/hosts.md states."""

    seeds: int = 3
    most_packets: int | None = None


def compared(
    cells: Sequence[Cell], length: Length, out: Path, jobs: int | None = None
) -> Iterator[Compared | str]:
    """Run the cells one after the other, or take them from the store; a sentence if one fails."""
    with Running(out=out).opened() as opened:
        for cell in cells:
            try:
                sim, linux = (_runs(cell, length, engine, opened, jobs) for engine in ENGINES)
            except RunError as error:
                yield f"{cell.name}: {error}"
            else:
                yield Compared(cell=cell, sim=sim, linux=linux)


ENGINES: tuple[Engine, Engine] = ("sim", "linux")


def _runs(
    cell: Cell, length: Length, engine: Engine, opened: Running, jobs: int | None
) -> list[Any]:
    own = digest([file_of(figures_of)]) if engine == "linux" else build_of(figures_of)
    scenario = read_one(cell.scenario(length.most_packets))
    plan = jobs_of(scenario, length.seeds, engine, OF, own, {"cell": cell.name})
    found = opened.kept([job.key for job in plan])
    left: list[Job] = [job for job in plan if job.key not in found]

    def keep(index: int, record: Record) -> None:
        job = left[index]
        found[job.key] = figures_of(job.scenario, record)
        if opened.writer is not None:
            opened.writer.keep(job, record.meta, found[job.key])

    for_each([job.scenario for job in left], keep, jobs=jobs, engine=engine, trace=TRACED)
    return [found[job.key] for job in plan]

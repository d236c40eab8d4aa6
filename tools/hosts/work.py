"""The runs of the cells on both engines, and the store that keeps what they gave.

A run with a kernel is kept whatever the simulator is built from: only its program, `fairhaul-host`,
the scenario and the code of `figures.py` address it.
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
from fairhaul.measures.types import is_valid
from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import FACTS
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
class Measurement:
    """How often and how long a cell is measured; by default as docs/hosts.md states."""

    seeds: int = 3
    most_packets: int | None = None
    judge: Engine = "linux"
    """The engine with a kernel."""


def compared(
    cells: Sequence[Cell],
    measurement: Measurement,
    out: Path,
    jobs: int | None = None,
) -> Iterator[Compared | str]:
    """Run the cells one after the other, or take them from the store; a sentence if one fails."""
    engines: tuple[Engine, Engine] = ("sim", measurement.judge)
    real_time = FACTS[measurement.judge].real_time
    with Running(out=out).opened() as opened:
        for cell in cells:
            scenario = read_one(cell.scenario(measurement.most_packets, real_time=real_time))
            about = {"cell": cell.name}
            try:
                sim, linux = (
                    _figures(
                        jobs_of(scenario, measurement.seeds, engine, OF, _build(engine), about),
                        engine,
                        opened,
                        jobs,
                    )
                    for engine in engines
                )
            except RunError as error:
                yield f"{cell.name}: {error}"
            else:
                yield Compared(cell=cell, sim=sim, linux=linux)


def _build(engine: Engine) -> str:
    return digest([file_of(figures_of)]) if FACTS[engine].kernel else build_of(figures_of)


def _figures(plan: Sequence[Job], engine: Engine, opened: Running, jobs: int | None) -> list[Any]:
    """Give the figures of the runs that are valid."""
    found = opened.kept([job.key for job in plan])
    left = [job for job in plan if job.key not in found]
    invalid: set[str] = set()

    def keep(index: int, record: Record) -> None:
        job = left[index]
        if not is_valid(record.meta):
            invalid.update(record.meta["trust"]["reasons"])
            return
        found[job.key] = figures_of(job.scenario, record)
        if opened.writer is not None:
            opened.writer.keep(job, record.meta, found[job.key])

    trace = None if FACTS[engine].real_time else TRACED
    for_each([job.scenario for job in left], keep, jobs=jobs, engine=engine, trace=trace)
    if not found:
        raise RunError(f"no run is valid: {'; '.join(sorted(invalid))}")
    return [found[job.key] for job in plan if job.key in found]

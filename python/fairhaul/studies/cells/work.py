"""Runs cells on engines, and keeps each run in a store, so that a long job can be resumed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fairhaul import _core
from fairhaul.jobs.store import Job, Writer, build_of, is_store, jobs_of
from fairhaul.measures.types import is_valid
from fairhaul.runs.runs import refuse_if_impossible
from fairhaul.scenario.engines import FACTS, Engine, in_order
from fairhaul.scenario.read import ScenarioError, read_one
from fairhaul.statistics.estimate import estimate
from fairhaul.studies.cells.figures import PREDICTION_S, AnyCell, Values, figures_of, predicted
from fairhaul.studies.cells.table import CELLS, Cell
from fairhaul.studies.cells.unusual import UNUSUAL, UnusualCell
from fairhaul.text.nearest import hint

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.runs.runs import OnProgress

LEAST_S = 30.0
CYCLES = 5
# Measured times are multiples of it, so that builds that differ slightly measure the same time.
STEP_S = 10.0
# A cell whose window takes longer from loss to loss does not run in real time.
LONGEST_CYCLE_S = 20.0
REPEATS = 5

OnEvent = Callable[[str], None]
Figures = Mapping[str, Sequence[float | None]]
C = TypeVar("C", Cell, UnusualCell)
# Of the unusual cells the lab runs one in so many.
LAB_RUNS_ONE_IN = 10


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The results of a cell: for each engine a mapping of figures to a value of every run."""

    cell: AnyCell
    cycle_s: float | None
    by: Mapping[Engine, Figures | None]
    """None where the cell takes too long for an engine in real time, or no run of it is valid."""

    def to_dict(self) -> dict[str, Any]:
        """Give the result as `--json` prints it."""
        found: dict[str, Any] = {"cell": self.cell.name, "cycle_s": self.cycle_s}
        for engine, figures in self.by.items():
            found[engine] = None if figures is None else dict(figures)
        return found

    def ratio(self, figure: str, engine: Engine = "lab") -> float | None:
        """The simulator's mean over that of an engine with a kernel."""
        sim, kernel = mean(self.by.get("sim"), figure), mean(self.by.get(engine), figure)
        return sim / kernel if sim is not None and kernel else None


def mean(figures: Figures | None, figure: str) -> float | None:
    """The mean of a figure over the runs that have it."""
    known = [value for value in (figures or {}).get(figure, []) if value is not None]
    return estimate(known).mean if known else None


def compare(
    names: Sequence[str] = (),
    *,
    out: Path,
    engines: Sequence[Engine] = ("sim", "lab"),
    repeats: int | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    on_event: OnEvent = lambda _: None,
) -> list[Compared]:
    """Compare engines on cells, all of them if none is named.

    The simulator goes first, on all of them; it also predicts how long each has to be measured.

    Args:
        names: names of `CELLS`.
        out: the directory of the results, a store. A valid run is not repeated if this build made
            it, of a kernel on this one.
        engines: the engines that are compared.
        repeats: the number of runs of each cell with a kernel; by default 5 in Linux, and in the
            lab 5 of the quoted cells and 1 of the others. The simulator always runs a cell 5 times.
        jobs: the number of runs at a time; by default one per core, and one of the kernel.
        on_progress: called with the progress of the runs under way.
        on_event: called with a sentence at the start of each step.

    Raises:
        ScenarioError: there is no such cell.
        StoreError: `out` exists and is something else.
        Refused: an engine cannot be used here, or its kernel lacks something.
        RunError: a run failed, or no run of any cell is valid.
    """
    cells = _named(names, CELLS, "cell")
    for engine in () if is_store(out) else engines:
        refuse_if_impossible(engine, [read_one(cell.scenario(LEAST_S)) for cell in cells])
    with Writer(out, "lab cells") as writer:
        runs = _Runs(writer, jobs, on_progress, on_event)
        found = runs.values({cell: _prediction(cell) for cell in cells}, "sim", predicted)
        cycles = {cell: values[0]["cycle_s"] for cell, values in found.items()}
        return runs.compared(cycles, engines, lambda engine: _plan(cycles, engine, repeats))


def compare_unusual(
    names: Sequence[str] = (),
    *,
    out: Path,
    engines: Sequence[Engine] = ("sim", "linux"),
    repeats: int | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    on_event: OnEvent = lambda _: None,
) -> list[Compared]:
    """Compare engines on the unusual cells, all of them if none is named.

    Args:
        names: names of `UNUSUAL`.
        out: as in `compare`.
        engines: the engines that are compared; the lab runs every tenth cell only.
        repeats: the number of runs of each cell on each engine, by default 5.
        jobs: the number of runs at a time; by default one per core, and one of the kernel.
        on_progress: called with the progress of the runs under way.
        on_event: called with a sentence at the start of each step.

    Raises:
        ScenarioError: there is no such cell.
        StoreError: `out` exists and is something else.
        Refused: an engine cannot be used here, or its kernel lacks something.
        RunError: a run failed, or no run of any cell is valid.
    """
    cells = _named(names, UNUSUAL, "unusual cell")

    def plan(engine: Engine) -> dict[UnusualCell, list[Job]]:
        chosen = cells[::LAB_RUNS_ONE_IN] if FACTS[engine].real_time else cells
        count = repeats or REPEATS
        return {cell: _jobs(cell.scenario(), count, engine, "unusual figures") for cell in chosen}

    with Writer(out, "lab cells") as writer:
        runs = _Runs(writer, jobs, on_progress, on_event)
        return runs.compared(dict.fromkeys(cells), engines, plan)


def _named(names: Sequence[str], known: Mapping[str, C], what: str) -> list[C]:
    """Give the cells of these names, or all that are known."""
    for name in names:
        if name not in known:
            raise ScenarioError(f"unknown {what} {name!r}; {hint(name, known)}")
    return [known[name] for name in (names or known)]


def _plan(
    cycles: Mapping[Cell, float | None], engine: Engine, repeats: int | None
) -> dict[Cell, list[Job]]:
    """Plan the runs of the cells on an engine; real time takes no cell with long cycles."""
    facts = FACTS[engine]

    def count(cell: Cell) -> int:
        usual = REPEATS if cell.quoted or not facts.real_time else 1
        return (repeats if facts.kernel else None) or usual

    return {
        cell: _jobs(cell.scenario(measured_s(cycle_s)), count(cell), engine, "cell figures")
        for cell, cycle_s in cycles.items()
        if not facts.real_time or (cycle_s or 0.0) <= LONGEST_CYCLE_S
    }


def _prediction(cell: Cell) -> list[Job]:
    return _jobs(cell.scenario(PREDICTION_S), 1, "sim", "cell prediction")


def _jobs(scenario: Mapping[str, Any], repeats: int, engine: Engine, what: str) -> list[Job]:
    return jobs_of(read_one(scenario), repeats, engine, what, build_of(figures_of))


def _columns(values: Sequence[Values]) -> Figures:
    return {figure: [run[figure] for run in values] for figure in values[0]}


@dataclass(frozen=True)
class _Runs:
    """Runs the jobs that the store lacks, and keeps what they give."""

    writer: Writer
    at_once: int | None
    on_progress: OnProgress | None
    on_event: OnEvent

    def compared(
        self,
        cycles: Mapping[C, float | None],
        engines: Sequence[Engine],
        plan_of: Callable[[Engine], Mapping[C, Sequence[Job]]],
    ) -> list[Compared]:
        """Run what an engine's plan has of the cells, and compare the engines."""
        found: dict[Engine, Mapping[C, Sequence[Values]]] = {}
        for engine in in_order(engines):
            plan = plan_of(engine)
            left = [own for own in plan.values() if any(job.key not in self.writer for job in own)]
            if left:
                refuse_if_impossible(engine, [own[0].scenario for own in left])
            found[engine] = self.values(plan, engine, figures_of)
        return [
            Compared(
                cell=cell,
                cycle_s=cycle_s,
                by={
                    engine: _columns(of_cells[cell]) if cell in of_cells else None
                    for engine, of_cells in found.items()
                },
            )
            for cell, cycle_s in cycles.items()
        ]

    def values(
        self,
        wanted: Mapping[C, Sequence[Job]],
        engine: Engine,
        value_of: Callable[[Record, C], Values],
    ) -> dict[C, list[Values]]:
        """Give the values of the valid runs of each cell; those of invalid runs are not kept.

        A cell without a valid run is not in the result, and an event says why.

        Raises:
            RunError: a run failed, or no run of any cell is valid.
        """
        from fairhaul.runs.runs import for_each

        keys = {job.key for jobs in wanted.values() for job in jobs}
        found = {result.key: result.decoded() for result in self.writer.store.results(keys)}
        plan = [
            (cell, job) for cell, jobs in wanted.items() for job in jobs if job.key not in found
        ]
        if plan:
            self.on_event(
                f"{FACTS[engine].title}: {len({cell for cell, _ in plan})} cells, {len(plan)} runs"
            )
        invalid: dict[C, set[str]] = {}

        def read(index: int, record: Record) -> None:
            cell, job = plan[index]
            if not is_valid(record.meta):
                invalid.setdefault(cell, set()).update(record.meta["trust"]["reasons"])
                return
            found[job.key] = value_of(record, cell)
            self.writer.keep(job, record.meta, found[job.key], {"cell": cell.name})

        for_each(
            [job.scenario for _, job in plan],
            read,
            jobs=self.at_once,
            on_progress=self.on_progress,
            engine=engine,
        )
        values = {
            cell: [found[job.key] for job in jobs if job.key in found]
            for cell, jobs in wanted.items()
        }
        lacking = [
            f"{cell.name}: no run is valid: {'; '.join(sorted(invalid[cell]))}"
            for cell, of_cell in values.items()
            if not of_cell
        ]
        if lacking and len(lacking) == len(wanted):
            raise _core.RunError("\n".join(lacking))
        for sentence in lacking:
            self.on_event(sentence)
        return {cell: of_cell for cell, of_cell in values.items() if of_cell}


def measured_s(cycle_s: float | None) -> float:
    """The measured time for a cycle of this length."""
    return max(LEAST_S, STEP_S * math.ceil(CYCLES * (cycle_s or 0.0) / STEP_S))

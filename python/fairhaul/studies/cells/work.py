"""The runs of cells on engines, and what each engine gave."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

from fairhaul import _core
from fairhaul.jobs.store import Job, build_of, is_store, jobs_of
from fairhaul.jobs.values import Compute, Invalid, Running, RunOptions, values
from fairhaul.report.outcome import StudyResult
from fairhaul.runs.runs import refuse_if_impossible
from fairhaul.scenario.engines import FACTS, Engine, in_order
from fairhaul.scenario.read import ScenarioError, read_one
from fairhaul.studies.cells.agreement import Compared
from fairhaul.studies.cells.figures import PREDICTION_S, Values, figures_of, predicted
from fairhaul.studies.cells.outcome import outcome_of
from fairhaul.studies.cells.table import CELLS, FILE, UNUSUAL, AnyCell, Cell, UnusualCell
from fairhaul.text.nearest import hint

LEAST_S = 30.0
CYCLES = 5
# Measured times are multiples of it, so that builds that differ slightly measure the same time.
STEP_S = 10.0
# A cell whose window takes longer from loss to loss does not run in real time.
LONGEST_CYCLE_S = 20.0
REPEATS = 5

C = TypeVar("C", Cell, UnusualCell)
# Of the unusual cells the lab runs one in so many.
LAB_RUNS_ONE_IN = 10


@dataclass(frozen=True, kw_only=True)
class Cells(StudyResult):
    """The results of all cells, in their order."""

    cells: Sequence[Compared]
    engines: Sequence[Engine]
    unusual: bool

    outcome = outcome_of


def compare(
    names: Sequence[str] = (),
    *,
    engines: Sequence[Engine] = ("sim", "lab"),
    seeds: int | None = None,
    **options: Unpack[RunOptions],
) -> Cells:
    """Compare engines on cells, all of them if none is named.

    The simulator goes first, on all of them; it also predicts how long each has to be measured.

    Args:
        names: names of `CELLS`.
        engines: the engines that are compared.
        seeds: the number of runs of each cell with a kernel; by default 5 in Linux, and in the lab
            5 of the quoted cells and 1 of the others. The simulator always runs a cell 5 times.
        options: how the runs are run, as `fairhaul.jobs.values.Running` has it.

    Raises:
        ScenarioError: there is no such cell.
        StoreError: the directory exists and is something else.
        Refused: an engine cannot be used here, or its kernel lacks something.
        RunError: a run failed, or no run of any cell is valid.
    """
    cells, running = _named(names, CELLS, "cell"), Running.of(options)
    for engine in () if running.out is not None and is_store(running.out) else engines:
        refuse_if_impossible(engine, [read_one(cell.scenario(LEAST_S)) for cell in cells])
    cycles: dict[Cell, float | None] = {}
    by = build_of(figures_of, FILE)

    def plan(engine: Engine) -> dict[Cell, list[Job]]:
        facts = FACTS[engine]
        return {
            cell: _jobs(
                cell,
                cell.scenario(measured_s(cycle_s)),
                (seeds if facts.kernel else None)
                or (REPEATS if cell.quoted or not facts.real_time else 1),
                engine,
                "cell figures",
                by,
            )
            for cell, cycle_s in cycles.items()
            if not facts.real_time or (cycle_s or 0.0) <= LONGEST_CYCLE_S
        }

    with running.opened() as opened:
        predictions = {
            cell: _jobs(cell, cell.scenario(PREDICTION_S), 1, "sim", "cell prediction", by)
            for cell in cells
        }
        found = _values(predictions, "sim", predicted, opened)
        cycles |= {cell: values[0]["cycle_s"] for cell, values in found.items()}
        done = _compared(cycles, engines, plan, opened)
    return Cells(cells=done, engines=in_order(engines), unusual=False)


def compare_unusual(
    names: Sequence[str] = (),
    *,
    engines: Sequence[Engine] = ("sim", "linux"),
    seeds: int | None = None,
    **options: Unpack[RunOptions],
) -> Cells:
    """Compare engines on the unusual cells, `UNUSUAL`, as `compare` does on the usual ones.

    The lab runs every tenth cell only; `seeds` is the number of runs on each engine, by default 5.
    """
    cells, by = _named(names, UNUSUAL, "unusual cell"), build_of(figures_of, FILE)

    def plan(engine: Engine) -> dict[UnusualCell, list[Job]]:
        chosen = cells[::LAB_RUNS_ONE_IN] if FACTS[engine].real_time else cells
        return {
            cell: _jobs(cell, cell.scenario(), seeds or REPEATS, engine, "unusual figures", by)
            for cell in chosen
        }

    with Running.of(options).opened() as opened:
        done = _compared(dict.fromkeys(cells), engines, plan, opened)
    return Cells(cells=done, engines=in_order(engines), unusual=True)


def _named(names: Sequence[str], known: Mapping[str, C], what: str) -> list[C]:
    """Give the cells of these names, or all that are known."""
    for name in names:
        if name not in known:
            raise ScenarioError(f"unknown {what} {name!r}; {hint(name, known)}")
    return [known[name] for name in (names or known)]


def _jobs(
    cell: AnyCell, scenario: Mapping[str, Any], seeds: int, engine: Engine, what: str, by: str
) -> list[Job]:
    return jobs_of(read_one(scenario), seeds, engine, what, by, {"cell": cell.name})


def _compared(
    cycles: Mapping[C, float | None],
    engines: Sequence[Engine],
    plan_of: Callable[[Engine], Mapping[C, Sequence[Job]]],
    running: Running,
) -> list[Compared]:
    """Run what an engine's plan has of the cells, and compare the engines."""
    found: dict[Engine, dict[C, dict[str, list[float | None]]]] = {}
    for engine in in_order(engines):
        plan = plan_of(engine)
        kept = running.kept([job.key for own in plan.values() for job in own])
        left = [own for own in plan.values() if any(job.key not in kept for job in own)]
        if left:
            refuse_if_impossible(engine, [own[0].scenario for own in left])
        found[engine] = {
            cell: {figure: [run[figure] for run in runs] for figure in runs[0]}
            for cell, runs in _values(plan, engine, figures_of, running).items()
        }
    return [
        Compared(
            cell=cell,
            cycle_s=cycle_s,
            by={engine: of_cells.get(cell) for engine, of_cells in found.items()},
        )
        for cell, cycle_s in cycles.items()
    ]


def _values(
    wanted: Mapping[C, Sequence[Job]], engine: Engine, compute: Compute, running: Running
) -> dict[C, list[Values]]:
    """Give the values of the valid runs of each cell.

    A cell without a valid run is not in the result, and an event says why.

    Raises:
        RunError: a run failed, or no run of any cell is valid.
    """
    jobs = [job for own in wanted.values() for job in own]
    if jobs:
        running.say(f"{FACTS[engine].title}: {len(wanted)} cells, {len(jobs)} runs")
    done = iter(values(jobs, compute, running, engine=engine))
    found = {cell: [next(done) for _ in own] for cell, own in wanted.items()}
    valid = {
        cell: [value for value in of_cell if not isinstance(value, Invalid)]
        for cell, of_cell in found.items()
    }
    lacking = [
        f"{cell.name}: no run is valid: "
        f"{'; '.join(sorted({reason for value in found[cell] for reason in value.reasons}))}"
        for cell, of_cell in valid.items()
        if not of_cell
    ]
    if lacking and len(lacking) == len(wanted):
        raise _core.RunError("\n".join(lacking))
    for sentence in lacking:
        running.say(sentence)
    return {cell: of_cell for cell, of_cell in valid.items() if of_cell}


def measured_s(cycle_s: float | None) -> float:
    """The measured time for a cycle of this length."""
    return max(LEAST_S, STEP_S * math.ceil(CYCLES * (cycle_s or 0.0) / STEP_S))

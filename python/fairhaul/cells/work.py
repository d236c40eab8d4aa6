"""Runs cells on both engines, and stores the result of each, so that a long job can be resumed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul import _core, files, lab
from fairhaul.cells.table import CELLS, PACKET, Cell
from fairhaul.estimate import estimate
from fairhaul.nearest import hint
from fairhaul.scenario import ScenarioError, read_one
from fairhaul.store import build

if TYPE_CHECKING:
    from fairhaul.record import Record
    from fairhaul.runs import Engine, OnProgress

LEAST_S = 30.0
CYCLES = 5
# A cell whose window takes longer from loss to loss runs in the simulator alone.
LONGEST_CYCLE_S = 20.0
# The run that a cycle is predicted from.
PREDICTION_S = 300.0
REPEATS = 5
# Of a full packet: the kernel's has a time stamp, the simulator's has none.
PAYLOAD = {"sim": PACKET - 40, "lab": PACKET - 52}

OnEvent = Callable[[str], None]
Figures = Mapping[str, Sequence[float | None]]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The results of a cell: for each engine a mapping of figures to a value of every run."""

    cell: Cell
    cycle_s: float | None
    sim: Figures
    lab: Figures | None = None
    invalid: int = 0
    """Invalid runs of the kernel."""

    @property
    def alone(self) -> bool:
        """Whether the cell runs in the simulator alone."""
        return self.cycle_s is not None and self.cycle_s > LONGEST_CYCLE_S

    def whole(self, repeats: int) -> bool:
        """Whether the kernel has run the cell `repeats` times, or does not run it."""
        if self.lab is None:
            return self.alone
        return len(self.lab["rtt_ms"]) + self.invalid >= repeats

    def to_dict(self) -> dict[str, Any]:
        """Give the result as it is stored."""
        return {
            "cell": self.cell.name,
            "cycle_s": self.cycle_s,
            "sim": dict(self.sim),
            "lab": None if self.lab is None else dict(self.lab),
            "invalid": self.invalid,
        }

    def ratio(self, figure: str) -> float | None:
        """The simulator's mean over the kernel's."""
        sim, lab = mean(self.sim, figure), mean(self.lab, figure)
        return sim / lab if sim is not None and lab else None


@dataclass(frozen=True, kw_only=True)
class Task:
    """Runs of a cell, and the measured time of each."""

    cell: Cell
    measured_s: float
    repeats: int


def mean(figures: Figures | None, figure: str) -> float | None:
    """The mean of a figure over the runs that have it."""
    known = [value for value in (figures or {}).get(figure, []) if value is not None]
    return estimate(known).mean if known else None


def compare(
    names: Sequence[str] = (),
    *,
    repeats: int | None = None,
    out: Path | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    on_event: OnEvent = lambda _: None,
) -> list[Compared]:
    """Compare both engines on cells, all of them if none is named.

    The simulator goes first, on all of them.

    Args:
        names: names of `CELLS`.
        repeats: the number of kernel runs of each cell; by default 5 of the quoted cells, and 1 of
            the others. The simulator always runs a cell 5 times.
        out: a directory. Results that it holds are not computed again, and new results are written
            to it. The simulator's results are used only if this very build gave them.
        jobs: the number of runs at a time; by default one per core, and one of the kernel.
        on_progress: called with the progress of the runs under way.
        on_event: called with a sentence at the start of each step.

    Raises:
        ScenarioError: there is no such cell.
        Refused: root is missing, or the kernel lacks something.
        RunError: a run failed, or no run of a cell is valid.
    """
    for name in names:
        if name not in CELLS:
            raise ScenarioError(f"unknown cell {name!r}; {hint(name, CELLS)}")
    wanted = {name: repeats or (REPEATS if CELLS[name].quoted else 1) for name in (names or CELLS)}
    kept = {name: entry for name in wanted if (entry := _kept(out, CELLS[name])) is not None}
    compared = {name: entry.compared for name, entry in kept.items() if entry.is_of_this_build}
    old = {name: entry.compared for name, entry in kept.items() if not entry.is_of_this_build}
    known = compared | old
    if any(name not in known or not known[name].whole(wanted[name]) for name in wanted):
        lab.refuse_without_root()
    if old:
        on_event(f"{len(old)} cells in {out} were simulated by another build: they are run again")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)

    def done(entry: Compared) -> None:
        compared[entry.cell.name] = entry
        _keep(out, entry)

    unknown = [CELLS[name] for name in wanted if name not in compared]
    if unknown:
        on_event(f"simulator: {len(unknown)} cells")
        _simulate(unknown, old, jobs, on_progress, done)
    lacking = {name: n for name, n in wanted.items() if not compared[name].whole(n)}
    if lacking:
        on_event(f"kernel: {len(lacking)} cells, {sum(lacking.values())} runs")
        _ask([(compared[name], n) for name, n in lacking.items()], jobs, on_progress, done)
    return [compared[name] for name in wanted]


def _simulate(
    cells: Sequence[Cell],
    old: Mapping[str, Compared],
    jobs: int | None,
    on_progress: OnProgress | None,
    done: Callable[[Compared], None],
) -> None:
    """Run `cells`; the kernel's results in `old` are kept, and set the measured time."""
    kernel = {name: entry for name, entry in old.items() if entry.lab is not None}
    cycles = {
        cell.name: kernel[cell.name].cycle_s if cell.name in kernel else predicted_cycle_s(cell)
        for cell in cells
    }

    def keep(cell: Cell, sim: Figures, _: int) -> None:
        if cell.name in kernel:
            done(replace(kernel[cell.name], sim=sim))
        else:
            done(Compared(cell=cell, cycle_s=cycles[cell.name], sim=sim))

    tasks = [
        Task(cell=cell, measured_s=measured_s(cycles[cell.name]), repeats=REPEATS) for cell in cells
    ]
    _run(tasks, "sim", jobs, on_progress, keep)


def _ask(
    lacking: Sequence[tuple[Compared, int]],
    jobs: int | None,
    on_progress: OnProgress | None,
    done: Callable[[Compared], None],
) -> None:
    before = {entry.cell.name: entry for entry, _ in lacking}

    def keep(cell: Cell, figures: Figures, invalid: int) -> None:
        done(replace(before[cell.name], lab=figures, invalid=invalid))

    tasks = [
        Task(cell=entry.cell, measured_s=measured_s(entry.cycle_s), repeats=n)
        for entry, n in lacking
    ]
    _run(tasks, "lab", jobs, on_progress, keep)


def measured_s(cycle_s: float | None) -> float:
    """The measured time for a cycle of this length."""
    return max(LEAST_S, CYCLES * (cycle_s or 0.0))


def predicted_cycle_s(cell: Cell) -> float | None:
    """How long the first flow climbs from loss to loss in the simulator, None without losses."""
    from fairhaul.runs import run

    figures = run(cell.scenario(PREDICTION_S)).measures[0]
    events = figures["flows"][0]["loss_events"]
    return PREDICTION_S / events if events else None


def _run(
    tasks: Sequence[Task],
    engine: Engine,
    jobs: int | None,
    on_progress: OnProgress | None,
    done: Callable[[Cell, Figures, int], None],
) -> None:
    """Run `tasks`; `done` gets the figures of valid runs, and the number of invalid runs."""
    from fairhaul.answers import valid_runs
    from fairhaul.measures import measure
    from fairhaul.runs import for_each
    from fairhaul.scenario import with_seeds

    plan = [
        (task, seeded)
        for task in tasks
        for seeded in with_seeds(read_one(task.cell.scenario(task.measured_s)), task.repeats)
    ]
    lock = threading.Lock()
    measured: dict[str, dict[int, Any]] = {task.cell.name: {} for task in tasks}

    def read(index: int, record: Record) -> None:
        task, _ = plan[index]
        numbers = {**measure(record), "cycle_s": cycle_s(record)}
        with lock:
            runs = measured[task.cell.name]
            runs[index] = numbers
            if len(runs) < task.repeats:
                return
            counted = valid_runs([runs[i] for i in sorted(runs)])
            each = [figures_of(run, task.cell) for run in counted]
            figures = {key: [run[key] for run in each] for key in each[0]}
            done(task.cell, figures, len(runs) - len(counted))

    for_each(
        [seeded for _, seeded in plan], read, jobs=jobs, on_progress=on_progress, engine=engine
    )


def cycle_s(record: Record) -> float | None:
    """How long the first flow's window climbs from loss to loss, None with fewer than two."""
    from fairhaul.losses import REDUCTIONS, not_undone

    scenario = record.meta["scenario"]
    first = scenario["flows"][0]["name"]
    times = [
        loss.t_s
        for loss in not_undone(record)
        if loss.flow == first and loss.kind in REDUCTIONS and loss.t_s >= scenario["warmup_s"]
    ]
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None


def figures_of(run: Mapping[str, Any], cell: Cell) -> dict[str, float | None]:
    """The figures of one run that are compared, each in the unit of its name."""
    flows, link = run["flows"], run["links"][0]
    full = cell.rate_mbps * 1e6 * PAYLOAD[run["engine"]] / PACKET
    return {
        "link_share": sum(flow["goodput_bps"] for flow in flows) / full,
        "first_share": flows[0]["share"],
        "jain": run["fairness"]["jain"],
        "rtt_ms": 1000 * flows[0]["rtt_mean_s"],
        "cwnd": flows[0]["cwnd_mean"],
        "loss_rate": link["drop_rate"],
        "cycle_s": run["cycle_s"],
        "lag_p99_us": 1e6 * run["trust"]["lag"]["p99_s"] if "trust" in run else None,
    }


def _place(out: Path, cell: Cell) -> Path:
    return out / f"{cell.name}.json"


@dataclass(frozen=True, kw_only=True)
class _Kept:
    """The stored result of a cell, and whether this build of the simulator made its part."""

    compared: Compared
    is_of_this_build: bool


def _keep(out: Path | None, done: Compared) -> None:
    if out is None:
        return
    head = {"version": _core.__version__, "build": build(), "scenario": done.cell.scenario(0)}
    text = json.dumps(head | done.to_dict(), indent=2) + "\n"
    files.replace(_place(out, done.cell), text.encode())


def _kept(out: Path | None, cell: Cell) -> _Kept | None:
    """The stored result of a cell, if it can be read and is of the same scenario."""
    if out is None or not _place(out, cell).is_file():
        return None
    try:
        stored = json.loads(_place(out, cell).read_text())
        compared = Compared(
            cell=cell,
            cycle_s=stored["cycle_s"],
            sim=stored["sim"],
            lab=stored["lab"],
            invalid=stored["invalid"],
        )
    except (ValueError, KeyError, TypeError):
        return None
    if stored.get("scenario", cell.scenario(0)) != cell.scenario(0):
        return None
    return _Kept(compared=compared, is_of_this_build=stored.get("build") == build())

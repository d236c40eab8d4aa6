"""Runs cells on both engines, and keeps what came of each, so that a long work can be resumed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul import _core, files
from fairhaul.cells.table import CELLS, PACKET, Cell
from fairhaul.estimate import estimate
from fairhaul.nearest import hint
from fairhaul.scenario import ScenarioError

if TYPE_CHECKING:
    from fairhaul.runs import Engine, Watch

LEAST_S = 30.0
CYCLES = 5
# A cell whose window takes longer from loss to loss is left to the simulator.
LONGEST_CYCLE_S = 20.0
# The run that a cycle is predicted from.
PREDICTION_S = 300.0
REPEATS = 5
# Of a full packet: the kernel's has a time stamp, the simulator's has not.
PAYLOAD = {"sim": PACKET - 40, "lab": PACKET - 52}

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What both engines said of a cell: for each a mapping of figures to a value of every run."""

    cell: Cell
    cycle_s: float | None
    sim: Mapping[str, Sequence[float | None]]
    lab: Mapping[str, Sequence[float | None]] | None
    invalid: int
    """Runs of the kernel that did not count."""

    def to_dict(self) -> dict[str, Any]:
        """Give what is written down."""
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


def mean(figures: Mapping[str, Sequence[float | None]] | None, figure: str) -> float | None:
    """The mean of what runs have of a figure."""
    there = [value for value in (figures or {}).get(figure, []) if value is not None]
    return estimate(there).mean if there else None


def compare(
    names: Sequence[str] = (),
    *,
    repeats: int | None = None,
    out: Path | None = None,
    watch: Watch | None = None,
    tell: Tell = lambda _: None,
) -> list[Compared]:
    """Compare both engines on cells, all of them if none is named.

    Args:
        names: of `CELLS`.
        repeats: runs of the kernel; 5 of the cells that are quoted and 1 of the others where left
            out. The simulator always has 5.
        out: a directory: what is there of a cell is taken from it, what is run is written to it.
        watch: called with the progress of the runs under way.
        tell: told in a sentence what is done.

    Raises:
        ScenarioError: there is no such cell.
        Refused: root is missing, or something in the kernel.
        RunError: a run failed, or none of a cell is to be believed.
    """
    for name in names:
        if name not in CELLS:
            raise ScenarioError(f"there is no cell {name!r}; {hint(name, CELLS)}")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    found = []
    for name in names or CELLS:
        cell = CELLS[name]
        wanted = repeats or (REPEATS if cell.quoted else 1)
        done = _kept(out, cell, wanted)
        if done is None:
            tell(f"{name}: the simulator, then the kernel {wanted} x")
            done = _work(cell, wanted, out, watch)
        found.append(done)
    return found


def _work(cell: Cell, repeats: int, out: Path | None, watch: Watch | None) -> Compared:
    cycle = predicted_cycle_s(cell)
    measured = max(LEAST_S, CYCLES * (cycle or 0.0))
    sim, _ = _run(cell, measured, REPEATS, "sim", watch)
    first = Compared(cell=cell, cycle_s=cycle, sim=sim, lab=None, invalid=0)
    _keep(out, first)
    if cycle is not None and cycle > LONGEST_CYCLE_S:
        return first
    lab, invalid = _run(cell, measured, repeats, "lab", watch)
    done = Compared(cell=cell, cycle_s=cycle, sim=sim, lab=lab, invalid=invalid)
    _keep(out, done)
    return done


def predicted_cycle_s(cell: Cell) -> float | None:
    """How long the first flow climbs from loss to loss in the simulator; nothing without losses."""
    from fairhaul.runs import run

    found = run(cell.scenario(PREDICTION_S)).measures[0]
    events = found["flows"][0]["loss_events"]
    return PREDICTION_S / events if events else None


def _run(
    cell: Cell, measured_s: float, repeats: int, on: Engine, watch: Watch | None
) -> tuple[dict[str, list[float | None]], int]:
    """The figures of the runs that count, and how many did not."""
    from fairhaul.runs import believed, run

    runs = list(run(cell.scenario(measured_s), seeds=repeats, on=on, watch=watch).measures)
    counted = believed(runs)
    figures = [figures_of(one, cell, measured_s) for one in counted]
    return {key: [one[key] for one in figures] for key in figures[0]}, len(runs) - len(counted)


def figures_of(run: Mapping[str, Any], cell: Cell, measured_s: float) -> dict[str, float | None]:
    """The figures of one run that are compared, each in the unit of its name."""
    flows, link = run["flows"], run["links"][0]
    full = cell.rate_mbps * 1e6 * PAYLOAD[run["engine"]] / PACKET
    events = flows[0]["loss_events"]
    return {
        "link_share": sum(flow["goodput_bps"] for flow in flows) / full,
        "first_share": flows[0]["share"],
        "jain": run["fairness"]["jain"],
        "rtt_ms": 1000 * flows[0]["rtt_mean_s"],
        "cwnd": flows[0]["cwnd_mean"],
        "loss_rate": link["drop_rate"],
        "cycle_s": measured_s / events if events else None,
    }


def _place(out: Path, cell: Cell) -> Path:
    return out / f"{cell.name}.json"


def _keep(out: Path | None, done: Compared) -> None:
    if out is None:
        return
    text = json.dumps({"version": _core.__version__} | done.to_dict(), indent=2) + "\n"
    files.replace(_place(out, done.cell), text.encode())


def _kept(out: Path | None, cell: Cell, repeats: int) -> Compared | None:
    """What is there of a cell, if it is whole."""
    if out is None or not _place(out, cell).is_file():
        return None
    try:
        there = json.loads(_place(out, cell).read_text())
    except ValueError:
        return None
    cycle, lab = there["cycle_s"], there["lab"]
    alone = cycle is not None and cycle > LONGEST_CYCLE_S
    if not alone and (lab is None or len(lab["rtt_ms"]) + there["invalid"] < repeats):
        return None
    return Compared(cell=cell, cycle_s=cycle, sim=there["sim"], lab=lab, invalid=there["invalid"])

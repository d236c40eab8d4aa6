"""What engines gave on a cell beside each other, and whether the simulator agrees with a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from fairhaul.scenario.engines import Engine
from fairhaul.statistics.estimate import estimate
from fairhaul.studies.cells.table import AnyCell

Figures = Mapping[str, Sequence[float | None]]

# By how much figures may differ, as a share of the kernel's.
CLOSE = 0.05
CLOSE_DELAY = 0.10
DELAYS = ("rtt_ms", "cwnd")
# The figures of a table: name, heading with its unit, what the figure is multiplied by, decimals.
SHOWN = (
    ("link_share", "link used %", 100.0, 1),
    ("first_share", "first flow %", 100.0, 1),
    ("rtt_ms", "RTT ms", 1.0, 1),
    ("cwnd", "cwnd", 1.0, 0),
)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """The results of a cell: for each engine a mapping of figures to a value of every run."""

    cell: AnyCell
    cycle_s: float | None
    by: Mapping[Engine, Figures | None]
    """None where the cell takes too long for an engine in real time, or no run of it is valid."""

    def to_dict(self) -> dict[str, Any]:
        """Give the result as `--json` prints it."""
        return {"cell": self.cell.name, "cycle_s": self.cycle_s, **dict(self.by.items())}

    def ratio(self, figure: str, engine: Engine = "lab") -> float | None:
        """The simulator's mean over that of an engine with a kernel."""
        sim, kernel = mean(self.by.get("sim"), figure), mean(self.by.get(engine), figure)
        return sim / kernel if sim is not None and kernel else None


def mean(figures: Figures | None, figure: str) -> float | None:
    """The mean of a figure over the runs that have it."""
    known = [value for value in (figures or {}).get(figure, []) if value is not None]
    return estimate(known).mean if known else None


@dataclass(frozen=True)
class Agreement:
    """A figure on which engines are compared."""

    figure: str
    sim: float
    kernel: float
    agrees: bool
    """The means differ little, or the simulator's lies between the runs of the kernel."""


def agreement(compared: Compared, engine: Engine = "linux") -> Iterator[Agreement]:
    """Compare the figures of a cell that both engines have: goodput, share, round trip, window."""
    sim, kernel = compared.by.get("sim"), compared.by.get(engine)
    if sim is None or kernel is None:
        return
    wanted = ["link_share", "rtt_ms", "cwnd"]
    if len(compared.cell.controllers) > 1:
        wanted.append("first_share")
    wanted += [figure for figure in sim if figure.startswith("rtt_ms_")]
    for figure in wanted:
        ours, theirs = mean(sim, figure), mean(kernel, figure)
        if ours is not None and theirs is not None:
            yield Agreement(figure, ours, theirs, _agrees(figure, ours, kernel))


def entries(found: Mapping[str, Agreement], missing: str) -> list[str]:
    """Write the figures of `SHOWN`: simulator / kernel, or `missing` where one is not compared."""
    return [
        f"{scale * found[figure].sim:.{digits}f} / {scale * found[figure].kernel:.{digits}f}"
        if figure in found
        else missing
        for figure, _, scale, digits in SHOWN
    ]


def _agrees(figure: str, ours: float, kernel: Figures) -> bool:
    close = CLOSE_DELAY if figure.startswith(DELAYS) else CLOSE
    return agrees(ours, [value for value in kernel[figure] if value is not None], close)


def agrees(ours: float, runs: Sequence[float], close: float) -> bool:
    """Whether a mean is as near to that of runs as `close`, a part of it, or lies between them."""
    theirs = fmean(runs)
    return abs(ours - theirs) <= close * abs(theirs) or min(runs) <= ours <= max(runs)

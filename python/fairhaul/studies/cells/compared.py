"""What engines gave on a cell, beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.scenario.engines import Engine
from fairhaul.statistics.estimate import estimate
from fairhaul.studies.cells.figures import AnyCell

Figures = Mapping[str, Sequence[float | None]]


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

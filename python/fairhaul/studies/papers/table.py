"""Tables of a paper: its numbers beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairhaul.statistics.estimate import text

if TYPE_CHECKING:
    from fairhaul.statistics.estimate import Estimate

# What tables call the results of the simulator where a kernel has others.
SIMULATOR = "simulator"
# What the results of hosts with a kernel are called in sentences, by their name in tables.
CALLED = {"linux": "Linux in simulated time", "kernel": "the kernel"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A number of a paper beside ours, or the two ends of a range.

    `paper` and `steps` are empty where the paper has no number, `ours` where no run has one.
    `steps` is the distance of two neighbours of the printed precision: the paper's value is only
    known to half of that. Beside hosts with a kernel, `kernels` are their results by the names of
    `CALLED`, and `ours` is what the simulator predicted of them.
    """

    paper: Sequence[float]
    steps: Sequence[float]
    ours: Sequence[Estimate]
    form: str
    kernels: Mapping[str, Sequence[Estimate]] = field(default_factory=dict)

    def agrees(self) -> bool | None:
        """Whether the paper's value lies in our interval, None where either is missing.

        Beside hosts with a kernel, their interval is compared, that of the first of several.
        """
        compared = next(iter(self.kernels.values()), self.ours)
        if not self.paper or not compared:
            return None
        agrees = True
        for value, step, ours in zip(self.paper, self.steps, compared, strict=True):
            if ours.low is None or ours.high is None or ours.interval != "95 %":
                return None
            agrees = agrees and ours.low - step / 2 <= value <= ours.high + step / 2
        return agrees

    def missed(self) -> bool | None:
        """Whether the mean of a kernel lies outside the prediction, None where one is missing.

        Of a range one end is enough.
        """
        known = [missed for name in self.kernels if (missed := self.missed_by(name)) is not None]
        return any(known) if known else None

    def missed_by(self, name: str) -> bool | None:
        """Whether the mean of this kernel lies outside the prediction."""
        kernel = self.kernels.get(name, ())
        # Of a range with one end it is unknown which end that is.
        if len(self.ours) != len(kernel):
            return None
        held = [ours.holds(real.mean) for ours, real in zip(self.ours, kernel, strict=True)]
        return None if not held or None in held else not all(held)

    def paper_text(self) -> str:
        """Write the paper's value."""
        return " to ".join(self._number(value) for value in self.paper) or "-"

    def ours_text(self) -> str:
        """Write our value."""
        return " to ".join(self._text(ours) for ours in self.ours) or "-"

    def kernel_text(self, name: str) -> str:
        """Write the value of hosts with a kernel."""
        return " to ".join(self._text(kernel) for kernel in self.kernels.get(name, ())) or "-"

    def found_text(self) -> str:
        """Write what the paper is compared with: the value of hosts with a kernel, or ours."""
        for name in self.kernels:
            return f"{CALLED[name]} has {self.kernel_text(name)}"
        return f"ours is {self.ours_text()}"

    def _text(self, ours: Estimate) -> str:
        return text(ours, self._number)

    def _number(self, value: float) -> str:
        return format(value, self.form).replace("e-0", "e-").replace("0.0e+00", "0")

    def to_dict(self) -> dict[str, Any]:
        """Give both as they are printed in JSON."""
        paper, ours = list(self.paper), [estimate.to_dict() for estimate in self.ours]
        cell = {"paper": _bare(paper), "ours": _bare(ours), "agrees": self.agrees()}
        if not self.kernels:
            return cell
        found = {
            name: _bare([estimate.to_dict() for estimate in kernel])
            for name, kernel in self.kernels.items()
        }
        return {**cell, **found, "missed": self.missed()}


def _bare(values: Sequence[Any]) -> Any:
    """Give a single value without its list, and None for no value."""
    return values[0] if len(values) == 1 else values or None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a paper's table."""

    label: str
    cells: Sequence[Cell]

    def has_paper(self) -> bool:
        """Whether the paper has any number for this row."""
        return any(cell.paper for cell in self.cells)

    def kernels(self) -> Iterable[str]:
        """The names of the kernels that it has results of."""
        return dict.fromkeys(name for cell in self.cells for name in cell.kernels)

    def lines(self) -> list[tuple[str, list[str]]]:
        """Give the texts by their origin: the paper, ours or the simulator, and the kernels."""
        kernels = self.kernels()
        paper = [("paper", [cell.paper_text() for cell in self.cells])] if self.has_paper() else []
        ours = ("simulator" if kernels else "ours", [cell.ours_text() for cell in self.cells])
        real = [(name, [cell.kernel_text(name) for cell in self.cells]) for name in kernels]
        return [*paper, ours, *real]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of a paper, and notes on it."""

    title: str
    parameter: str
    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give the table as it is printed in JSON."""
        return {
            "title": self.title,
            "rows": [
                {
                    self.parameter: row.label,
                    **{c: v.to_dict() for c, v in zip(self.columns, row.cells, strict=True)},
                }
                for row in self.rows
            ],
            "notes": list(self.notes),
        }

    def differences(self) -> list[str]:
        """Give a line for each value of the paper outside our 95 % interval."""
        return [
            f"{self.parameter} = {row.label}, {column}: the paper has {cell.paper_text()}, "
            + cell.found_text()
            for row in self.rows
            for column, cell in zip(self.columns, row.cells, strict=True)
            if cell.agrees() is False
        ]

    def misses(self) -> list[str]:
        """Give a line for each mean of a kernel outside the prediction."""
        return [
            f"{self.parameter} = {row.label}, {column}: predicted was {cell.ours_text()}, "
            f"{CALLED[name]} has {cell.kernel_text(name)}"
            for row in self.rows
            for column, cell in zip(self.columns, row.cells, strict=True)
            for name in cell.kernels
            if cell.missed_by(name)
        ]

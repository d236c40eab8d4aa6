"""Tables of a paper: its numbers beside ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairhaul.statistics.estimate import Estimate, text
from fairhaul.text.digits import form_of

# What tables call the results of the simulator where a kernel has others.
SIMULATOR = "simulator"
# What the results of hosts with a kernel are called in sentences, by their name in tables.
CALLED = {"linux": "Linux in simulated time", "kernel": "the kernel"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A number of a paper beside ours, or the two ends of a range.

    `paper` and `steps` are empty where the paper has no number, `ours` where no run has one.
    `steps` is the distance of two neighbours of the printed precision: the paper's value is only
    known to half of that, and ours may differ by the part `within` of it, whatever our interval
    is. Beside hosts with a kernel, `kernels` are their results by the names of `CALLED`, and `ours`
    is what the simulator predicted of them.
    """

    paper: Sequence[float]
    steps: Sequence[float]
    ours: Sequence[Estimate]
    form: str
    kernels: Mapping[str, Sequence[Estimate]] = field(default_factory=dict)
    within: float = 0.0

    @property
    def compared(self) -> Sequence[Estimate]:
        """What the paper is compared with: the results of the first kernel, or ours."""
        return next(iter(self.kernels.values()), self.ours)

    def ratio(self) -> float | None:
        """Give our number over the paper's; None where either is missing, and for a range."""
        if len(self.paper) != 1 or len(self.compared) != 1 or self.paper[0] == 0:
            return None
        return self.compared[0].mean / self.paper[0]

    def agrees(self) -> bool | None:
        """Whether the paper's value lies in our interval, or differs from our mean within bounds.

        None where the value or the interval is missing. Beside hosts with a kernel, their interval
        is compared, that of the first of several.
        """
        if not self.paper or not self.compared:
            return None
        agrees = True
        for value, step, ours in zip(self.paper, self.steps, self.compared, strict=True):
            if self.within and abs(ours.mean - value) <= self.within * abs(value):
                continue
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
        return text(ours, form_of(self.form))

    def _number(self, value: float) -> str:
        return format(value, self.form).replace("e-0", "e-").replace("0.0e+00", "0")

    def to_dict(self) -> dict[str, Any]:
        """Give both as they are printed in JSON."""
        of = {"ours": self.ours, **self.kernels}
        found = {name: _bare([each.to_dict() for each in ours]) for name, ours in of.items()}
        cell = {"paper": _bare(self.paper), **found, "agrees": self.agrees(), "ratio": self.ratio()}
        return {**cell, "missed": self.missed()} if self.kernels else cell


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
                    **({self.parameter: row.label} if row.label else {}),
                    **{c: v.to_dict() for c, v in zip(self.columns, row.cells, strict=True)},
                }
                for row in self.rows
            ],
            "notes": list(self.notes),
        }

    def predicting(self, seeds: int, runs: int) -> Table:
        """Widen the intervals, of `seeds` runs, to those of a mean over `runs` more.

        An interval of a mean says where the simulator's own lies; the mean of other runs varies
        too. If they are drawn from the same, 95 of 100 such means lie within sqrt(1 + seeds / runs)
        times it.
        """
        factor = math.sqrt(1 + seeds / runs)

        def wide(ours: Estimate) -> Estimate:
            if ours.low is None or ours.high is None:
                return ours
            low, high = (ours.mean + factor * (end - ours.mean) for end in (ours.low, ours.high))
            return replace(ours, low=low, high=high)

        rows = [
            replace(row, cells=[replace(of, ours=list(map(wide, of.ours))) for of in row.cells])
            for row in self.rows
        ]
        return replace(self, rows=rows)

    def beside(self, kernel: Table, name: str = "kernel") -> Table:
        """Put the results of a kernel, by its name in tables, beside the prediction."""
        rows = [
            replace(
                row,
                cells=[
                    replace(cell, kernels={**cell.kernels, name: real.ours})
                    for cell, real in zip(row.cells, other.cells, strict=True)
                ],
            )
            for row, other in zip(self.rows, kernel.rows, strict=True)
        ]
        notes = dict.fromkeys([*self.notes, *kernel.notes])
        return replace(self, rows=rows, notes=list(notes))

    def _cells(self) -> Iterator[tuple[str, Cell]]:
        """Give each cell with its place."""
        for row in self.rows:
            for column, cell in zip(self.columns, row.cells, strict=True):
                yield ", ".join([*self._labels(row), column]), cell

    def _labels(self, row: Row) -> list[str]:
        """Give the labels of a row, each with its axis; none where a case has no axis."""
        names, labels = self.parameter.split(", "), row.label.split(", ")
        if len(names) != len(labels):
            names, labels = [self.parameter], [row.label]
        pairs = zip(names, labels, strict=True)
        return [f"{name} = {label}" if name else label for name, label in pairs if label]

    def differences(self) -> list[str]:
        """Give a line for each value of the paper outside our 95 % interval."""
        return [
            f"{place}: the paper has {cell.paper_text()}, {cell.found_text()}"
            for place, cell in self._cells()
            if cell.agrees() is False
        ]

    def misses(self) -> list[str]:
        """Give a line for each mean of a kernel outside the prediction."""
        return [
            f"{place}: predicted was {cell.ours_text()}, {CALLED[name]} has "
            f"{cell.kernel_text(name)}"
            for place, cell in self._cells()
            for name in cell.kernels
            if cell.missed_by(name)
        ]

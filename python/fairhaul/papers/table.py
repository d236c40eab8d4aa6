"""Tables of a paper: its numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairhaul.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A number of a paper beside ours, or the two ends of a range.

    `paper` and `steps` are empty where the paper has no number, `ours` where no run gave one.
    `steps` is how far apart two neighbours of the printed precision are: the paper's value is only
    known to half of that. Where real hosts were asked too, `kernel` is what they gave, and `ours`
    what the simulator predicted of it.
    """

    paper: Sequence[float]
    steps: Sequence[float]
    ours: Sequence[Estimate]
    form: str
    kernel: Sequence[Estimate] | None = None

    def agrees(self) -> bool | None:
        """Whether the paper's value lies in our interval; nothing where either is missing.

        Where real hosts were asked, theirs is ours.
        """
        found = self.ours if self.kernel is None else self.kernel
        if not self.paper or not found:
            return None
        agrees = True
        for value, step, ours in zip(self.paper, self.steps, found, strict=True):
            if ours.low is None or ours.high is None:
                return None
            agrees = agrees and ours.low - step / 2 <= value <= ours.high + step / 2
        return agrees

    def missed(self) -> bool | None:
        """Whether the kernel's mean lies outside what was predicted; nothing where one is missing.

        Of a range one end is enough.
        """
        kernel = self.kernel or ()
        # Of a range either both ends are there or neither can be told from the other.
        if len(self.ours) != len(kernel):
            return None
        pairs = list(zip(self.ours, kernel, strict=True))
        if not pairs or any(ours.low is None for ours, _ in pairs):
            return None
        return not all(ours.holds(kernel.mean) for ours, kernel in pairs)

    def paper_text(self) -> str:
        """Write what the paper says."""
        return " to ".join(self._number(value) for value in self.paper) or "-"

    def ours_text(self) -> str:
        """Write what we found."""
        return " to ".join(self._text(ours) for ours in self.ours) or "-"

    def kernel_text(self) -> str:
        """Write what real hosts gave."""
        return " to ".join(self._text(kernel) for kernel in self.kernel or ()) or "-"

    def found_text(self) -> str:
        """Say what stands against the paper: what real hosts gave, or else what we found."""
        if self.kernel is None:
            return f"ours is {self.ours_text()}"
        return f"the kernel has {self.kernel_text()}"

    def mean_text(self) -> str:
        """Write what we found without its interval."""
        return " to ".join(self._number(ours.mean) for ours in self.ours) or "-"

    def _text(self, ours: Estimate) -> str:
        if ours.high is None:
            return self._number(ours.mean)
        return f"{self._number(ours.mean)} ±{self._number(ours.high - ours.mean)}"

    def _number(self, value: float) -> str:
        return format(value, self.form).replace("e-0", "e-").replace("0.0e+00", "0")

    def to_dict(self) -> dict[str, Any]:
        """Give both as they stand in JSON."""
        paper, ours = list(self.paper), [estimate.to_dict() for estimate in self.ours]
        found = {"paper": _bare(paper), "ours": _bare(ours), "agrees": self.agrees()}
        if self.kernel is None:
            return found
        kernel = [estimate.to_dict() for estimate in self.kernel]
        return {**found, "kernel": _bare(kernel), "missed": self.missed()}


def _bare(values: Sequence[Any]) -> Any:
    """Give a single value without its list, and nothing for none."""
    return values[0] if len(values) == 1 else values or None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a paper's table."""

    label: str
    cells: Sequence[Cell]

    def has_paper(self) -> bool:
        """Whether the paper has any number for this row."""
        return any(cell.paper for cell in self.cells)

    def has_kernel(self) -> bool:
        """Whether real hosts were asked."""
        return any(cell.kernel is not None for cell in self.cells)

    def lines(self) -> list[tuple[str, list[str]]]:
        """Give who says something, and what: the paper, ours, and of the lab the kernel."""
        kernel = self.has_kernel()
        paper = [("paper", [cell.paper_text() for cell in self.cells])] if self.has_paper() else []
        ours = ("simulator" if kernel else "ours", [cell.ours_text() for cell in self.cells])
        real = [("kernel", [cell.kernel_text() for cell in self.cells])] if kernel else []
        return [*paper, ours, *real]


@dataclass(frozen=True, kw_only=True)
class Table:
    """One table of a paper, and what is to be said of it."""

    title: str
    parameter: str
    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give the table as it stands in JSON."""
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
        """Say, a line each, where the paper's value lies outside our interval."""
        return [
            f"{self.parameter} = {row.label}, {column}: the paper has {cell.paper_text()}, "
            + cell.found_text()
            for row in self.rows
            for column, cell in zip(self.columns, row.cells, strict=True)
            if cell.agrees() is False
        ]

    def misses(self) -> list[str]:
        """Say, a line each, where the kernel's mean lies outside what was predicted."""
        return [
            f"{self.parameter} = {row.label}, {column}: predicted was {cell.ours_text()}, "
            f"the kernel has {cell.kernel_text()}"
            for row in self.rows
            for column, cell in zip(self.columns, row.cells, strict=True)
            if cell.missed()
        ]

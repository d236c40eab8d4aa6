"""The tables of the suite: a row for each point of a test and each controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.statistics.estimate import AT_LEAST_0, FRACTION, Estimate, estimate, text
from fairhaul.studies.tcpeval.measures import Figures
from fairhaul.text.digits import Form, Significant

FORMS: Mapping[str, Form] = {
    "part": Significant(units=[(" %", 0.01)]),
    "time": Significant(units=[(" s", 1.0), (" ms", 1e-3)]),
    "number": Significant(),
}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of numbers: the key of its figures, its head, and how a number is written."""

    key: str
    head: str
    form: str
    detail: bool = False
    """Whether it is on the page and not on the screen."""

    def estimate(self, runs: Sequence[Figures]) -> Estimate | None:
        """Estimate the number over runs; None where a run has no such number."""
        values = [value for figures in runs if (value := figures[self.key]) is not None]
        if len(values) < len(runs):
            return None
        return estimate(values, FRACTION if self.form == "part" else AT_LEAST_0)

    def cell(self, number: Estimate | None) -> str:
        """Write a number."""
        return "-" if number is None else text(number, FORMS[self.form])


@dataclass(frozen=True, kw_only=True)
class Row:
    """The figures of a point and a controller, over all seeds."""

    point: tuple[str, ...]
    controller: str
    figures: Mapping[str, Estimate | None]

    def cells(self, columns: Sequence[Column]) -> list[str]:
        """Write the row."""
        numbers = [column.cell(self.figures.get(column.key)) for column in columns]
        return [*self.point, self.controller, *numbers]

    def to_dict(self) -> dict[str, Any]:
        """Give the row as it is printed in JSON."""
        figures = {key: of and of.to_dict() for key, of in self.figures.items()}
        return {"point": list(self.point), "controller": self.controller, "figures": figures}


Runs = Mapping[tuple[tuple[str, ...], str], Sequence[Figures]]


def rows_of(columns: Sequence[Column], runs: Runs, standard: str = "") -> list[Row]:
    """Give the rows of a test from the figures of its runs, by point and controller.

    With `standard` they are relative to those of this controller, which has no row then.
    """
    rows = []
    for (point, controller), runs_of in runs.items():
        each = runs_of
        if standard:
            if controller == standard:
                continue
            each = [_ratios(*pair) for pair in zip(each, runs[point, standard], strict=True)]
        figures = {column.key: column.estimate(each) for column in columns if column.key in each[0]}
        rows.append(Row(point=point, controller=controller, figures=figures))
    return rows


def _ratios(figures: Figures, base: Figures) -> Figures:
    pairs = {key: (value, base[key]) for key, value in figures.items()}
    return {key: of / by if of is not None and by else None for key, (of, by) in pairs.items()}

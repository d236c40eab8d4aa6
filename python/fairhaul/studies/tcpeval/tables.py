"""The tables of the suite: a row for each point of a test and each controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.statistics.estimate import AT_LEAST_0, FRACTION, Estimate, estimate, text
from fairhaul.studies.tcpeval.measures import Figures


def _part(value: float) -> str:
    return f"{100 * value:.3g} %"


def _time(value: float) -> str:
    if value < 1:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


FORMS: Mapping[str, Callable[[float], str]] = {"part": _part, "time": _time, "number": _number}


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
        figures = {
            key: None if number is None else number.to_dict()
            for key, number in self.figures.items()
        }
        return {"point": list(self.point), "controller": self.controller, "figures": figures}


Runs = Mapping[tuple[tuple[str, ...], str], Sequence[Figures]]


def rows_of(columns: Sequence[Column], runs: Runs, standard: str = "") -> list[Row]:
    """Give the rows of a test from the figures of its runs, by point and controller.

    With `standard` they are relative to those of this controller, which has no row then.
    """
    rows = []
    for (point, controller), each in runs.items():
        if standard:
            if controller == standard:
                continue
            base = runs[point, standard]
            each = [_ratios(*pair) for pair in zip(each, base, strict=True)]  # noqa: PLW2901
        shown = [column for column in columns if column.key in each[0]]
        figures = {column.key: column.estimate(each) for column in shown}
        rows.append(Row(point=point, controller=controller, figures=figures))
    return rows


def _ratios(figures: Figures, base: Figures) -> Figures:
    return {key: _ratio(value, base[key]) for key, value in figures.items()}


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None

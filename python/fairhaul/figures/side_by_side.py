"""Measures of several candidates side by side: a dot with its interval for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhaul.figures.charts import Panel, Scale, ends, panels
from fairhaul.figures.figure import Figure
from fairhaul.results.figure_rows import estimated
from fairhaul.statistics.estimate import Estimate

Value = Estimate | Mapping[str, Any] | float | None


def side_by_side(
    name: str,
    title: str,
    caption: str,
    candidates: Sequence[str],
    measures: Mapping[str, tuple[Sequence[Value], float]],
) -> Figure:
    """Draw a panel for each measure, with a row for each candidate.

    `measures` has, by the title of its axis, a value for each candidate (an estimate, its object in
    JSON, or a number) and what values are multiplied by.
    """
    each = []
    for axis, (values, by) in measures.items():
        rows = [_row(of, value, by) for of, value in zip(candidates, values, strict=True)]
        known = [row[key] for row in rows for key in ("mean", "low", "high")]
        numbers = [float(value) for value in known if value is not None] or [1.0]
        scale = Scale(title=axis, low=min([0.0, *numbers]), high=ends(numbers)[1])
        each.append(Panel(scale=scale, rows=rows))
    return Figure(name=name, title=title, caption=caption, chart=panels(candidates, each))


def _row(name: str, value: Value, by: float) -> dict[str, Any]:
    of = value.to_dict() if isinstance(value, Estimate) else value
    return {"row": name, "paper": None, **estimated(of, by)}

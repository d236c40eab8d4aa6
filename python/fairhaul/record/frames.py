"""Figures of runs as tidy polars frames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.measures.types import RunFigures


def flows_frame(runs: Sequence[RunFigures]) -> pl.DataFrame:
    """Give a frame with one row per run and flow: what was swept, figures of the run and of it."""
    return frame([cells for run in runs for cells in _of_run(run)])


def _of_run(run: RunFigures) -> Iterator[dict[str, Any]]:
    settings = {key: plain(value) for key, value in run.get("variant", {}).items()}
    everything = {
        "jain": run["fairness"]["jain"],
        "stationary": run["stationary"],
        "seed": str(run["seed"]),
    }
    for flow in run["flows"]:
        figures: dict[str, Any] = {**flow}
        limits = {f"limits.{limit}": part for limit, part in figures.pop("limits").items()}
        yield {**settings, **everything, **figures, **limits}


def frame(cells: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Give a frame of rows that may lack columns."""
    import polars as pl

    names = dict.fromkeys(name for row in cells for name in row)
    return pl.DataFrame({name: _column([row.get(name) for row in cells]) for name in names})


def plain(value: Any) -> Any:
    """Give a swept value as a cell holds it: a table or a list as JSON."""
    return json.dumps(value) if isinstance(value, Mapping | list) else value


def _column(values: Sequence[Any]) -> list[Any]:
    """Give a column one type: numbers, or texts where some value is one."""
    if any(isinstance(value, str) for value in values):
        return [None if value is None else str(value) for value in values]
    if any(isinstance(value, float) for value in values):
        return [None if value is None else float(value) for value in values]
    return list(values)

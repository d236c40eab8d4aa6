"""Jain's index over the length of the window in which it is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairhaul.figures.charts import Curve, Scale, case_looks, curves
from fairhaul.figures.charts.vega import Row, Spec
from fairhaul.figures.figure import Figure
from fairhaul.figures.words import reach
from fairhaul.results.figure_rows import estimated, mean
from fairhaul.statistics.estimate import LEAST_RUNS

# Below this difference of the indices a figure is flat.
FLAT = 0.05


def jain(
    labels: Sequence[str], measures: Sequence[Mapping[str, Any]], name: str, count: int
) -> Figure | None:
    """Draw Jain's index over the time scale, a line for each label; nothing without two groups."""
    lines: list[tuple[str, list[Row]]] = []
    for label, figures in zip(labels, measures, strict=True):
        windows = figures["fairness"]["jain_by_window"]
        groups = {flow["group"] for flow in figures["flows"] if flow["role"] == "measured"}
        if windows and len(groups) > 1:
            lines.append((label, [_point(s, value) for s, value in windows.items()]))
    if not lines:
        return None
    rows = [line for _, line in lines]
    lowest = min(row["mean"] for line in rows for row in line)
    bottom = bottom_of(lowest)
    caption = (
        "Jain's index of the measured flows within windows of the given length, averaged over all "
        "windows: 1 if all flows get the same. The time scale is longer to the right, and the "
        f"vertical scale begins at {bottom:.1f}."
    )
    if count > 1:
        caption += f" Points are means over the seeds; {reach('bands', exact=count >= LEAST_RUNS)}."
    drawn = case_looks(label for label, _ in lines)
    chart = of_scales([Curve(look=k, points=r) for k, r in zip(drawn, rows, strict=True)], bottom)
    return Figure(name=name, title="Fairness over time scale", caption=caption, chart=chart)


def is_flat(measures: Sequence[Mapping[str, Any]]) -> bool:
    """Whether Jain's index hardly depends on the time scale, so that the figure says little."""
    each = [[*figures["fairness"]["jain_by_window"].values()] for figures in measures]
    return all(max(map(mean, of)) - min(map(mean, of)) < FLAT for of in each if of)


def bottom_of(lowest: float) -> float:
    """Give the multiple of 0.1 at which an axis of indices begins."""
    return max(0.0, math.floor(lowest * 10 - 0.2) / 10)


def of_scales(lines: Sequence[Curve], bottom: float) -> Spec:
    """Draw Jain's index over windows of `x` seconds, from `bottom` up."""
    lengths = sorted({float(row["x"]) for line in lines for row in line.points})
    low, high = lengths[0] / 1.1, lengths[-1] * 1.1
    if len(lines) == 1:
        lines = [Curve(look=replace(line.look, label=""), points=line.points) for line in lines]
    return curves(
        lines,
        Scale(title="Window (s)", low=low, high=high, log=True, ticks=lengths),
        Scale(title="Jain's index", low=bottom, high=1),
    )


def _point(seconds: str, value: Any) -> Row:
    return {"x": float(seconds), **estimated(value), "mean": float(f"{mean(value):.5g}")}

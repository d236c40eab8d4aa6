"""How figures are distributed over several runs, or over the many flows of one: boxes and CDFs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairhaul.figures.charts import Look, Scale, case_looks, ends, looks
from fairhaul.figures.charts.relations import Box, boxes, distributions
from fairhaul.figures.figure import Figure
from fairhaul.figures.select import evenly, part
from fairhaul.statistics.estimate import LEAST_RUNS
from fairhaul.text.phrases import rate_unit

# More lines than this cannot be told apart.
MOST_LINES = 8
MOST_BOXES = 24
# Points beside a box.
MOST_POINTS = 200
# Of fewer flows, the tables and the shares say it all.
LEAST_FLOWS = 20
# Of fewer values, the points beside the boxes say it all.
LEAST_VALUES = 20

Cases = Mapping[str, Sequence[float]]


def of_seeds(runs: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Draw the goodput of each measured flow over the runs; nothing of fewer than five runs."""
    if len(runs) < LEAST_RUNS:
        return []
    cases: dict[str, list[float]] = {}
    for run in runs:
        for flow in run["flows"]:
            if flow["role"] == "measured":
                cases.setdefault(flow["name"], []).append(flow["goodput_bps"])
    texts = ("Goodput of each flow", f"over {len(runs)} runs with different seeds")
    return _rates(cases, looks(cases), "seeds", texts)


def of_flows(run: Mapping[str, Any]) -> list[Figure]:
    """Draw the goodput of many measured flows of one run, by controller."""
    cases: dict[str, list[float]] = {}
    for flow in run["flows"]:
        if flow["role"] == "measured":
            cases.setdefault(flow["controller"], []).append(float(flow["goodput_bps"]))
    cases = {name: values for name, values in cases.items() if len(values) >= LEAST_FLOWS}
    if not cases:
        return []
    texts = ("Goodput of flows", "over the flows of each controller")
    return _rates(cases, case_looks(cases), "flows", texts)


def of_scenarios(
    labels: Sequence[str], each: Sequence[Sequence[Mapping[str, Any]]]
) -> list[Figure]:
    """Draw Jain's index of each scenario over its runs, of scenarios with at least five."""
    cases: dict[str, list[float]] = {}
    for label, runs in zip(labels, each, strict=True):
        values = [run["fairness"]["jain"] for run in runs]
        if len(runs) >= LEAST_RUNS and None not in values:
            cases[label] = values
    if not cases:
        return []
    low, high = ends([v for values in cases.values() for v in values], most=1.0)
    x = Scale(title="Jain's index", low=low, high=high)
    texts = ("Jain's index", "over the seeds of each scenario")
    return _both(cases, case_looks(cases), x, "jain", texts)


def _rates(cases: Cases, of: Sequence[Look], name: str, texts: tuple[str, str]) -> list[Figure]:
    scale, unit = rate_unit(max((v for values in cases.values() for v in values), default=0.0))
    scaled = {case: [scale * value for value in values] for case, values in cases.items()}
    low, high = ends([v for values in scaled.values() for v in values])
    return _both(scaled, of, Scale(title=f"Goodput ({unit})", low=low, high=high), name, texts)


def _both(
    cases: Cases, of: Sequence[Look], x: Scale, name: str, texts: tuple[str, str]
) -> list[Figure]:
    title, each = texts
    pairs = list(zip(of, cases.values(), strict=True))
    drawn = [box_of(look, values) for look, values in pairs[:MOST_BOXES]]
    box = (
        f"The values {each}: a box from the first to the third quartile with the median, a line "
        f"from the smallest to the largest."
    )
    cdf = f"The part of the values {each} that are at most as large (the empirical distribution)."
    of_boxes = part(len(drawn), len(pairs), "cases")
    quartiles = Figure(
        name=f"{name}-boxes",
        title=f"{title}: quartiles{of_boxes}",
        caption=box,
        chart=boxes(drawn, x),
    )
    if max(map(len, cases.values())) < LEAST_VALUES:
        return [quartiles]
    lines = pairs[:MOST_LINES]
    distribution = Figure(
        name=f"{name}-cdf",
        title=f"{title}: distribution{part(len(lines), len(pairs), 'cases')}",
        caption=cdf,
        chart=distributions(lines, x),
    )
    return [quartiles, distribution]


def box_of(look: Look, values: Sequence[float]) -> Box:
    """Give the box of some values, with the points beside it."""
    low, middle, high = map(float, np.quantile(values, [0.25, 0.5, 0.75]))
    points = evenly(sorted(values), MOST_POINTS)
    return Box(look=look, values=points, quartiles=(low, middle, high))

"""The figure of docs/grain.md: how much bursts as one differ from single packets, case by case."""

from __future__ import annotations

from collections.abc import Sequence

from fairhaul.figures.bins import tidy
from fairhaul.figures.charts import Look, Scale, dots
from fairhaul.figures.charts.vega import Row, Spec
from fairhaul.figures.look import colour
from tools.grain.comparison import Difference, Outcome

# Per cent.
EDGE = 25.0


def draw(outcomes: Sequence[Outcome]) -> Spec:
    """Draw the share that differs most and the loss events, with their standard errors.

    The case with the largest difference is the first.
    """
    looks = [Look(label="share", colour=colour(0)), Look(label="loss events", colour=colour(1))]
    ordered = sorted(outcomes, key=lambda of: -max(map(_far, (of.worst, of.events))))
    rows = [
        _row(outcome.name, look.label, difference)
        for outcome in ordered
        for look, difference in zip(looks, (outcome.worst, outcome.events), strict=True)
    ]
    x = Scale(
        title="Difference (%)",
        low=-EDGE,
        high=EDGE,
        ticks=[-25, -20, -15, -10, -5, 0, 5, 10, 15, 20, 25],
    )
    return dots(looks, rows, [outcome.name for outcome in ordered], x)


def _far(difference: Difference) -> float:
    return abs(difference.more / difference.packets) if difference.packets else 0.0


def _row(case: str, of: str, difference: Difference) -> Row:
    per_cent = 100 / difference.packets if difference.packets else 0.0
    mean, error = difference.more * per_cent, difference.error * per_cent
    return {
        "row": case,
        "of": of,
        "mean": tidy(mean),
        "low": tidy(mean - error),
        "high": tidy(mean + error),
    }

"""What came out at settings that were drawn at random: a point for each, over each of its keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhaul.figures.axes import SweptAxis
from fairhaul.figures.charts import Scale, case_looks
from fairhaul.figures.charts.fields import scattered
from fairhaul.figures.charts.vega import Spec

# Panels beside each other.
MOST_SIDES = 4

# The settings of a case, each with what came out.
Cloud = Sequence[tuple[Mapping[str, Any], float]]


def clouds_over(keys: Sequence[SweptAxis], clouds: Mapping[str, Cloud], y: Scale) -> Spec:
    """Draw the points of each case, which has its colour and shape, in a panel for each key."""
    looks = case_looks(clouds)
    sides = [
        (
            axis.scale(),
            [
                (look, [{"x": axis.number(of[axis.key]), "mean": value} for of, value in cloud])
                for look, cloud in zip(looks, clouds.values(), strict=True)
            ],
        )
        for axis in keys
    ]
    return scattered(sides, y)

"""How precise a figure is to be, and how many runs that takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairhaul.scenario.read import ScenarioError
from fairhaul.statistics.estimate import LEAST_RUNS
from fairhaul.text.nearest import hint

# The number of runs grows at most by this factor at a time, because a spread that was estimated
# from few runs may be too large.
GROWTH = 2.0


@dataclass(frozen=True, kw_only=True)
class Precision:
    """The half width that the 95 % interval of a figure is to have at most.

    `figure` is named as in the tables of a sweep, such as `jain` or `F1.share`; `within` is a part
    of the mean if it is `relative`.
    """

    figure: str
    within: float
    relative: bool = False

    def __str__(self) -> str:
        """Write it as it is given: `jain=0.02`, `F1.goodput_bps=5%`."""
        width = f"{self.within * 100:g}%" if self.relative else f"{self.within:g}"
        return f"{self.figure}={width}"

    def runs(self, estimates: Mapping[str, Mapping[str, Any] | None], runs: int) -> int:
        """Give the number of runs to have next: `runs` if the figure is precise enough.

        Args:
            estimates: the means of the figures over the runs, by name.
            runs: the number of runs.

        Raises:
            ScenarioError: there is no such figure, or it has no value.
        """
        if self.figure not in estimates:
            raise ScenarioError(f"unknown figure {self.figure!r}; {hint(self.figure, estimates)}")
        found = estimates[self.figure]
        if runs < LEAST_RUNS:
            return LEAST_RUNS
        if found is None:
            raise ScenarioError(f"the figure {self.figure!r} has no value in these runs")
        mean, low, high = found["mean"], found["low"], found["high"]
        half: float = max(mean - low, high - mean)
        allowed = self.within * (abs(mean) if self.relative else 1.0)
        if half <= allowed:
            return runs
        if allowed == 0:
            return math.ceil(GROWTH * runs)
        return min(math.ceil(runs * (half / allowed) ** 2), math.ceil(GROWTH * runs))


def read_precision(text: str) -> Precision:
    """Read `FIGURE=WIDTH`, where the width is a number or a percentage of the mean.

    Raises:
        ScenarioError: it has another form.
    """
    figure, equals, width = (part.strip() for part in text.partition("="))
    relative = width.endswith("%")
    try:
        within = float(width.removesuffix("%")) / (100 if relative else 1)
    except ValueError:
        within = math.nan
    if not (figure and equals and 0 < within < math.inf):
        raise ScenarioError(
            f"{text!r} is not a precision; wanted FIGURE=WIDTH, e.g. jain=0.02 or F1.share=5%"
        )
    return Precision(figure=figure, within=within, relative=relative)

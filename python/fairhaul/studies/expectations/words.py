"""How the results of expectations are written."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from fairhaul.statistics.estimate import LEAST_RUNS, Estimate, text

if TYPE_CHECKING:
    from fairhaul.studies.expectations import Judged
    from fairhaul.studies.expectations.checking import Checked


def measured(judged: Judged) -> str:
    """Write the number of an expectation over the runs of an engine, with its interval."""
    if judged.estimate is None:
        return "no run has this number" if judged.values else "no valid run"
    missing = judged.values.count(None)
    lacking = f" ({missing} of {len(judged.values)} runs lack it)" if missing else ""
    return text(judged.estimate, _form(judged.estimate)) + lacking


def _form(of: Estimate) -> Callable[[float], str]:
    """Give as many digits as the interval justifies: two of its half, at most six decimals."""
    if of.low is None or of.high is None or of.high == of.low:
        return lambda value: f"{value:.4g}"
    digits = min(max(1 - math.floor(math.log10((of.high - of.low) / 2)), 0), 6)
    return lambda value: f"{value:.{digits}f}"


def outcome(checked: Checked) -> str:
    """Write the verdict of each engine with what was measured."""
    parts = [
        f"{judged.verdict} on {engine}: {measured(judged)}" for engine, judged in checked.by.items()
    ]
    if not parts:
        parts = ["undecided: no engine could run it"]
    few = any(len(judged.values) < LEAST_RUNS for judged in checked.by.values())
    if few:
        parts.append(f"fewer than {LEAST_RUNS} runs decide nothing")
    if checked.engines_disagree:
        parts.append("the intervals of the two engines have no number in common")
    return "; ".join(parts)

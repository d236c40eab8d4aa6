"""The tables of a suite: a row for each point of a test and each controller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairhaul.estimate import Estimate, estimate
from fairhaul.tcpeval import Done
from fairhaul.tcpeval.cases import STANDARD, Case, Figures

# The heads of the columns of points.
POINTS = {
    "basic": ("link", "load"),
    "tradeoff": ("buffer, % of BDP",),
    "ramp-up": ("link", "round trips"),
    "transients": ("datagrams",),
    "impact": ("load",),
    "fairness": ("link", "buffer, % of BDP", "round trips"),
    "bottlenecks": ("load",),
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """The figures of a point and a controller, over all seeds."""

    point: tuple[str, ...]
    controller: str
    figures: dict[str, Estimate | None]
    """None where a run has no such number."""


def rows(done: Done, test: str) -> list[Row]:
    """Give the rows of a test, in the order of its cases."""
    groups: dict[tuple[tuple[str, ...], str], list[Figures]] = {}
    for case in done.cases[test]:
        key = case.point, case.controller
        groups.setdefault(key, []).append(_figures(done, case))
    return [
        Row(point=point, controller=name, figures=_estimates(each))
        for (point, name), each in groups.items()
        if not (test == "impact" and name == STANDARD)
    ]


def _figures(done: Done, case: Case) -> Figures:
    """Give the figures of a case; those of camps as a gain and a loss [TCPEVAL, 6.1.3]."""
    figures = done.figures[case.name]
    if case.test != "impact" or case.controller == STANDARD:
        return figures
    base = next(
        other
        for other in done.cases["impact"]
        if (other.point, other.controller, other.seed) == (case.point, STANDARD, case.seed)
    )
    of = done.figures[base.name]
    return {
        "gain": _ratio(figures["goodput_B"], of["goodput_B"]),
        "loss": _ratio(figures["goodput_A"], of["goodput_A"]),
    }


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _estimates(each: Sequence[Figures]) -> dict[str, Estimate | None]:
    found: dict[str, Estimate | None] = {}
    for key in each[0]:
        values = [value for figures in each if (value := figures[key]) is not None]
        found[key] = estimate(values) if len(values) == len(each) else None
    return found

"""The tables of a suite: a row for each point of a test and each controller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.statistics.estimate import AT_LEAST_0, FRACTION, Bounds, Estimate, estimate, text
from fairhaul.studies.tcpeval import Done
from fairhaul.studies.tcpeval.cases import STANDARD, Figures, percent
from fairhaul.studies.tcpeval.latency import PARTS, SIZES, size_key, size_name

TITLES = {
    "basic": "Basic scenarios",
    "tradeoff": "Delay and throughput",
    "ramp-up": "Ramp-up of a new flow",
    "transients": "Transients",
    "impact": "Impact on standard TCP",
    "fairness": "Fairness of two flows",
    "bottlenecks": "Several bottlenecks",
}
POINTS = {
    "basic": ("link", "load"),
    "tradeoff": ("buffer, % of BDP",),
    "ramp-up": ("link", "round trips"),
    "transients": ("datagrams",),
    "impact": ("load",),
    "fairness": ("link", "buffer, % of BDP", "round trips"),
    "bottlenecks": ("load",),
}
"""The heads of the columns of the points of a test."""


def _part(value: float) -> str:
    return f"{100 * value:.3g} %"


def _time(value: float) -> str:
    if value < 1:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of numbers: the key of its figures, its head, and how a number is written."""

    key: str
    head: str
    form: Callable[[float], str]
    bounds: Bounds = AT_LEAST_0
    detail: bool = False
    """Whether it is on the page and not on the screen."""


DROPS = Column(key="drop_rate", head="dropped", form=_part, bounds=FRACTION)
CENTRAL = (
    Column(key="utilization", head="utilization", form=_part, bounds=FRACTION),
    DROPS,
    Column(key="queue_s", head="mean queue", form=_time),
    Column(key="utilization_up", head="upwards", form=_part, bounds=FRACTION, detail=True),
    Column(key="drop_rate_up", head="dropped upwards", form=_part, bounds=FRACTION, detail=True),
    Column(key="queue_s_up", head="queue upwards", form=_time, detail=True),
    Column(key="small_transfer_s", head="up to 10 kB", form=_time),
    Column(key="large_transfer_s", head="from 1 MB", form=_time),
)
COLUMNS: dict[str, tuple[Column, ...]] = {
    "basic": CENTRAL,
    "tradeoff": CENTRAL,
    "ramp-up": tuple(
        Column(key=size_key(size), head=size_name(size), form=_time) for size in SIZES
    ),
    "transients": (
        *(
            Column(key=f"s_to_{part:g}", head=f"{percent(part)} of path", form=_time)
            for part in PARTS
        ),
        Column(key="most_change_packets", head="most packets in an RTT", form=_number),
        Column(key="dropped_packets", head="datagrams dropped", form=_number),
    ),
    "impact": (
        Column(key="gain", head="G", form=_number),
        Column(key="loss", head="L", form=_number),
    ),
    "fairness": (Column(key="ratio", head="first / second", form=_number), DROPS),
    "bottlenecks": (Column(key="ratio", head="one / three bottlenecks", form=_number), DROPS),
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """The figures of a point and a controller, over all seeds."""

    point: tuple[str, ...]
    controller: str
    figures: dict[str, Estimate | None]
    """None where a run has no such number."""

    def cells(self, columns: Sequence[Column]) -> list[str]:
        """Write the row."""
        numbers = [self.figures.get(column.key) for column in columns]
        return [
            *self.point,
            self.controller,
            *(
                "-" if number is None else text(number, column.form)
                for number, column in zip(numbers, columns, strict=True)
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Give the row as it is printed in JSON."""
        figures = {
            key: None if number is None else number.to_dict()
            for key, number in self.figures.items()
        }
        return {"point": list(self.point), "controller": self.controller, "figures": figures}


def heads(test: str, columns: Sequence[Column]) -> list[str]:
    """Give the heads of the columns of a test."""
    return [*POINTS[test], "controller", *(column.head for column in columns)]


def rows(done: Done, test: str) -> list[Row]:
    """Give the rows of a test, in the order of its cases."""
    groups: dict[tuple[tuple[str, ...], str], list[Figures]] = {}
    for case in done.cases[test]:
        key = case.point, case.controller
        groups.setdefault(key, []).append(done.figures[case.name])
    found = []
    for (point, name), each in groups.items():
        if test == "impact":
            if name == STANDARD:
                continue
            each = _gain_and_loss(each, groups[point, STANDARD])  # noqa: PLW2901
        found.append(Row(point=point, controller=name, figures=_estimates(test, each)))
    return found


def _gain_and_loss(each: Sequence[Figures], of: Sequence[Figures]) -> list[Figures]:
    """Relate the goodput of both camps to that of standard TCP, by seed [TCPEVAL, 6.1.3].

    The gain is that of camp B, which changed its controller; the loss is what camp A kept.
    """
    return [
        {
            "gain": _ratio(figures["goodput_B"], base["goodput_B"]),
            "loss": _ratio(figures["goodput_A"], base["goodput_A"]),
        }
        for figures, base in zip(each, of, strict=True)
    ]


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def _estimates(test: str, each: Sequence[Figures]) -> dict[str, Estimate | None]:
    found: dict[str, Estimate | None] = {}
    for column in COLUMNS[test]:
        if column.key not in each[0]:
            continue
        values = [value for figures in each if (value := figures[column.key]) is not None]
        whole = len(values) == len(each)
        found[column.key] = estimate(values, column.bounds) if whole else None
    return found

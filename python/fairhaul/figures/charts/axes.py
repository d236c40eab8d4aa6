"""The axis of a quantity: its title, its ends, its ticks, linear or in powers of ten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairhaul.figures.charts.vega import Spec, column


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What an axis is called, where it ends, where it has its ticks, and whether it is in powers.

    `form` is the format of its numbers, as in Vega; by default it suits the ticks.
    """

    title: str
    low: float
    high: float
    log: bool = False
    ticks: Sequence[float] = ()
    form: str = ""

    def place(self, value: float) -> float:
        """How far along the axis a value lies: from 0 to 1."""
        low, at, high = (
            math.log(max(v, 1e-300)) if self.log else v for v in (self.low, value, self.high)
        )
        return (at - low) / (high - low)

    def inside(self, value: float | None) -> float | None:
        """Give the nearest value on the axis."""
        return None if value is None else min(max(value, self.low), self.high)

    def of(self, called: str) -> Spec:
        """Give the axis of a column."""
        return column(called, axis=self._axis(), scale=self.law())

    def _axis(self) -> Spec:
        axis: Spec = {"title": self.title}
        axis |= {"values": list(self.ticks)} if self.ticks else {"tickCount": 6}
        return axis | ({"format": self.form or "~g"} if self.form or self.log else {})

    def law(self) -> Spec:
        """Give from where to where it goes, and how."""
        kind = "log" if self.log else "linear"
        return {"type": kind, "domain": [self.low, self.high], "nice": False, "zero": False}


def powers(
    title: str,
    values: Sequence[float | None],
    steps: Sequence[float] = (1, 2, 5),
    form: str = "",
) -> Scale:
    """Give an axis in powers of ten that has room for `values`."""
    low, high = ends(values, log=True)
    return Scale(
        title=title, low=low, high=high, log=True, ticks=ticks(low, high, steps), form=form
    )


def ends(
    values: Sequence[float | None], *, log: bool = False, most: float = math.inf
) -> tuple[float, float]:
    """Give the ends of an axis that has room for `values`, up to `most` of what cannot be more."""
    drawn = [value for value in values if value is not None and (value > 0 or not log)]
    if not drawn:
        return (0.1, 1.0) if log else (0.0, 1.0)
    low, high = min(drawn), max(drawn)
    if log:
        return low / 1.25, high * 1.25
    room = 0.05 * (high - low) or 0.05 * abs(high) or 0.05
    return (low if low < 0 else max(0.0, low - room)), min(high + room, most)


def ticks(low: float, high: float, steps: Sequence[float] = (1, 2, 5)) -> list[float]:
    """Give the ticks of an axis in powers of ten."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    positions = [step * 10.0**power for power in powers for step in steps]
    kept = [float(f"{value:.3g}") for value in positions if low <= value <= high]
    return kept if len(kept) <= 9 or len(steps) == 1 else ticks(low, high, (1,))

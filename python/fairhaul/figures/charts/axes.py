"""The axis of a quantity: its title, its ends, its ticks, linear or in powers of ten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairhaul.figures.charts.vega import Spec, column


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What an axis is called, where it ends, where it has its ticks, and whether it is in powers.

    One in powers begins above zero, or has a part from zero to about `linear_to` that is linear.
    `form` is the format of its numbers, as in Vega; by default it suits the ticks.
    """

    title: str
    low: float
    high: float
    log: bool = False
    linear_to: float = 0.0
    ticks: Sequence[float] = ()
    form: str = ""

    def place(self, value: float) -> float:
        """How far along the axis a value lies: from 0 to 1."""
        low, at, high = map(self._moved, (self.low, value, self.high))
        return (at - low) / (high - low)

    def _moved(self, value: float) -> float:
        if self.linear_to:
            return math.copysign(math.log1p(abs(value) / self.linear_to), value)
        return math.log(max(value, 1e-300)) if self.log else value

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
        ends: Spec = {"domain": [self.low, self.high], "nice": False}
        if self.linear_to:
            return {"type": "symlog", "constant": self.linear_to, **ends}
        if self.log:
            return {"type": "log", **ends}
        return {"type": "linear", "zero": False, **ends}


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


def powers_and_zero(title: str, values: Sequence[float]) -> Scale:
    """Give an axis with room for `values`, of which some are zero and others powers of ten apart.

    Each value has a tick.
    """
    least = min(value for value in values if value > 0)
    return Scale(
        title=title,
        low=0.0,
        high=1.25 * max(values),
        linear_to=least,
        ticks=sorted(set(values)),
        form="~g",
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

"""The swept keys of a sweep as axes of a figure: numbers with one unit, or labels."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fairhaul.results.table import Row, short, swept
from fairhaul.text.phrases import short_text

NUMBER = re.compile(r"\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(.*)")


@dataclass(frozen=True, kw_only=True)
class SweptAxis:
    """A swept key: its values in the order of the sweep, and as numbers if all of them are.

    `unit` is that of all numbers, or empty.
    """

    key: str
    name: str
    values: Sequence[Any]
    numbers: Sequence[float] | None
    unit: str

    @property
    def title(self) -> str:
        """What the axis is called: the last parts of the key, and the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def is_logarithmic(self) -> bool:
        """Whether neighbouring numbers have equal ratios rather than equal differences."""
        numbers = sorted(set(self.numbers or ()))
        if len(numbers) < 3 or numbers[0] <= 0:
            return False
        ratios = [math.log(b / a) for a, b in pairwise(numbers)]
        steps = [b - a for a, b in pairwise(numbers)]
        return _spread(ratios) < _spread(steps) and numbers[-1] / numbers[0] >= 4

    def number(self, value: Any) -> float:
        """Give the number of a value of a numeric axis."""
        assert self.numbers is not None
        return self.numbers[list(self.values).index(value)]


def _spread(steps: Sequence[float]) -> float:
    mean = sum(steps) / len(steps)
    return math.sqrt(sum((step - mean) ** 2 for step in steps) / len(steps)) / mean


def axes(table: Sequence[Row]) -> list[SweptAxis]:
    """Give the keys of a sweep that have several values."""
    keys = swept(table)
    found = []
    for key, values in keys.items():
        if len(values) > 1:
            numbers, unit = _numbers(values) or (None, "")
            name = short(key, list(keys))
            axis = SweptAxis(key=key, name=name, values=values, numbers=numbers, unit=unit)
            found.append(axis)
    return found


def _numbers(values: Sequence[Any]) -> tuple[list[float], str] | None:
    """Give values as numbers with one unit, if they are."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [float(value) for value in values], ""
    read = [NUMBER.fullmatch(value) if isinstance(value, str) else None for value in values]
    units = {match[2].strip() if match else None for match in read}
    if None in units or len(units) != 1:
        return None
    try:
        return [float(match[1]) for match in read if match], str(units.pop())
    except ValueError:
        return None


def label(row: Row, keys: Sequence[SweptAxis]) -> str:
    """Name a point by the values of some keys: a word alone, a number with its key."""
    return ", ".join(_labelled(axis, row.point.variant.get(axis.key)) for axis in keys)


def _labelled(axis: SweptAxis, value: Any) -> str:
    if axis.numbers is None:
        return short_text(value, axis.values)
    return f"{axis.name} {value}"

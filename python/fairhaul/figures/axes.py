"""The swept keys of a sweep as axes of a figure: numbers with one unit, or labels."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from fairhaul.figures.charts import Scale, ends, powers, powers_and_zero
from fairhaul.figures.select import evenly
from fairhaul.results.table import Row, short, swept
from fairhaul.text.phrases import short_text

NUMBER = re.compile(r"\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(.*)")
# With so many values or fewer, each has a tick.
MOST_TICKS = 9
# From this ratio of the largest number to the smallest on, an axis may be logarithmic.
LEAST_RATIO = 4


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
        """Whether neighbouring numbers above zero have equal ratios, not equal differences."""
        numbers = sorted(set(self.numbers or ()))
        above = [number for number in numbers if number > 0]
        if len(numbers) - len(above) > (0 in numbers) or len(above) < 2:
            return False
        ratios = [math.log(b / a) for a, b in pairwise(above)]
        steps = [b - a for a, b in pairwise(above)]
        geometric = len(above) == 2 or _spread(ratios) < _spread(steps)
        return geometric and above[-1] / above[0] >= LEAST_RATIO

    def scale(self) -> Scale:
        """Give the axis of a figure: logarithmic where the values are, with a tick at each."""
        assert self.numbers is not None
        numbers = sorted(set(self.numbers))
        if self.is_logarithmic:
            kind = powers_and_zero if numbers[0] == 0 else powers
            drawn = kind(self.title, numbers)
        else:
            low, high = ends(numbers)
            drawn = Scale(title=self.title, low=low, high=high)
        ticks = numbers if len(numbers) <= MOST_TICKS else drawn.ticks
        return replace(drawn, ticks=ticks, form=",~g")

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
    return [
        axis_of(key, short(key, list(keys)), values)
        for key, values in keys.items()
        if len(values) > 1
    ]


def axis_of(key: str, name: str, values: Sequence[Any]) -> SweptAxis:
    """Give a key with its values as an axis that is called `name`."""
    numbers, unit = _numbers(values) or (None, "")
    return SweptAxis(key=key, name=name, values=values, numbers=numbers, unit=unit)


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
    return ", ".join(labelled(axis, row.point.variant.get(axis.key)) for axis in keys)


def labelled(axis: SweptAxis, value: Any) -> str:
    """Name a value of a key: a word alone, a number with its key."""
    if axis.numbers is None:
        return short_text(value, axis.values)
    return f"{axis.name} {value}"


def chosen(keys: Sequence[SweptAxis], most: int) -> Mapping[str, Sequence[Any]]:
    """Choose values of keys, of which there are then at most `most` combinations, if possible.

    Every word is kept. Of numbers, the smallest, the largest and some between are.
    """
    kept = {axis.key: list(axis.values) for axis in keys}
    numeric = {
        axis.key: sorted(axis.values, key=axis.number) for axis in keys if axis.numbers is not None
    }
    while math.prod(map(len, kept.values())) > most:
        longest = max(numeric, key=lambda key: len(kept[key]), default=None)
        if longest is None or len(kept[longest]) <= 2:
            break
        kept[longest] = evenly(numeric[longest], len(kept[longest]) - 1)
    return kept

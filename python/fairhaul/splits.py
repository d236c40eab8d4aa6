"""Which setting decides: the rule over one setting that separates two groups of runs best."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# A number and a unit, and not a range of two such.
QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([^\d.]*)")


@dataclass(frozen=True, kw_only=True)
class Split:
    """A rule such as "bottleneck.rate from 1 Gbit/s", and for how many of the runs it is right."""

    key: str
    rule: str
    right: int
    of: int

    def separates(self, part: float) -> bool:
        """Whether the rule is right for at least that part of the runs."""
        return self.right >= part * self.of


def best_split(settings: Sequence[Mapping[str, Any]], holds: Sequence[bool]) -> Split | None:
    """Give the best rule for where `holds` is true; None if "always" or "never" is as good.

    A rule is a limit of a number, or a value of a word. Numbers have one unit, as `[sweep]` writes
    them.
    """
    usual = max(sum(holds), len(holds) - sum(holds))
    best: Split | None = None
    for key in settings[0]:
        for rule, which in _rules([setting[key] for setting in settings]):
            right = sum(one == other for one, other in zip(which, holds, strict=True))
            if right > (best.right if best else usual):
                best = Split(key=key, rule=rule, right=right, of=len(holds))
    return best


def number_of(value: Any) -> float | None:
    """Give the number of a value, without its unit; None of a word, a list or a truth value."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    parts = QUANTITY.fullmatch(str(value))
    return float(parts[1]) if parts else None


def _rules(values: Sequence[Any]) -> list[tuple[str, list[bool]]]:
    """Give the rules over a setting, each with the runs that it selects."""
    numbers = [number_of(value) for value in values]
    known = [number for number in numbers if number is not None]
    if len(known) == len(values):
        texts = dict(zip(known, values, strict=True))
        limits = sorted(texts)[1:]
        below = [(f"below {texts[x]}", [number < x for number in known]) for x in limits]
        above = [(f"from {texts[x]}", [number >= x for number in known]) for x in limits]
        return below + above
    words = list(dict.fromkeys(map(str, values)))
    return [(f"is {word}", [str(value) == word for value in values]) for word in words]

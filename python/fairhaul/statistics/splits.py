"""What something depends on: the rule over one setting by which two groups of runs differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import and_
from typing import Any

from fairhaul import _core
from fairhaul.statistics.distributions import hypergeometric_tail

CHANCE = 0.05
# Numbers that occur are divided into so many parts at most, at whose ends limits are tried.
PARTS = 10


@dataclass(frozen=True, kw_only=True)
class Split:
    """A rule such as "bottleneck.rate from 1 Gbit/s", and where something holds by it.

    `selected` and `others` are pairs: in how many of the runs that the rule selects, or does not
    select, it holds, and how many these runs are.
    """

    key: str
    rule: str
    selected: tuple[int, int]
    others: tuple[int, int]
    p: float
    """The probability of such a difference by chance, corrected for the number of rules tried."""

    @property
    def right(self) -> int:
        """For how many runs the rule is right that it holds there and nowhere else."""
        return self.selected[0] + self.others[1] - self.others[0]

    @property
    def of(self) -> int:
        """The number of runs."""
        return self.selected[1] + self.others[1]

    @property
    def is_beyond_chance(self) -> bool:
        """Whether chance explains it in less than one of 20 cases."""
        return self.p < CHANCE

    def separates(self, part: float) -> bool:
        """Whether the rule is right for at least that part of the runs."""
        return self.right >= part * self.of


def best_split(settings: Sequence[Mapping[str, Any]], holds: Sequence[bool]) -> Split | None:
    """Give the rule by which `holds` differs most, by Fisher's exact test; None if none does.

    A rule is a limit of a number, or a value of a word. Numbers have one unit, as `[sweep]` writes
    them. The probability is multiplied by the number of rules (Bonferroni).
    """
    rules = [
        (key, rule, sum(which), sum(map(and_, which, holds)))
        for key in settings[0]
        for rule, which in _rules([setting[key] for setting in settings])
    ]
    many, held = len(holds), sum(holds)
    tried = [rule for rule in rules if 0 < rule[2] < many]
    if not tried or held in (0, many):
        return None
    chances = [hypergeometric_tail(many, held, size, within) for _, _, size, within in tried]
    chance = min(chances)
    key, rule, size, within = tried[chances.index(chance)]
    return Split(
        key=key,
        rule=rule,
        selected=(within, size),
        others=(held - within, many - size),
        p=min(1.0, chance * len(tried)),
    )


def number_of(value: Any) -> float | None:
    """Give the number of a value, without its unit; None of a word, a list or a truth value."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    parts = _core.number_and_unit(str(value))
    return parts[0] if parts else None


def _rules(values: Sequence[Any]) -> list[tuple[str, list[bool]]]:
    """Give the rules over a setting, each with the runs that it selects."""
    numbers = [number_of(value) for value in values]
    known = [number for number in numbers if number is not None]
    if len(known) == len(values):
        texts = dict(zip(known, values, strict=True))
        steps = sorted(texts)
        parts = min(PARTS, len(steps))
        limits = [steps[part * len(steps) // parts] for part in range(1, parts)]
        below = [(f"below {texts[x]}", [number < x for number in known]) for x in limits]
        above = [(f"from {texts[x]}", [number >= x for number in known]) for x in limits]
        return below + above
    words = list(dict.fromkeys(map(str, values)))
    return [(f"is {word}", [str(value) == word for value in values]) for word in words]

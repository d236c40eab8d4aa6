"""Phrases: quantities with their units, and lists of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhaul.text.digits import Significant

PREFIXES = (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))


# A rate with its interval, in one unit.
def prefixed(unit: str) -> Significant:
    """Give the form of a number with three digits and a suitable prefix of its unit."""
    return Significant(units=[(f" {prefix}{unit}", size) for prefix, size in PREFIXES])


def quantity(value: float, unit: str) -> str:
    """Write a number with three digits and a suitable prefix: `622 Mbit/s`."""
    return prefixed(unit)(value)


RATE = prefixed("bit/s")


def rate_unit(most_bps: float) -> tuple[float, str]:
    """Choose the unit of an axis up to `most_bps`: what a bit/s is in it, and its name."""
    for unit, scale in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if most_bps >= scale:
            return 1 / scale, unit
    return 1.0, "bit/s"


def listed(words: Sequence[str]) -> str:
    """Join words with commas and "and"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def count_of(count: int, what: str) -> str:
    """Write a number of things: `one seed`, `5 seeds`."""
    return f"one {what}" if count == 1 else f"{count} {what}s"


def size_text(size_bytes: int) -> str:
    """Write a size in the largest unit that leaves a number of 1 or more."""
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if size_bytes >= 10**power:
            return f"{size_bytes / 10**power:g} {unit}"
    return f"{size_bytes} B"


def value_text(value: Any) -> str:
    """Write a value of a scenario: a table by its kind and its other keys, a list by its items."""
    if isinstance(value, Mapping):
        rest = ", ".join(f"{key} = {value_text(of)}" for key, of in value.items() if key != "kind")
        kind = str(value.get("kind", ""))
        return f"{kind} ({rest})" if kind and rest else kind or rest
    if isinstance(value, list):
        return ", ".join(map(value_text, value))
    return str(value)


def short_text(value: Any, among: Sequence[Any]) -> str:
    """Write a value of `among`: a table by its kind alone, if no other value has this kind."""
    kinds = [of.get("kind") if isinstance(of, Mapping) else of for of in among]
    if isinstance(value, Mapping) and "kind" in value and kinds.count(value["kind"]) == 1:
        return str(value["kind"])
    return value_text(value)

"""Phrases: quantities with their units, and lists of words."""

from __future__ import annotations

from collections.abc import Sequence


def quantity(value: float, unit: str) -> str:
    """Write a number with three digits and a suitable prefix: `622 Mbit/s`."""
    for prefix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def rate_unit(most_bps: float) -> tuple[float, str]:
    """Choose the unit of an axis up to `most_bps`: what a bit/s is in it, and its name."""
    for unit, scale in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if most_bps >= scale:
            return 1 / scale, unit
    return 1.0, "bit/s"


def listed(words: Sequence[str]) -> str:
    """Join words with commas and "and"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def size_text(size_bytes: int) -> str:
    """Write a size in the largest unit that leaves a number of 1 or more."""
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if size_bytes >= 10**power:
            return f"{size_bytes / 10**power:g} {unit}"
    return f"{size_bytes} B"

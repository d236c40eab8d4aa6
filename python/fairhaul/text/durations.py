"""Lengths of time in words."""

from __future__ import annotations

from fairhaul.text.digits import Significant

# From the largest unit down; a length is written in two neighbouring units.
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
# A length with its interval, in one unit.
DURATION = Significant(units=[*((f" {name}", size) for size, name in UNITS), (" ms", 1e-3)])
# Of which part on work shows how long the rest takes.
LEAST_PART = 0.02


def rough_duration_text(seconds: float) -> str:
    """Write a length of time in its largest unit, such as "3 h"."""
    unit, name = next((unit for unit in UNITS if seconds >= unit[0]), UNITS[-1])
    value = seconds / unit
    return f"{value:.2g} {name}" if value < 99.5 else f"{value:.0f} {name}"


def duration_text(seconds: float) -> str:
    """Write a length of time in its two largest units, such as "3 h 26 min"."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    at = next(i for i, (unit, _) in enumerate(UNITS) if seconds >= unit)
    (large, large_name), (small, small_name) = UNITS[at : at + 2]
    whole, rest = divmod(round(seconds / small), large // small)
    return f"{whole} {large_name} {rest} {small_name}" if rest else f"{whole} {large_name}"


def left_text(spent_s: float, part: float) -> str:
    """Write how long the rest of some work takes if this part of it took so long, after a comma.

    The beginning of work says little of its rest, so the text is empty there, and at its end.
    """
    if not LEAST_PART <= part < 1:
        return ""
    return f", about {rough_duration_text(spent_s * (1 - part) / part)} left"

"""When the answer of an advice would change: the settings in which another candidate is faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.statistics.splits import best_split
from fairhaul.studies.advice.path import NAMES

if TYPE_CHECKING:
    from fairhaul.studies.advice.results import Entry

# The part of the settings for which a rule is right, from which on it is stated.
SEPARATES = 0.8


def sensitivity(
    winner: Entry, allowed: Sequence[Entry], settings: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Say where another allowed entry is faster, if one swept key separates these settings."""
    wins = {
        other.name: [
            theirs.goodput_bps > 1.05 * ours.goodput_bps
            for ours, theirs in zip(winner.runs, other.runs, strict=True)
        ]
        for other in allowed
        if other is not winner
    }
    return [_where(name, winner.name, won, settings) for name, won in wins.items() if any(won)]


def _where(
    other: str, winner: str, wins: Sequence[bool], settings: Sequence[Mapping[str, Any]]
) -> str:
    """Describe the settings in which `other` is faster by the key that separates them best."""
    best = best_split(settings, wins)
    count = f"{other} is faster than {winner} in {sum(wins)} of {len(wins)} settings"
    if best is None or not best.separates(SEPARATES):
        return f"{count}; no single property of the path separates these settings."
    return (
        f"{count}: with {NAMES[best.key]} {best.rule}, a rule that is right for {best.right} of "
        f"the {best.of} settings."
    )

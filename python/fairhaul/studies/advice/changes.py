"""Where another candidate than the winner is faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.statistics.splits import best_split

if TYPE_CHECKING:
    from fairhaul.studies.advice.tournament import Entry

# The part of the settings for which a rule is right, from which on it is stated.
SEPARATES = 0.8

NAMES = {
    "bottleneck.queue.capacity": "a buffer",
    "flow.cross.count": "a number of competing flows",
    "bottleneck.loss": "a probability of loss",
    "bottleneck.policer.burst": "a bucket",
}


def changes(
    winner: Entry, allowed: Sequence[Entry], settings: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Say where another allowed entry is faster, if one swept key separates these settings."""
    found = []
    for other in allowed:
        if other is winner:
            continue
        wins = [
            theirs.goodput_bps > 1.05 * ours.goodput_bps
            for ours, theirs in zip(winner.runs, other.runs, strict=True)
        ]
        if sum(wins) > 0:
            found.append(_where(other.name, winner.name, wins, settings))
    return found


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

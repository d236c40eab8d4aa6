"""The colours of verdicts: one set for terminal, notebook and page."""

from __future__ import annotations

from typing import Literal

Tone = Literal["good", "bad", "open"]

GOOD = ("met", "holds", "✓", "agrees", "recommended")
BAD = ("not met", "does not hold", "✗", "≠", "differs", "harms too much")
OPEN = ("undecided", "in part", "?", "◐", "not evidenced", "not run")

# Colours of a terminal.
STYLES: dict[Tone, str] = {"good": "green", "bad": "red", "open": "yellow"}


def tone(cell: str) -> Tone | None:
    """Give the tone of a cell that is a verdict, or begins with one: `met: 12.3 [11.9, 12.7]`."""
    word = cell.partition(":")[0]
    tones: tuple[tuple[Tone, tuple[str, ...]], ...] = (("bad", BAD), ("good", GOOD), ("open", OPEN))
    for name, words in tones:
        if word in words or word.partition(" ")[0] in words:
            return name
    return None

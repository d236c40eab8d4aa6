"""The nearest valid word to a mistyped one, or all valid words."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

# A longer list is no help.
MOST_NAMED = 20


def nearest(word: str, known: Collection[str], cutoff: float = 0.6) -> str | None:
    """Give the word of `known` that is most like `word`; None if none is like it."""
    near = get_close_matches(word, known, n=1, cutoff=cutoff)
    return near[0] if near else None


def hint(word: str, known: Collection[str], cutoff: float = 0.6) -> str:
    """Ask whether the nearest word was meant; list the known words if none is near."""
    near = nearest(word, known, cutoff)
    if near is not None:
        return f"did you mean {near!r}?"
    return f"choose from {', '.join(list(known)[:MOST_NAMED])}"

"""The nearest valid word to a mistyped one, or all valid words."""

from __future__ import annotations

from collections.abc import Collection

from fairhaul._core import nearest

# A longer list is no help.
MOST_NAMED = 20


def hint(word: str, known: Collection[str]) -> str:
    """Ask whether the nearest word was meant; list the known words if none is near."""
    near = nearest(word, list(known))
    if near is not None:
        return f"did you mean {near!r}?"
    return f"choose from {', '.join(list(known)[:MOST_NAMED])}"

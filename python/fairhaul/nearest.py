"""The way out of a mistyped word: the nearest right one, or all that there are."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

# More than this is no help.
MOST_NAMED = 20


def hint(word: str, known: Collection[str], cutoff: float = 0.6) -> str:
    """Say what `word` was meant to be; for want of that, what there is."""
    near = get_close_matches(word, known, n=1, cutoff=cutoff)
    return (
        f"did you mean {near[0]!r}?" if near else f"there are {', '.join(list(known)[:MOST_NAMED])}"
    )

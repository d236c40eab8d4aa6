"""The bench: how fast the engine is, held beside a floor, beside its aims, and beside its peers.

It also tells what the twins cost the kernel, beside its own controllers.
`make bench` and `make bench-peers` run it. What `docs/performance.md` shows was printed by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Row:
    """A figure: of what, what was seen, and what is wanted, at least or at most.

    Without `wanted` it is there to be read beside others.
    """

    part: str
    load: str
    figure: str
    seen: float
    unit: str = ""
    wanted: float | None = None
    bound: Literal["least", "most"] = "most"

    @property
    def reached(self) -> bool | None:
        """Whether what is wanted was seen."""
        if self.wanted is None:
            return None
        return self.seen >= self.wanted if self.bound == "least" else self.seen <= self.wanted

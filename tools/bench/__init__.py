"""The bench: the speed of the engine, compared with a floor, targets and other simulators.

It also measures what eBPF ports cost in the kernel, compared with the kernel's own controllers.
`make bench` and `make bench-peers` run it. The figures in `docs/performance.md` are its output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Row:
    """A measured figure of a workload, and its target: a lower or an upper bound.

    A figure without a target is only for comparison with other figures. A figure that is `None`
    could not be measured, and `why` says why.
    """

    part: str
    load: str
    figure: str
    measured: float | None
    why: str = ""
    unit: str = ""
    target: float | None = None
    bound: Literal["least", "most"] = "most"

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached; None without a target or a figure."""
        if self.target is None or self.measured is None:
            return None
        return (
            self.measured >= self.target if self.bound == "least" else self.measured <= self.target
        )

"""The runs of a suite: each is a scenario file, and what is measured in its record."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairhaul.record.record import Record

Figures = Mapping[str, float | None]
Measure = Callable[["Record"], Figures]

STANDARD = "reno"
"""Standard TCP: with SACK, without ECN [TCPEVAL, 6.1]."""


def percent(part: float, digits: int = 0) -> str:
    """Write a part as in `60 %`."""
    return f"{100 * part:.{digits}f} %"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A run."""

    test: str
    point: tuple[str, ...]
    """The values of the test's columns, such as the link and the load."""
    controller: str
    """What is under test, or `reno` for comparison."""
    seed: int
    text: str
    """The scenario, with paths relative to the directory of the suite."""
    measure: Measure

    @property
    def name(self) -> str:
        """The name of the file of the scenario, without its ending."""
        words = [self.test, *self.point, self.controller, str(self.seed)]
        return "_".join(re.sub(r"[^\w.]+", "-", word).strip("-") for word in words)

    def file(self, out: Path) -> Path:
        """Give the path of the scenario."""
        return out / f"{self.name}.toml"


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much of the suite is run."""

    seeds: int
    shorter: float
    """The factor by which times are shorter than the draft's."""
    only: tuple[str, ...]

    def seconds(self, of_draft: float, least: float = 20.0) -> float:
        """Shorten a time of the draft, to no less than `least` seconds unless it is less."""
        return min(of_draft, max(of_draft / self.shorter, least))

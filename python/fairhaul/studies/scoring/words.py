"""A score in words: the table of its parts, and where the controller is weakest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.statistics.estimate import text
from fairhaul.studies.scoring.parts import PARTS
from fairhaul.studies.scoring.paths import PUBLIC_DRAW
from fairhaul.text.digits import Decimals

if TYPE_CHECKING:
    from fairhaul.statistics.estimate import Estimate
    from fairhaul.studies.scoring import Score

COLUMNS = ("part", "measure, from 0 (worst) to 1 (best)", "mean", "lowest")
WORDS = 2


def number(of: Estimate) -> str:
    """Write an estimate with two digits."""
    return text(of, Decimals(digits=2))


def title(of: Score) -> str:
    """Give the score in a few words."""
    which = "public draw" if of.draw == PUBLIC_DRAW else f"draw {of.draw}"
    return f"{of.controller} scores {number(of.estimate)} over {len(of.paths)} paths ({which})"


def rows(of: Score) -> list[list[str]]:
    """Give the cells of each part: name, measure, mean, lowest value of a path."""
    return [
        [
            name.replace("_", " "),
            measure,
            number(of.parts[name]),
            f"{min(path.parts[name] for path in of.paths):.2f}",
        ]
        for name, measure in PARTS.items()
    ]


def weakest(of: Score) -> str:
    """Name the part that lowers the score most, and the path where it is lowest."""
    name = min(of.parts, key=lambda part: of.parts[part].mean)
    worst = min(of.paths, key=lambda path: path.parts[name])
    return (
        f'The weakest part is "{name.replace("_", " ")}"; it is lowest over path '
        f"{worst.path.number}: {worst.path.text()}."
    )

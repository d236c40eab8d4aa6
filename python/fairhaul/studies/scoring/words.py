"""A score in words: the table of its parts, and where the controller is weakest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.figures.figure import Figure
from fairhaul.figures.side_by_side import side_by_side
from fairhaul.report.outcome import Outcome, Section
from fairhaul.scenario.profiles import line as profile_line
from fairhaul.statistics.estimate import Estimate, legend, text
from fairhaul.studies.scoring.parts import PARTS
from fairhaul.studies.scoring.paths import DROPTAIL, PUBLIC_DRAW
from fairhaul.text.digits import Decimals
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.scoring import Score

COLUMNS = ("part", "measure, from 0 (worst) to 1 (best)", "mean", "lowest")


def number(of: Estimate) -> str:
    """Write an estimate with two digits."""
    return text(of, Decimals(digits=2))


def outcome_of(of: Score) -> Outcome:
    """Put a score into words and tables."""
    which = "public draw" if of.draw == PUBLIC_DRAW else f"draw {of.draw}"
    queue = "" if of.queue == DROPTAIL else f" with the queue {of.queue}"
    over = f"over {len(of.paths)} paths ({which}){queue}"
    return Outcome(
        study="score",
        title=f"Score of {of.controller}",
        question=f"How good is {of.controller} {over}, from 0 (worst) to 1 (best)?",
        answer=f"{of.controller} scores {number(of.estimate)} {over}. {_weakest(of)}",
        evidence=lambda: _sections(of),
        values=of.values,
    )


def _sections(of: Score) -> list[Section]:
    text = [
        "The score is the geometric mean of the parts. "
        f"{legend(len(of.paths))} An interval says how much other paths from the same ranges "
        "would change the value."
    ]
    text.append(profile_line([of.profile]))
    return [
        Section(
            heading="",
            tables=[Table(title="Parts", columns=COLUMNS, rows=_rows(of), words=2)],
            figures=lambda: [_figure(of)],
        ),
        Section(heading="How it was measured", text=text),
    ]


def _figure(of: Score) -> Figure:
    names = [name.replace("_", " ") for name in of.parts]
    measures = {"Part of the score (0: worst, 1: best)": (list(of.parts.values()), 1.0)}
    caption = "Means over the paths, with 95 % intervals of the mean."
    return side_by_side("parts", "The parts of the score", caption, names, measures)


def _rows(of: Score) -> list[list[str]]:
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


def _weakest(of: Score) -> str:
    """Name the part that lowers the score most, and the path where it is lowest."""
    name = min(of.parts, key=lambda part: of.parts[part].mean)
    worst = min(of.paths, key=lambda path: path.parts[name])
    return (
        f'The weakest part is "{name.replace("_", " ")}"; it is lowest over path '
        f"{worst.path.number}: {worst.path.text()}."
    )

"""The table of scores in docs/score.md: every controller, over the public draw and another one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import fairhaul
from fairhaul.scenario.listings import needed_queue
from fairhaul.studies.scoring.parts import PARTS
from fairhaul.studies.scoring.paths import PUBLIC_DRAW
from fairhaul.studies.scoring.words import number
from fairhaul.text.table import Table
from tools import ROOT, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairhaul.runs.runs import OnProgress
    from fairhaul.studies.scoring import Score

PAGE = ROOT / "docs" / "score.md"
BEGIN, END = "<!-- scores: `make scores` -->", "<!-- end of scores -->"
SECOND_DRAW = 2


def scored() -> list[str]:
    """Name the controllers that can be scored: all that need no queue of their own."""
    return [name for name in names() if not needed_queue(name)]


def cells(of: Score) -> list[str]:
    """Give the cells of a controller that come from the public draw."""
    return [of.controller, number(of.estimate), *(f"{of.parts[part].mean:.2f}" for part in PARTS)]


def table(first: Sequence[Score], second: Mapping[str, Score]) -> str:
    """Write the table, the highest score of the public draw first."""
    parts = [part.replace("_", " ") for part in PARTS]
    heads = ["controller", f"score, draw {PUBLIC_DRAW}", *parts, f"score, draw {SECOND_DRAW}"]
    rows = [
        [*cells(of), number(second[of.controller].estimate)]
        for of in sorted(first, key=lambda of: -of.score)
    ]
    written = Table(columns=heads, rows=rows, words=len(heads)).markdown()
    return "".join(f"{line}\n" for line in written)


def rows_of_page() -> dict[str, list[str]]:
    """Give the cells of the table in the page, by controller."""
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {line[0]: line for line in lines[1:]}


def write(*, jobs: int | None = None, on_progress: OnProgress | None = None) -> None:
    """Score every controller and put the table into the page."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "runs"  # the runs of the rivals are the same for all

        def scores(draw: int) -> list[Score]:
            return [
                fairhaul.score(name, draw=draw, jobs=jobs, on_progress=on_progress, out=out)
                for name in scored()
            ]

        both = [scores(draw) for draw in (PUBLIC_DRAW, SECOND_DRAW)]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    middle = table(both[0], {of.controller: of for of in both[1]})
    PAGE.write_text(f"{before}{BEGIN}\n\n{middle}\n{END}{after}", encoding="utf-8")

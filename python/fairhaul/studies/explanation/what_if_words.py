"""What changes would bring, in words and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.report.outcome import Section
from fairhaul.statistics.estimate import legend
from fairhaul.statistics.estimate import text as estimate_text
from fairhaul.text.digits import Decimals
from fairhaul.text.phrases import RATE, quantity
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.explanation.what_if import WhatIf

HEADING = "What a change would bring, by simulation"
# A change that brings less than this many times the goodput is not named in the answer.
WORTH = 1.05
TIMES = Decimals(digits=2)


def brings(of: WhatIf | None) -> str:
    """Say in one sentence what the best change brings; nothing if that was not requested."""
    if of is None:
        return ""
    if of.declined is not None:
        return f"What a change would bring is not known: {of.declined}."
    best = of.changes[0]
    if best.times.low is None or best.times.low < WORTH:
        return "By simulation, none of the changes that were tried brings 5 % more."
    most = "" if of.assumed_bps is None else "up to "
    times = estimate_text(best.times, TIMES)
    return f"By simulation, {best.what} would bring {most}{times} times the goodput."


def what_if_sections(of: WhatIf | None) -> list[Section]:
    """Lay out the changes; nothing if that was not requested."""
    if of is None or of.declined is not None or of.now is None:
        return []
    table = Table(
        columns=["change", "goodput", "times as much", "lost %"],
        rows=[
            [
                change.what,
                estimate_text(change.goodput_bps, RATE),
                "" if change is of.now else estimate_text(change.times, TIMES),
                f"{100 * change.loss_rate:.2g}",
            ]
            for change in (of.now, *of.changes)
        ],
    )
    runs = of.now.goodput_bps.runs
    text = [f"Each is simulated {runs} times. {legend(runs)}"]
    if of.refit is not None:
        text.append(
            f"The path was corrected in {of.refit.tried} simulations of what was measured; the "
            f"last one has {quantity(of.refit.simulated.goodput_bps, 'bit/s')}."
        )
    if of.assumed_bps is not None:
        text.append(
            "The rate of the path is only known to be at least what was measured, so "
            f"{quantity(of.assumed_bps, 'bit/s')} were assumed: the path may allow less."
        )
    return [Section(heading=HEADING, tables=[table], text=text)]

"""`python -m tools.grain`: compare trains with single packets, and draw what differs."""

from __future__ import annotations

import json
import sys

import click

from fairhaul import files
from tools import ROOT
from tools.grain.cases import CASES
from tools.grain.comparison import Outcome, compare
from tools.grain.figure import draw

FIGURE = ROOT / "docs" / "images" / "grain.svg"
RESULTS = ROOT / "out" / "grain.json"


@click.command()
@click.option("--only", metavar="N,N", help="Numbers of the cases, from 0; without a figure.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of runs at a time; by default one per core."
)
def main(only: str | None, jobs: int | None) -> None:
    """Run each case both ways; write out/grain.json and docs/images/grain.svg."""
    numbers = [int(number) for number in only.split(",")] if only else range(len(CASES))
    outcomes = []
    for number in numbers:
        outcome = compare(CASES[number], jobs)
        outcomes.append(outcome)
        click.echo(f"{number:2d}  {_line(outcome)}")
        RESULTS.parent.mkdir(exist_ok=True)
        text = json.dumps([outcome.to_dict() for outcome in outcomes], indent=1)
        files.replace(RESULTS, text.encode())
    if only is None:
        from fairhaul.report.look import in_light, svg

        FIGURE.write_text(in_light(svg(draw(outcomes))) + "\n", encoding="utf-8")
    wrong = [outcome.name for outcome in outcomes if not outcome.fits]
    click.echo(f"{len(outcomes) - len(wrong)} of {len(outcomes)} within the bounds")
    sys.exit(1 if wrong else 0)


def _line(outcome: Outcome) -> str:
    worst, events, jain = outcome.worst, outcome.events, outcome.jain
    return (
        f"{'ok  ' if outcome.fits else 'DIFF'} {outcome.faster:5.1f} x  "
        f"{worst.of} {100 * worst.packets:.2f} % {100 * worst.part:+.2f} %, "
        f"events {events.packets:.3g} /s {100 * events.part:+.2f} %, Jain {jain.more:+.4f}  "
        f"{outcome.name}"
    )


main(prog_name="python -m tools.grain")

"""`python -m tools.grain`: compare bursts that are simulated as one with single packets."""

from __future__ import annotations

import json
import sys

import click

from fairhaul.files import files
from tools import ROOT
from tools.grain.cases import CASES
from tools.grain.comparison import Outcome, compare, judged

RESULTS = ROOT / "out" / "grain.json"


@click.command()
@click.option("--only", metavar="N,N", help="Numbers of the cases, from 0.")
@click.option("--seed", type=click.IntRange(min=0), default=1, help="The first seed of each case.")
@click.option("--seeds", type=click.IntRange(min=2), default=6, help="Seeds of each case.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of runs at a time; by default one per core."
)
def main(only: str | None, seed: int, seeds: int, jobs: int | None) -> None:
    """Run each case both ways; write out/grain.json."""
    numbers = [int(number) for number in only.split(",")] if only else range(len(CASES))
    outcomes = []
    for number in numbers:
        outcome = compare(CASES[number], seed, seeds, jobs)
        outcomes.append(outcome)
        click.echo(f"{number:2d}  {_line(outcome)}")
        RESULTS.parent.mkdir(exist_ok=True)
        text = json.dumps([outcome.to_dict() for outcome in outcomes], indent=1)
        files.replace(RESULTS, text.encode())
    verdicts = [verdict for each in judged(outcomes) for verdict in each]
    click.echo(
        f"Of {len(verdicts)} differences {verdicts.count(True)} are within what is allowed and "
        f"{verdicts.count(False)} are not; for {verdicts.count(None)} the noise is too large."
    )
    sys.exit(1 if False in verdicts else 0)


def _line(outcome: Outcome) -> str:
    worst, events, jain = outcome.worst, outcome.events, outcome.jain
    sign = {True: "within ", False: "OUTSIDE", None: "noisy  "}
    verdicts = judged([outcome])[0]
    verdict = min(verdicts, key=[False, None, True].index)
    return (
        f"{sign[verdict]} {outcome.faster:5.1f} x  "
        f"{worst.of} {100 * worst.packets:.2f} % {100 * worst.part:+.2f} %, "
        f"events {events.packets:.3g} /s {100 * events.part:+.2f} %, Jain {jain.more:+.4f}  "
        f"{outcome.name}"
    )


main(prog_name="python -m tools.grain")

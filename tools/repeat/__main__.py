"""`python -m tools.repeat`: run drawn scenarios twice in Linux, and compare the records."""

from __future__ import annotations

import json
import sys

import click

from fairhaul.cli.progress import progress
from tools.repeat import repeated


@click.command()
@click.option("--count", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the scenarios.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of runs at a time; by default one per core."
)
def main(count: int, seed: int, jobs: int | None) -> None:
    """Draw scenarios, run each twice, and name those whose records differ."""
    with progress("repeat") as on_progress:
        done = repeated(count, seed, jobs=jobs, on_progress=on_progress)
    for one in done:
        if not one.is_same:
            click.echo(f"differs: {one.found}: {json.dumps(one.scenario)}")
    failed = [one for one in done if any(text.startswith("failed") for text in one.found)]
    for one in failed:
        click.echo(f"{one.found[0]}: {json.dumps(one.scenario)}")
    same = sum(one.is_same for one in done)
    kinds = len({one.found[0] for one in done})
    click.echo(f"{same} of {count} scenarios gave the same record twice; {kinds} different records")
    sys.exit(0 if same == count and not failed else 1)


main(prog_name="python -m tools.repeat")

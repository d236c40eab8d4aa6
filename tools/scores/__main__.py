"""`python -m tools.scores`: compute the table of docs/score.md, as `make scores` does."""

from __future__ import annotations

import click

from fairhaul.cli.progress import progress
from tools import ROOT
from tools.scores import PAGE, write


@click.command()
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of runs at a time; by default one per core."
)
def main(jobs: int | None) -> None:
    """Score all controllers, and write the table into docs/score.md."""
    with progress() as on_progress:
        write(jobs=jobs, on_progress=on_progress)
    click.echo(f"{PAGE.relative_to(ROOT)}")


main(prog_name="python -m tools.scores")

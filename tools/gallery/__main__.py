"""`python -m tools.gallery`: draw the gallery, as `make gallery` does."""

from __future__ import annotations

import click

from fairhaul.cli.progress import progress
from tools import ROOT
from tools.gallery import PARTS, write


@click.command()
@click.option("--only", type=click.Choice(PARTS), help="One part of it, as for a new queue.")
@click.option("--quick", is_flag=True, help="Shorter runs, to look at the drawing.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of runs at a time; by default one per core."
)
def main(only: str | None, quick: bool, jobs: int | None) -> None:
    """Draw the gallery of controllers, queues and examples into docs/images/gallery."""
    with progress() as on_progress:
        parts = PARTS if only is None else (only,)
        written = write(only=parts, quick=quick, jobs=jobs, on_progress=on_progress)
    for path in written:
        click.echo(f"{path.relative_to(ROOT)}  {path.stat().st_size // 1000} kB")


main(prog_name="python -m tools.gallery")

"""`python -m fairhaul.gallery`: draw the gallery anew, as `make gallery` does."""

from __future__ import annotations

import click

from fairhaul.cli.progress import progress
from fairhaul.gallery import PARTS, ROOT, write


@click.command()
@click.option("--only", type=click.Choice(PARTS), help="One part of it, as for a new queue.")
@click.option("--quick", is_flag=True, help="Shorter runs, to look at the drawing.")
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at a time; all cores if left out.")
def main(only: str | None, quick: bool, jobs: int | None) -> None:
    """Draw the gallery of controllers, queues and examples into docs/images/gallery."""
    if not (ROOT / "scenarios" / "gallery").is_dir():
        raise click.ClickException("the gallery is drawn in a checkout; this is an installed copy")
    with progress() as watch:
        parts = PARTS if only is None else (only,)
        written = write(only=parts, quick=quick, jobs=jobs, watch=watch)
    for path in written:
        click.echo(f"{path.relative_to(ROOT)}  {path.stat().st_size // 1000} kB")


main(prog_name="python -m fairhaul.gallery")

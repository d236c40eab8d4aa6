"""`python -m fairhaul.gallery`: draw the gallery of controllers anew, as `make gallery` does."""

from __future__ import annotations

import click

from fairhaul.cli.progress import progress
from fairhaul.gallery import ROOT, write


@click.command()
@click.option("--quick", is_flag=True, help="Shorter runs, to look at the drawing.")
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at a time; all cores if left out.")
def main(quick: bool, jobs: int | None) -> None:
    """Draw the gallery of controllers into docs/images/gallery."""
    if not (ROOT / "scenarios" / "gallery").is_dir():
        raise click.ClickException("the gallery is drawn in a checkout; this is an installed copy")
    with progress() as watch:
        written = write(quick=quick, jobs=jobs, watch=watch)
    for path in written:
        click.echo(f"{path.relative_to(ROOT)}  {path.stat().st_size // 1000} kB")


main(prog_name="python -m fairhaul.gallery")

"""The verb `report`: the report of records that are there, again or of several together."""

from __future__ import annotations

from pathlib import Path

import click

from fairhaul.cli.click_ext import Verb


@click.command(cls=Verb, example="fairhaul report out/first")
@click.argument(
    "directories", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path)
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the report there; by default into DIR, where there is one.",
)
def report(directories: tuple[Path, ...], out: Path | None) -> None:
    """Write the report of records, one page and its figures.

    DIR is what `run --out` wrote: a record, or a directory of several. Runs that differ in their
    seed only are put together.
    """
    from fairhaul.report import write_report

    click.echo(f"Report: {write_report(directories, out)}")

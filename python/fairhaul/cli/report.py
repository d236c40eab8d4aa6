"""The command `report`: the report of one record, or of several together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli.click_ext import Command, option
from fairhaul.cli.options import view_options

if TYPE_CHECKING:
    from fairhaul.figures.view import View


@click.command(cls=Command, example="fairhaul report out/first")
@click.argument(
    "directories", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path)
)
@option(
    "--out DIR",
    "Write the report into this directory; by default into DIR, if only one is given.",
    type=click.Path(path_type=Path, file_okay=False),
)
@option(
    "--size",
    "Shape of the files of figures: their own, or that of a slide.",
    type=click.Choice(["natural", "16:9", "4:3"]),
    default="natural",
)
@option(
    "--theme",
    "auto: files are light, and the page is what its reader prefers.",
    type=click.Choice(["auto", "light", "dark"]),
    default="auto",
)
@view_options
def report(
    directories: tuple[Path, ...], out: Path | None, size: str, theme: str, view: View
) -> None:
    """Write the report of records or of a sweep: an HTML page.

    DIR is a directory that `run --out` wrote: a record, or a directory of several. Runs that differ
    only in their seed are shown together. Or it is the directory of a sweep.
    """
    from fairhaul.studies.report import write_report

    page = write_report(directories, out, size=size, theme=theme, view=view)
    click.echo(f"Report: {page}")

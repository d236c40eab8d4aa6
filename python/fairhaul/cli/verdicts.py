"""What the commands with verdicts share: JUnit XML, and folders of what a stack does not meet."""

from __future__ import annotations

from pathlib import Path

import click

from fairhaul.cli.click_ext import option

# The folder of the folders, in that of `--out` or else in that of the caller.
NOT_MET = "not-met"


def _writable(_ctx: click.Context, _option: click.Parameter, given: Path | None) -> Path | None:
    """Refuse a file whose folder does not exist, before any run."""
    if given is not None and not given.absolute().parent.is_dir():
        raise click.BadParameter(f"{given.parent} is no directory")
    return given


junit_option = option(
    "--junit FILE",
    "Write the verdicts as JUnit XML, for CI.",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=_writable,
)

"""`python -m tools.explanation.predicted`: predict the second halves of captures of Linux.

The captures are those of `tools.explanation.controllers`, which makes them.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click

from fairhaul.cli.options import jobs_option
from fairhaul.files import files
from fairhaul.studies.explanation.trace import read_capture
from fairhaul.text.table import Table
from tools.explanation.controllers import OUT
from tools.explanation.halves import Halves, halves
from tools.explanation.rows import half_rows


@click.command()
@jobs_option
def main(jobs: int | None) -> None:
    """Fit the first half of each capture, and compare what it predicts with the second half.

    The table is printed in Markdown, and is in out/explain/predicted.md, too.

    Raises:
        click.ClickException: there are no captures.
    """
    captures = sorted((OUT / "controllers").glob("*.gz"))
    if not captures:
        raise click.ClickException(
            "no captures: python -m tools.explanation.controllers makes them"
        )
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        each = list(pool.map(_halves, captures))
    columns = ["", "found", "of", "share %", "aim %"]
    wrong = [
        f"- not right: {file.name}: {of.declined or 'another goodput'}"
        for file, of in zip(captures, each, strict=True)
        if of is not None and not of.is_right
    ]
    text = "\n".join([*Table(columns=columns, rows=half_rows(each)).markdown(), "", *wrong, ""])
    files.replace(OUT / "predicted.md", text.encode())
    click.echo(text)


def _halves(file: Path) -> Halves | None:
    """Predict the second half of a capture, with the controller that its name says."""
    return halves(read_capture(file).traces[:1], file.name.partition("-")[0])


if __name__ == "__main__":
    main()

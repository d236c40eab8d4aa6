"""`python -m tools.explanation FOLDER`: compare policers that are found with known ones."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click

from fairhaul.cli.options import jobs_option
from fairhaul.files import files
from fairhaul.scenario.read import ScenarioError
from fairhaul.text.table import Table
from tools import ROOT
from tools.explanation import SOURCE
from tools.explanation.captures import Judged, captures, judged
from tools.explanation.rows import rows

OUT = ROOT / "out" / "explain"


@click.command(epilog=f"The captures are those of {SOURCE}, or a part of them, compressed or not.")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@jobs_option
def main(folder: Path, jobs: int | None) -> None:
    """Explain each capture of FOLDER, and compare what is found with the truth in its name.

    The tables are printed in Markdown, and are in out/explain/table.md, too.
    """
    try:
        found = captures(folder)
    except ScenarioError as error:
        raise click.ClickException(str(error)) from None
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        each = list(_shown(pool.map(judged, found), len(found)))
    text = "\n".join(_lines(each))
    OUT.mkdir(parents=True, exist_ok=True)
    files.replace(OUT / "table.md", text.encode())
    click.echo(text)


def _shown(each: Iterator[Judged], count: int) -> Iterator[Judged]:
    for number, of in enumerate(each, 1):
        click.echo(f"{number} of {count}: {of.truth.name}", err=True)
        yield of


def _lines(each: Sequence[Judged]) -> Iterator[str]:
    table = Table(columns=["", "found", "of", "share %", "aim %"], rows=rows(each))
    yield from table.markdown()
    wrong = [of for of in each if of.is_policed != bool(of.truth.policed_bps)]
    yield from ("", *(f"- not right: {of.truth.name}" for of in wrong))
    yield ""


if __name__ == "__main__":
    main()

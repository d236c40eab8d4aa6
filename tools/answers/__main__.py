"""`python -m tools.answers keep DIR`, and `compare DIR`, before and after a change of form."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click

from tools.answers import QUESTIONS, answer, differences

directory = click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
only = click.option("--only", type=click.Choice(list(QUESTIONS)), multiple=True)


@click.group()
def main() -> None:
    """Keep what commands answer, and compare it with what they answer after a change."""


@main.command()
@directory
@only
def keep(directory: Path, only: tuple[str, ...]) -> None:
    """Write the answers into DIRECTORY."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in only or QUESTIONS:
        with tempfile.TemporaryDirectory() as out:
            text = json.dumps(answer(name, Path(out)), indent=1)
        (directory / f"{name}.json").write_text(text)
        click.echo(name)


@main.command()
@directory
@only
@click.option("--by-name", is_flag=True, help="Compare the numbers by their names alone.")
def compare(directory: Path, only: tuple[str, ...], *, by_name: bool) -> None:
    """Name what differs from the answers in DIRECTORY; the status is 1 if anything does."""
    differ = False
    for name in only or QUESTIONS:
        before = json.loads((directory / f"{name}.json").read_text())
        with tempfile.TemporaryDirectory() as out:
            found = differences(before, answer(name, Path(out)), by_name=by_name)
        click.echo(f"{name}: {len(found)} differences" if found else f"{name}: the same")
        for line in found[:10]:
            click.echo(f"  {line}")
        differ |= bool(found)
    raise SystemExit(differ)


main(prog_name="python -m tools.answers")

"""The command `mark`: the submissions of a course, marked by the expectations of an exercise."""

from __future__ import annotations

from pathlib import Path

import click

from fairhaul.cli import words
from fairhaul.cli.click_ext import Command, option


@click.command(
    cls=Command,
    example="fairhaul mark 1-sawtooth.toml submissions --csv marks.csv",
)
@click.argument("exercise", metavar="EXERCISE", shell_complete=words.files)
@click.argument("folder", metavar="FOLDER")
@option(
    "--csv FILE",
    "Write the marks as a table.",
    type=click.Path(path_type=Path, dir_okay=False),
    name="table",
)
@option(
    "--out DIR",
    "The directory that gets the runs and a page with figures for each submission.",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/marks"),
)
@option(
    "--seconds N",
    "How long the check of one submission may take.",
    type=click.FloatRange(min=1),
    default=60.0,
)
def mark(exercise: str, folder: str, table: Path | None, out: Path, seconds: float) -> None:
    """Mark a folder of submissions by an exercise.

    Each file of Python in FOLDER that has a class Student is checked as `fairhaul check` does, in a
    process of its own with the rights of the caller. docs/course.md has six exercises.
    """
    from fairhaul.studies.expectations.marking import Mark, unmarked, write_marks
    from fairhaul.studies.expectations.marking import mark as mark_

    def show(one: Mark) -> None:
        verdict = one.error or "; ".join(one.failed) or "everything is met"
        click.echo(f"{one.submission}: {one.met} of {one.expectations}: {verdict}")

    if table is not None and not table.absolute().parent.is_dir():
        raise click.BadParameter(f"{table.parent} is no directory", param_hint="--csv")
    marks = mark_(exercise, folder, out=out, seconds=seconds, on_mark=show)
    if table is not None:
        write_marks(table, marks)
    passed = sum(one.passed for one in marks)
    click.echo(f"{passed} of {len(marks)} submissions meet everything. Pages: {out}/*/report.html")
    if others := unmarked(Path(folder)):
        click.echo(f"Not marked, because they have no class Student: {', '.join(others)}.")

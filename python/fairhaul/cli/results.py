"""The commands `results list`, `table`, `export` and `sql`: what a store of results holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import show
from fairhaul.cli.click_ext import Command, CommandGroup, flag, option
from fairhaul.files.files import csv_text
from fairhaul.text.table import Table

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.jobs.store import Store
    from fairhaul.results.table import Row

# A store lies at most this deep below the folder that is searched.
DEEPEST = 3
FORMS = (".csv", ".parquet", ".json")
TABLES = ("points", "flows")
# Rows of a query that a table shows.
MOST_ROWS = 1000

directory_argument = click.argument(
    "directory", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR"
)


@click.group(cls=CommandGroup)
def results() -> None:
    """List, export and query the results of sweeps."""


@results.command("list", cls=Command)
@click.argument(
    "folder",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    required=False,
    metavar="[FOLDER]",
)
def list_(folder: Path | None) -> None:
    """List the directories of results in FOLDER, by default `out`.

    For each: the number of results, how many of its last sweep are there, and how many were
    computed by another build of Fairhaul.
    """
    from fairhaul.jobs.store import is_store

    given, folder = folder is not None, folder or Path("out")
    places = [folder, *(path for depth in range(DEEPEST) for path in _below(folder, depth))]
    stores = [place for place in places if is_store(place)]
    if not stores and not given:
        click.echo(f"No results yet in {folder}: `fairhaul sweep FILE` makes some.")
        return
    if not stores:
        raise click.BadParameter(f"{folder} has no results of a sweep", param_hint="FOLDER")
    rows = [_described(place) for place in stores]
    heads = ["directory", "results", "last sweep", "other builds", "damaged", "last written"]
    show.console().print(Table(title="Results", columns=heads, rows=rows))


def _below(folder: Path, depth: int) -> list[Path]:
    return sorted(path for path in folder.glob("*/" * depth + "*") if path.is_dir())


def _described(place: Path) -> list[str]:
    from fairhaul.jobs.plan import read_plan
    from fairhaul.jobs.store import Store, StoreError, engine_build

    try:
        store = Store(place)
    except StoreError as error:
        return [str(place), "-", "-", "-", str(error), "-"]
    try:
        plan = read_plan(place)
        keys = [key for point in plan.points for key in plan.keys(point)]
        last = f"{sum(key in store for key in keys)} of {len(keys)}"
    except StoreError:
        last = "-"
    builds = store.column("result", "build")
    others = sum(build.rpartition(".")[0] != engine_build() for build in builds)
    began = max(store.column("session", "began"), default="-")
    return [str(place), str(len(store)), last, str(others), str(len(store.damaged)), began]


@results.command(cls=Command, example="fairhaul results table out/buffers")
@directory_argument
@option(
    "--csv FILE",
    "Write the table with all figures, and the ends of their intervals, into this file.",
    type=click.Path(path_type=Path, dir_okay=False),
)
def table(directory: Path, csv: Path | None) -> None:
    """Print the table of the last sweep in DIR: one row per point."""
    from fairhaul.cli.sweep import write_csv
    from fairhaul.results.table import grid
    from fairhaul.statistics.estimate import legend

    points = _points(directory)
    most = max(len(row.runs) for row in points)
    show.console().print(grid(points), *([legend(most)] if most > 1 else []))
    if csv is not None:
        write_csv(points, csv)


@results.command(cls=Command, example="fairhaul results export out/buffers buffers.parquet")
@directory_argument
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE")
@option(
    "--table",
    "points: one row per point, with means and intervals. flows: one row per run and flow.",
    name="which",
    type=click.Choice(TABLES),
    default="points",
)
def export(directory: Path, file: Path, which: str) -> None:
    """Write the last sweep in DIR as a table into FILE: .csv, .parquet or .json."""
    from fairhaul.files import files
    from fairhaul.results.table import flows_frame, points_frame

    if file.suffix not in FORMS:
        raise click.BadParameter(
            f"{file}: the name must end with {', '.join(FORMS[:-1])} or {FORMS[-1]}",
            param_hint="FILE",
        )
    points = _points(directory)
    frame = points_frame(points) if which == "points" else flows_frame(points)
    files.replace(file, _written(frame, file.suffix))


def _written(frame: pl.DataFrame, form: str) -> bytes:
    import io

    if form == ".csv":
        return frame.write_csv().encode()
    if form == ".json":
        return frame.write_json().encode()
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


@results.command(cls=Command, example='fairhaul results sql out/buffers "SELECT * FROM runs"')
@directory_argument
@click.argument("query", metavar="QUERY")
@flag("--csv", "Print comma-separated values.", name="as_csv")
def sql(directory: Path, query: str, as_csv: bool) -> None:
    """Query all results in DIR with DuckDB.

    The views `runs`, `flows`, `groups` and `links` have a row per run, or per run and flow, group
    or link, with a column for each swept key, e.g.

    fairhaul results sql out/buffers 'SELECT "flow.a.controller", avg(jain) FROM runs GROUP BY 1'

    QUERY is one SELECT. It reads DIR and no other file, and changes nothing. A table shows at most
    1000 rows; --csv prints all.
    """
    from fairhaul.jobs.store.sql import pieces_of

    columns, pieces = pieces_of(_store(directory), query)
    if as_csv:
        _print_csv(columns, pieces)
        return
    rows = list(islice(chain.from_iterable(pieces), MOST_ROWS + 1))
    cells = [["-" if value is None else str(value) for value in row] for row in rows[:MOST_ROWS]]
    show.console().print(Table(columns=columns, rows=cells))
    if len(rows) > MOST_ROWS:
        click.echo(f"fairhaul: these are the first {MOST_ROWS} rows; --csv prints all", err=True)


def _print_csv(columns: Sequence[str], pieces: Iterable[Sequence[Sequence[Any]]]) -> None:
    for rows in chain([[columns]], pieces):
        click.echo(csv_text(rows), nl=False)


def _store(directory: Path) -> Store:
    """Open the store in a directory, and name what is damaged."""
    from fairhaul.jobs.store import Store

    store = Store(directory)
    for name in store.damaged:
        click.echo(f"fairhaul: {directory / name} is damaged and not used", err=True)
    return store


def _points(directory: Path) -> list[Row]:
    from fairhaul.jobs.plan import read_plan, rows

    return rows(read_plan(directory), _store(directory))

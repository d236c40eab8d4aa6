"""The command `sweep`: many runs, kept in a directory, and one table of all points."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul import RunError
from fairhaul.cli import show
from fairhaul.cli.click_ext import Command
from fairhaul.cli.progress import progress
from fairhaul.cli.run import Overrides, grain_option, jobs_option, json_option, read_all, set_option

if TYPE_CHECKING:
    from fairhaul.sweeps.plan import Job
    from fairhaul.sweeps.table import Row
    from fairhaul.sweeps.work import Failure

# With five runs there is an interval.
SEEDS = 5
# Flows or groups with a column each; of more only what all of them have together is shown.
MOST_PARTIES = 4
MOST_FAILURES = 5


class Shard(click.ParamType[tuple[int, int]]):
    """A part of the runs, as `i/N`."""

    name = "I/N"

    def convert(self, value: Any, _: object, ctx: click.Context | None) -> tuple[int, int]:
        """Read `i/N`."""
        number, slash, of = str(value).partition("/")
        if not (slash and number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
            self.fail(f"{value!r} is not a shard; wanted I/N, I from 1 to N, e.g. 3/10", None, ctx)
        return int(number), int(of)


@click.command(cls=Command, example="fairhaul sweep buffers.toml --seeds 10")
@click.argument("file", metavar="FILE")
@set_option
@grain_option
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=SEEDS,
    show_default=True,
    metavar="N",
    help="Run each point with N seeds, counted up from its own. More seeds later keep the others.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory of the results, by default out/NAME. What it already holds is not run again.",
)
@click.option(
    "--csv",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a table with one row per point, with means and the ends of their intervals.",
)
@jobs_option
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run on the workers of this Dask scheduler, e.g. tcp://10.0.0.1:8786.",
)
@click.option(
    "--shard",
    type=Shard(),
    metavar="I/N",
    help="Run only every N-th run, from the I-th on: one part of a job array.",
)
@json_option
def sweep(  # noqa: PLR0913, PLR0917
    file: str,
    overrides: Overrides,
    grain: str | None,
    seeds: int,
    out: Path | None,
    csv: Path | None,
    jobs: int | None,
    dask: str | None,
    shard: tuple[int, int] | None,
    json_: bool,
) -> None:
    """Run every point of a [sweep] with several seeds, and keep all results.

    Each result is stored as soon as its run ends. If the command is interrupted, or its process is
    killed, the same command goes on where it ended. A result is used again as long as the scenario,
    the seed and Fairhaul itself are the same.
    """
    from fairhaul.store import Store, StoreError, Writer
    from fairhaul.sweeps.plan import planned
    from fairhaul.sweeps.table import rows
    from fairhaul.sweeps.work import missing
    from fairhaul.sweeps.work import shard as part

    if grain is not None:
        overrides = [*overrides, ("grain", grain)]
    plan, all_jobs = planned(read_all([file], overrides), seeds, "sim")
    out = out or Path("out") / Path(file).stem
    own = part(all_jobs, *shard) if shard else all_jobs
    try:
        with Writer(out, " ".join(["fairhaul", *sys.argv[1:]])) as writer:
            plan.store(out)
            for name in writer.store.damaged:
                _say(f"{out}/{name} is damaged; its results are computed again")
            left = missing(own, writer)
            _announce(len(own), left, out, jobs)
            failures = _work(left, writer, jobs, dask, out)
        table = rows(plan, Store(out))
    except StoreError as error:
        raise click.BadParameter(str(error), param_hint="--out") from None
    if csv is not None:
        write_csv(table, csv)
    if json_:
        show.as_json(_document(table))
    else:
        show_table(table)
        _say(f"{sum(len(row.runs) for row in table)} of {len(all_jobs)} results are in {out}.")
    if failures:
        raise _failed(failures)


def _say(text: str) -> None:
    click.echo(f"fairhaul: {text}", err=True)


def _announce(wanted: int, left: Sequence[Job], out: Path, jobs: int | None) -> None:
    """Say how many results exist, and what the others will cost."""
    from fairhaul.cost import cost
    from fairhaul.runs import cores

    if len(left) < wanted:
        _say(f"{wanted - len(left)} of {wanted} results are in {out} already")
    if left:
        _say(str(cost([job.scenario for job in left], jobs or cores())))


def _work(
    left: Sequence[Job], writer: Any, jobs: int | None, dask: str | None, out: Path
) -> list[Failure]:
    from fairhaul.sweeps.cluster import work_on_cluster
    from fairhaul.sweeps.work import work

    if not left:
        return []
    try:
        with progress(out.name) as on_progress:
            if dask is not None:
                return work_on_cluster(left, writer, dask, on_progress)
            return work(left, writer, at_once=jobs, on_progress=on_progress)
    except KeyboardInterrupt:
        _say(f"finished runs are kept in {out}; the same command goes on")
        raise


def _failed(failures: Sequence[Failure]) -> RunError:
    lines = [failure.why for failure in failures[:MOST_FAILURES]]
    more = len(failures) - len(lines)
    lines += [f"and {more} more"] if more else []
    runs = "run" if len(failures) == 1 else "runs"
    return RunError(f"{len(failures)} {runs} failed: {'; '.join(lines)}")


def write_csv(table: Sequence[Row], file: Path) -> None:
    """Write a table with one row per point."""
    from fairhaul import files
    from fairhaul.sweeps.table import points_frame

    files.replace(file, points_frame(table).write_csv().encode())


def _document(table: Sequence[Row]) -> Mapping[str, Any]:
    from fairhaul.answers import scenario_result
    from fairhaul.results import document

    return document([scenario_result(row.runs) for row in table if row.runs])


def show_table(table: Sequence[Row]) -> None:
    """Print one row per point."""
    from fairhaul.estimate import legend

    keys = list(dict.fromkeys(key for row in table for key in row.point.variant))
    names = _names(table)
    heads = [_short(key, keys) for key in keys]
    heads += [f"{name} Mbit/s" for name in names]
    heads += ["Jain", "% of link used", "queue ms", "runs"]
    screen = show.console()
    cells = [_cells(row, keys, names) for row in table]
    title = table[0].point.title
    screen.print(show.table(title, heads, cells, words=len(keys)))
    counts = {len(row.runs) for row in table}
    if max(counts) > 1:
        screen.print(legend(max(counts)))


def _names(table: Sequence[Row]) -> list[str]:
    """Name the flows or groups that have a column."""
    from fairhaul.sweeps.table import parties

    found = [party["name"] for row in table if row.runs for party in parties(row.runs[0])]
    names = list(dict.fromkeys(found))
    return names if len(names) <= MOST_PARTIES else []


def _short(key: str, keys: Sequence[str]) -> str:
    """Give the last parts of a path of keys that no other key of the sweep has."""
    parts = key.split(".")
    for count in range(1, len(parts)):
        tail = ".".join(parts[-count:])
        if not any(other != key and other.endswith(f".{tail}") for other in keys):
            return tail
    return key


def _cells(row: Row, keys: Sequence[str], names: Sequence[str]) -> list[str]:
    from fairhaul.sweeps.table import parties

    settings = [str(row.point.variant.get(key, "-")) for key in keys]
    if not row.runs:
        return [*settings, *["-"] * (len(names) + 3), "0"]
    figures: Mapping[str, Any] = row.summary
    by_name = {party["name"]: party for party in parties(figures)}
    goodput = show.plain(2, 1e-6)
    rates = [show.cell(by_name.get(name, {}).get("goodput_bps"), goodput) for name in names]
    link = max(figures["links"], key=lambda link: link["utilization"]["mean"])
    return [
        *settings,
        *rates,
        show.cell(figures["fairness"]["jain"], show.plain(3)),
        show.cell(link["utilization"], show.plain(1, 100)),
        show.cell(link["queue_mean_s"], show.plain(1, 1000)),
        str(len(row.runs)),
    ]

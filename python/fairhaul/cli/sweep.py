"""The command `sweep`: many runs, kept in a directory, and one table of all points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul._core import RunError
from fairhaul.cli import words
from fairhaul.cli.click_ext import Command, option
from fairhaul.cli.engines import engine_option, kernel_option
from fairhaul.cli.options import (
    Overrides,
    controller_option,
    grain_option,
    profile_option,
    programs_option,
    read_all,
    set_option,
    view_options,
)
from fairhaul.cli.study import Work, say, study

if TYPE_CHECKING:
    from fairhaul.figures.view import View
    from fairhaul.jobs.values import Failure
    from fairhaul.results.precision import Precision
    from fairhaul.results.table import Row
    from fairhaul.scenario.engines import Engine

# With five runs there is an interval.
SEEDS = 5
MOST_FAILURES = 5


class Seeds(click.ParamType["int | None"]):
    """A number of seeds, or `auto`."""

    name = "N"

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> int | None:
        """Read a number from 1, or `auto`, which gives None."""
        if value is None or value == "auto":
            return None
        number: int = click.IntRange(min=1).convert(value, param, ctx)
        return number


@click.command(cls=Command, example="fairhaul sweep buffers.toml --seeds 10")
@click.argument("file", metavar="FILE", shell_complete=words.files)
@engine_option(("sim", "linux"))
@kernel_option
@set_option
@grain_option
@option(
    "--seeds N|auto",
    "Run each point with N seeds, counted up from its own. More seeds later keep the others. "
    "auto: as many as --precise requires.",
    type=Seeds(),
    default=SEEDS,
)
@option(
    "--precise FIGURE=WIDTH",
    "With --seeds auto: run until the 95 % interval of this figure, named as in the CSV file, "
    "reaches at most WIDTH to each side of the mean, e.g. jain=0.02 or F1.share=5%.",
)
@option(
    "--budget TIME",
    "With --seeds auto: processor time that all runs together may cost.",
    default="10min",
)
@option(
    "--csv FILE",
    "Write a table with one row per point, with means and the ends of their intervals.",
    type=click.Path(path_type=Path, dir_okay=False),
)
@view_options
@controller_option
@programs_option
@profile_option
@study("sweep", "out/NAME, the name of the file")
def sweep(  # noqa: PLR0913, PLR0917
    file: str,
    engine: Engine,
    overrides: Overrides,
    grain: str | None,
    seeds: int | None,
    precise: str | None,
    budget: str,
    csv: Path | None,
    view: View,
    work: Work,
) -> None:
    """Run every point of a [sweep] with several seeds.

    All results are kept: each is stored as soon as its run ends. If the command is interrupted, or
    its process is killed, the same command goes on where it ended. A result is used again as long
    as the scenario, the seed and Fairhaul itself are the same.
    """
    from fairhaul.jobs.values import Running
    from fairhaul.scenario.quantities import time_s
    from fairhaul.studies.sweep import run_sweep

    if grain is not None:
        overrides = [*overrides, ("grain", grain)]
    scenarios = read_all([file], overrides)
    work = work.at(Path(file).stem)
    with work.options() as options:
        done = run_sweep(
            scenarios,
            Running.of(options),
            seeds=_seeds(seeds, precise, work.shard),
            budget_s=time_s("--budget", budget),
            engine=engine,
            view=view,
        )
    if csv is not None:
        write_csv(done.rows, csv)
    work.tell(done)
    say(f"{done.runs} of {done.wanted} results are in {work.out}")
    if done.imprecise:
        say(f"the budget ended before {len(done.imprecise)} points were precise enough: {precise}")
    if done.failures:
        raise _failed(done.failures)


def _seeds(seeds: int | None, precise: str | None, part: tuple[int, int] | None) -> int | Precision:
    """Give the number of seeds, or the precision that decides on it."""
    from fairhaul.results.precision import read_precision

    if seeds is None and precise is None:
        raise click.UsageError("--seeds auto requires --precise FIGURE=WIDTH, e.g. jain=0.02")
    if seeds is not None and precise is not None:
        raise click.UsageError("--precise requires --seeds auto")
    if precise is None:
        assert seeds is not None
        return seeds
    if part is not None:
        raise click.UsageError("--seeds auto looks at all runs of a point, --shard at some of them")
    return read_precision(precise)


def _failed(failures: Sequence[Failure]) -> RunError:
    lines = [failure.why for failure in failures[:MOST_FAILURES]]
    more = len(failures) - len(lines)
    lines += [f"and {more} more"] if more else []
    runs = "run" if len(failures) == 1 else "runs"
    return RunError(f"{len(failures)} {runs} failed: {'; '.join(lines)}")


def write_csv(table: Sequence[Row], file: Path) -> None:
    """Write a table with one row per point."""
    from fairhaul.files import files
    from fairhaul.results.table import points_frame

    files.replace(file, points_frame(table).write_csv().encode())

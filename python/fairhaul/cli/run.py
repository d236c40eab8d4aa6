"""The command `run`: scenarios in, words and tables, a page, JSON or Parquet out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli import words
from fairhaul.cli.click_ext import Command, flag, option
from fairhaul.cli.engines import engines_option, kernel_option
from fairhaul.cli.options import (
    Overrides,
    controller_option,
    grain_option,
    profile_option,
    programs_option,
    read_all,
    seeds_option,
    set_option,
)
from fairhaul.cli.study import Work, study
from fairhaul.cli.watch import check as check_watch
from fairhaul.record.trace import FORMATS

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine

out_option = option(
    "--out DIR",
    "Write the record of each run into this directory, which must be new or empty; with "
    "--report or --markdown by default a new out/NAME.",
    type=click.Path(path_type=Path),
)


@click.command(cls=Command, example="fairhaul run first.toml")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=words.files)
@engines_option("With several, their results are shown side by side.")
@kernel_option
@set_option
@controller_option
@programs_option
@profile_option
@grain_option
@seeds_option
@option(
    "--trace FLOW",
    "Write a trace of every packet of this flow beside each record, in the simulator and in "
    "Linux in simulated time; requires --out or --report.",
)
@option(
    "--format",
    "Format of the trace: pcapng for Wireshark, qlog for qvis, or a table.",
    name="form",
    type=click.Choice(FORMATS),
    default="pcapng",
)
@flag(
    "--watch",
    "Show the shares of the flows while a run goes on: as bars on a terminal, elsewhere as "
    "lines on standard error. The record is the same.",
)
@study("run", out_option=out_option)
def run(  # noqa: PLR0913, PLR0917
    files: tuple[str, ...],
    engines: tuple[Engine, ...],
    overrides: Overrides,
    grain: str | None,
    seeds: int | None,
    trace: str | None,
    form: str,
    watch: bool,
    work: Work,
) -> None:
    """Run scenarios, and print throughput, delay, loss and fairness.

    A file with a [sweep] is run once for every combination of its values. In the lab, a scenario is
    run 5 times unless --seeds is given.
    """
    from fairhaul.answers.outcome import outcome_of
    from fairhaul.cli.records import Ways, free_place, measure_all, planned
    from fairhaul.results.summary import valid_runs
    from fairhaul.scenario.engines import FACTS, NO_TRACE

    written = work.report or work.markdown
    if trace is not None:
        if any(FACTS[engine].real_time for engine in engines):
            raise click.BadParameter(NO_TRACE, param_hint="--trace")
        if work.out is None and not written:
            raise click.BadParameter("a trace requires --out DIR or --report", param_hint="--trace")
    if grain is not None:
        overrides = [*overrides, ("grain", grain)]
    plan = planned(read_all(files, overrides), engines, seeds)
    if watch:
        check_watch([run.scenario for run in plan], engines, trace is not None)
    if written and work.out is None:
        work = replace(work, out=free_place(Path("out") / Path(files[0]).stem))
    traced = (trace, form) if trace else None
    ways = Ways(jobs=work.jobs, traced=traced, watch=watch, drawn=work.report)
    cases, failure = measure_all(plan, work.out, ways)
    for case in cases:
        valid_runs(case.runs)
    if failure is not None:
        replace(work, report=False, markdown=False).tell(outcome_of(cases))
        raise failure
    work.tell(outcome_of(cases))

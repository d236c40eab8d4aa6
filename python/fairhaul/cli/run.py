"""The command `run`: scenarios in, a table on the screen, JSON or Parquet out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command
from fairhaul.cli.engines import engines_option, kernel_option
from fairhaul.cli.options import (
    Overrides,
    controller_option,
    grain_option,
    jobs_option,
    json_option,
    profile_option,
    read_all,
    seeds_option,
    set_option,
)
from fairhaul.cli.watch import check as check_watch
from fairhaul.record.trace import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairhaul.measures.types import RunFigures
    from fairhaul.scenario.engines import Engine


@click.command(cls=Command, example="fairhaul run first.toml")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=words.files)
@engines_option("With several, their results are shown side by side.")
@kernel_option
@set_option
@controller_option
@profile_option
@grain_option
@seeds_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the record of each run into this directory, which must be new or empty.",
)
@click.option(
    "--trace",
    metavar="FLOW",
    help="Write a trace of every packet of this flow beside each record, in the simulator and in "
    "Linux in simulated time; requires --out or --report.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="pcapng",
    show_default=True,
    help="Format of the trace: pcapng for Wireshark, qlog for qvis, or a table.",
)
@click.option(
    "--report",
    "report_",
    is_flag=True,
    help="Write report.html and its figures beside the record; without --out, into out/NAME.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="Show the shares of the flows while a run goes on: as bars on a terminal, elsewhere as "
    "lines on standard error. The record is the same.",
)
@jobs_option
@json_option
def run(  # noqa: PLR0913, PLR0917
    files: tuple[str, ...],
    engines: tuple[Engine, ...],
    overrides: Overrides,
    grain: str | None,
    seeds: int | None,
    out: Path | None,
    trace: str | None,
    form: str,
    report_: bool,
    watch: bool,
    jobs: int | None,
    json_: bool,
) -> None:
    """Run scenarios, and print throughput, delay, loss and fairness.

    A file with a [sweep] is run once for every combination of its values. In the lab, a scenario is
    run 5 times unless --seeds is given.
    """
    from fairhaul.cli.records import Ways, free_place, measure_all, planned
    from fairhaul.scenario.engines import FACTS, NO_TRACE, repeats
    from fairhaul.scenario.read import refuse_too_many, with_seeds

    if trace is not None:
        if any(FACTS[engine].real_time for engine in engines):
            raise click.BadParameter(NO_TRACE, param_hint="--trace")
        if out is None and not report_:
            raise click.BadParameter("a trace requires --out DIR or --report", param_hint="--trace")
    if grain is not None:
        overrides = [*overrides, ("grain", grain)]
    scenarios = read_all(files, overrides)
    for engine in engines:
        refuse_too_many(scenarios, repeats(engine, seeds))
    plans = {
        engine: [run for scenario in scenarios for run in with_seeds(scenario, each)]
        for engine in engines
        for each in [repeats(engine, seeds)]
    }
    plan = planned(plans)
    if watch:
        check_watch([run.scenario for run in plan], engines, trace is not None)
    if report_ and out is None:
        out = free_place(Path("out") / Path(files[0]).stem)
    ways = Ways(jobs=jobs, traced=(trace, form) if trace else None, watch=watch)
    measures, failure = measure_all(plan, out, ways, report=report_)
    if report_ and failure is None:
        click.echo(f"Report: {out}/report.html", err=json_)
    _show(_parts(measures, engines, len(scenarios)), json_=json_)
    if failure is not None:
        raise failure


def _parts(
    measures: Sequence[RunFigures], engines: Sequence[Engine], scenarios: int
) -> dict[Engine, list[Sequence[RunFigures]]]:
    """Give the figures of the runs of each engine, by scenario."""
    parts: dict[Engine, list[Sequence[RunFigures]]] = {}
    for engine in engines:
        own = [run for run in measures if run["engine"] == engine]
        each = len(own) // scenarios
        parts[engine] = [own[i * each : (i + 1) * each] for i in range(scenarios)]
    return parts


def _show(parts: Mapping[Engine, Sequence[Sequence[RunFigures]]], *, json_: bool) -> None:
    """Print the results: of one engine alone, or of several side by side."""
    from fairhaul.answers.answers import scenario_result
    from fairhaul.answers.tables import of_engines, of_runs
    from fairhaul.measures.types import SCHEMA, document

    if json_:
        objects = {
            engine: document([scenario_result(part) for part in own])
            for engine, own in parts.items()
        }
        several = len(objects) > 1
        alone = next(iter(objects.values()))
        show.as_json({"schema": SCHEMA, "engines": objects} if several else alone)
        return
    for of_scenario in zip(*parts.values(), strict=True):
        if len(of_scenario) == 1:
            show.parts(of_runs(of_scenario[0]))
        else:
            show.parts(of_engines(dict(zip(parts, of_scenario, strict=True))))

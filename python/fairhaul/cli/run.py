"""The command `run`: scenarios in, a table on the screen, JSON or Parquet out."""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command, explained
from fairhaul.cli.progress import progress
from fairhaul.cli.watch import check as check_watch
from fairhaul.trace import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fairhaul.engines import Engine
    from fairhaul.record import Record
    from fairhaul.results import RunFigures
    from fairhaul.scenario import Scenario
    from fairhaul.sweeps.values import Keeping

    # What is done with the record of a run, and what runs a plan, with the flow that is traced.
    Then = Callable[[int, Record], None]
    Runner = Callable[[Sequence[Scenario], Then, str | None], None]


Overrides = list[tuple[str, str]]


def split(_ctx: click.Context, _option: click.Parameter, given: Sequence[str]) -> Overrides:
    """Split the `key=value` of `--set`."""
    pairs = []
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{pair!r} does not have the form key=value")
        pairs.append((key.strip(), value.strip()))
    return pairs


set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    callback=split,
    help="Change a key of the scenario, e.g. duration='60 s' or flow.F1.controller.c=20.",
)
seeds_option = click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run each scenario with N seeds, counted up from its own; print means and 95 % intervals.",
)
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of runs at a time; by default one per core, and one in the lab.",
)
grain_option = click.option(
    "--grain",
    type=click.Choice(["packet", "auto"]),
    help="auto: simulate trains of packets as one where that changes little; several times as "
    "fast on fast paths. By default what the scenario says.",
)


def _known(context: click.Context, _option: click.Parameter, given: Sequence[str]) -> None:
    """Let the scenarios of a command know the controllers of `--controller`."""
    if given:
        from fairhaul import own

        context.with_resource(own.known(own.load("--controller", given)))


controller_option = click.option(
    "--controller",
    multiple=True,
    metavar="NAME=FILE",
    callback=_known,
    expose_value=False,
    help="Let the scenario use a controller of your own: FILE.py:CLASS, an eBPF object (.o) or a "
    "shared library (.so); may be repeated. Python files and libraries are run.",
)
dask_option = click.option(
    "--dask",
    metavar="ADDRESS",
    help="Run on the workers of this Dask scheduler, e.g. tcp://10.0.0.1:8786.",
)
json_option = click.option(
    "--json", "json_", is_flag=True, help="Print one JSON object instead of text."
)
engine_option = click.option(
    "--engine",
    type=click.Choice(["sim", "lab"]),
    default="sim",
    show_default=True,
    help="sim: the simulator. lab: this machine's kernel over emulated links.",
)


def kept_in(out: Path | None, dask: str | None) -> Keeping | None:
    """Give the store of `--out`, and the cluster of `--dask`."""
    if out is None:
        if dask is not None:
            raise click.UsageError("--dask requires --out: this process keeps what workers compute")
        return None
    from fairhaul.sweeps.values import Keeping

    return Keeping(out=out, dask=dask)


# The old name of the option works for one more version.
RENAMED = {"--on": "--engine"}
# No two runs in the lab are the same.
REPEATS = 5


@click.command(cls=Command, example="fairhaul run first.toml", renamed=RENAMED)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=words.files)
@engine_option
@set_option
@controller_option
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
    help="Write a trace of every packet of this flow beside the record; requires --out or "
    "--report.",
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
    engine: Engine,
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

    A file with a [sweep] is run once for every combination of its values. With --engine lab, a
    scenario is run 5 times unless --seeds is given.
    """
    from fairhaul.answers import scenario_result
    from fairhaul.results import document
    from fairhaul.scenario import with_seeds

    if engine == "lab":
        seeds = seeds or REPEATS
        if trace is not None:
            raise click.BadParameter("only the simulator traces packets", param_hint="--trace")

    if trace is not None and out is None and not report_:
        raise click.BadParameter("a trace requires --out DIR or --report", param_hint="--trace")
    if grain is not None:
        overrides = [*overrides, ("grain", grain)]
    scenarios = read_all(files, overrides)
    plan = [seeded for scenario in scenarios for seeded in with_seeds(scenario, seeds or 1)]
    if watch:
        check_watch(plan, engine, trace is not None)
    if report_ and out is None:
        out = free_place(Path("out") / Path(files[0]).stem)
    traced = (trace, form) if trace else None
    measures, failure = measure_all(
        plan, jobs, out, traced=traced, report=report_, engine=engine, watch=watch
    )
    parts = [measures[i : i + (seeds or 1)] for i in range(0, len(measures), seeds or 1)]
    if report_ and failure is None:
        click.echo(f"Report: {out}/report.html", err=json_)
    if json_:
        show.as_json(document([scenario_result(part) for part in parts]))
    for part in () if json_ else parts:
        show.measures(part)
    if failure is not None:
        raise failure


def read_all(files: Sequence[str], overrides: Overrides) -> list[Scenario]:
    """Read all files, and report the mistakes of all of them together."""
    from fairhaul.scenario import ScenarioError, read_as_typed

    scenarios: list[Scenario] = []
    mistakes: list[str] = []
    for file in files:
        try:
            scenarios += read_as_typed(Path(file), overrides)
        except ScenarioError as error:
            mistakes += error.args
    if mistakes:
        raise ScenarioError(*mistakes)
    return scenarios


def free_place(wanted: Path) -> Path:
    """Give `wanted`, or the first of `wanted-2`, `wanted-3` … that is new or empty."""
    from itertools import count

    from fairhaul.drafts import is_free

    places = (wanted.with_name(f"{wanted.name}-{number}") for number in count(2))
    return wanted if is_free(wanted) else next(place for place in places if is_free(place))


def measure_all(
    plan: Sequence[Scenario],
    jobs: int | None,
    out: Path | None,
    *,
    traced: tuple[str, str] | None = None,
    report: bool = False,
    engine: Engine = "sim",
    watch: bool = False,
) -> tuple[list[RunFigures], BaseException | None]:
    """Run the whole plan; write the records, a flow's trace and a report into `out`, if given.

    If all runs are complete, their figures are given even if something could not be written, and
    with them the error.
    """
    from fairhaul.cost import announced
    from fairhaul.measures import measure
    from fairhaul.runs import cores

    if engine == "sim" and (long := announced(plan, jobs or cores())):
        click.echo(f"fairhaul: {long}", err=True)
    each = _runner(jobs, engine, watch)
    done: dict[int, RunFigures] = {}
    failure: BaseException | None = None
    try:
        if out is None:
            each(plan, lambda index, record: done.__setitem__(index, measure(record)), None)
        else:
            failure = _write_all(plan, each, out, done, traced=traced, report=report, engine=engine)
    except OSError as error:
        if len(done) < len(plan):
            raise
        failure = error
    return [done[index] for index in range(len(plan))], failure


def _runner(jobs: int | None, engine: Engine, watch: bool) -> Runner:
    """Give what runs a plan: `for_each` with its progress, or one run that is watched."""
    from fairhaul.cli.watch import watched
    from fairhaul.runs import for_each

    def each(plan: Sequence[Scenario], then: Then, trace: str | None) -> None:
        if watch:
            for index, scenario in enumerate(plan):
                then(index, watched(scenario))
            return
        with progress() as on_progress:
            for_each(plan, then, jobs=jobs, on_progress=on_progress, trace=trace, engine=engine)

    return each


def _write_all(
    plan: Sequence[Scenario],
    each: Runner,
    out: Path,
    done: dict[int, RunFigures],
    *,
    traced: tuple[str, str] | None,
    report: bool,
    engine: Engine,
) -> BaseException | None:
    """Run the plan; write each record as it comes to `out`, its figures to `done`.

    Runs that the same command completed before it was interrupted or killed are not run again. If
    the report cannot be drawn, or is interrupted, `out` has the records alone, and the error is
    given back.
    """
    from fairhaul.cli.resuming import keys_of, resumed
    from fairhaul.measures import measure
    from fairhaul.record import write_files
    from fairhaul.trace import write as write_trace

    keys = keys_of(plan, engine)
    places = [place(plan, index) for index in range(len(plan))]
    trace = None if traced is None else f"{traced[0]}.{traced[1]}"
    left: list[int] = []

    def keep(number: int, record: Record) -> None:
        index = left[number]
        done[index] = measure(record)
        directory = draft / places[index]
        directory.mkdir(exist_ok=True)
        if traced is not None and trace is not None:
            write_trace(record, *traced, directory / trace)
        write_files(record, directory, keys[index])

    with _claimed(out, resume=len(plan) > 1) as draft:
        done |= resumed(draft, places, keys, trace)
        if done:
            click.echo(f"fairhaul: {len(done)} of {len(plan)} runs are complete already", err=True)
        left += [index for index in range(len(plan)) if index not in done]
        each([plan[index] for index in left], keep, None if traced is None else traced[0])
        if not report:
            return None
        from fairhaul.report import write_report

        try:
            write_report([draft], draft)
        except BaseException as error:
            return error
    return None


@contextmanager
def _claimed(out: Path, *, resume: bool) -> Iterator[Path]:
    """Give the draft of `out`; whether it can be written is checked before anything runs."""
    from fairhaul.drafts import new_directory
    from fairhaul.record import META

    made = new_directory(out, resume=resume)
    try:
        draft = made.__enter__()
    except OSError as error:
        raise click.BadParameter(explained(error), param_hint="--out") from None
    with ExitStack() as stack:
        stack.push(made)
        try:
            yield draft
        except KeyboardInterrupt:
            if resume and any(draft.glob(f"*/{META}")):
                click.echo("fairhaul: finished runs are kept; the same command goes on", err=True)
            raise


def place(plan: Sequence[Scenario], index: int) -> str:
    """Name the directory of a run within `--out` by what was swept, or else by the title.

    A single run has no directory of its own.
    """
    from fairhaul.scenario import variant

    if len(plan) == 1:
        return "."
    swept = [f"{key.rpartition('.')[2]} {value}" for key, value in variant(plan[index]).items()]
    words = " ".join(swept) or plan[index].title
    name = re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-.")[:60]
    return f"{index + 1:03}-{name}-seed-{plan[index].seed}"

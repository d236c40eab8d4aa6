"""The verb `run`: scenarios in, a table on the screen, JSON or Parquet out."""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import show
from fairhaul.cli.click_ext import Count, Verb, Word, told
from fairhaul.cli.progress import progress
from fairhaul.trace import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairhaul.record import Record
    from fairhaul.runs import Engine
    from fairhaul.scenario import Scenario


Overrides = list[tuple[str, str]]


def split(_ctx: click.Context, _option: click.Parameter, given: Sequence[str]) -> Overrides:
    """Split the `key=value` of `--set`."""
    found = []
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{pair!r} is not of the form key=value")
        found.append((key.strip(), value.strip()))
    return found


set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    callback=split,
    help="Change a key of the scenario, as --set duration='60 s' or --set flow.F1.controller.c=20.",
)
seeds_option = click.option(
    "--seeds",
    type=Count(),
    metavar="N",
    help="Run with N seeds, counted up from the file's; give means and 95 % intervals.",
)
jobs_option = click.option(
    "--jobs",
    type=Count(),
    metavar="N",
    help="Runs at a time; by default all cores, and one in the lab.",
)
json_option = click.option("--json", "json_", is_flag=True, help="Print one JSON object, no table.")
on_option = click.option(
    "--on",
    type=Word(["sim", "lab"]),
    default="sim",
    help="The engine: the simulator, or this machine's kernel over emulated links (as root).",
)
# Runs in the lab are never the same.
REPEATS = 5


@click.command(cls=Verb, example="fairhaul run first.toml")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@on_option
@set_option
@seeds_option
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the record there."
)
@click.option(
    "--trace", metavar="FLOW", help="Write evidence of every packet of a flow beside the record."
)
@click.option(
    "--format",
    "form",
    type=Word(FORMATS),
    default="pcapng",
    help="That of the trace: for Wireshark, for qvis, or a table; pcapng by default.",
)
@click.option(
    "--report",
    "report_",
    is_flag=True,
    help="Write report.html and its figures beside the record; without --out into out/NAME.",
)
@jobs_option
@json_option
def run(  # noqa: PLR0913, PLR0917
    files: tuple[str, ...],
    on: Engine,
    overrides: Overrides,
    seeds: int | None,
    out: Path | None,
    trace: str | None,
    form: str,
    report_: bool,
    jobs: int | None,
    json_: bool,
) -> None:
    """Run scenarios and say who got how much.

    A file with a [sweep] is run once for every combination of its values. In the lab a scenario is
    run 5 times unless --seeds says otherwise.
    """
    from fairhaul.runs import together, with_seeds

    if on == "lab":
        seeds = seeds or REPEATS
        if trace is not None:
            raise click.BadParameter("evidence of packets is the simulator's", param_hint="--trace")

    if trace is not None and out is None and not report_:
        raise click.BadParameter("it needs --out DIR, to write to", param_hint="--trace")
    scenarios = read_all(files, overrides)
    plan = [seeded for scenario in scenarios for seeded in with_seeds(scenario, seeds or 1)]
    if report_ and out is None:
        out = free_place(Path("out") / Path(files[0]).stem)
    traced = (trace, form) if trace else None
    found, failure = measure_all(plan, jobs, out, traced=traced, report=report_, on=on)
    parts = [found[i : i + (seeds or 1)] for i in range(0, len(found), seeds or 1)]
    if report_ and failure is None:
        click.echo(f"Report: {out}/report.html", err=json_)
    if json_:
        objects = [part[0] if seeds is None else together(part) for part in parts]
        show.as_json(objects[0] if len(objects) == 1 else {"scenarios": objects})
    for part in () if json_ else parts:
        show.measures(part)
    if failure is not None:
        raise failure


def read_all(files: Sequence[str], overrides: Overrides) -> list[Scenario]:
    """Read every file; the mistakes of all of them are reported together."""
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
    """Give `wanted`, or the first of `wanted-2`, `wanted-3` … that is free."""
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
    on: Engine = "sim",
) -> tuple[list[dict[str, Any]], BaseException | None]:
    """Run the whole plan; write the records, a flow's trace and a report where `out` says so.

    Where all has run, its figures are given even if something could not be written, and why.
    """
    from fairhaul.measures import measure
    from fairhaul.runs import for_each

    if out is None:
        with progress() as on_progress:
            found = for_each(plan, lambda _, record: measure(record), jobs=jobs, on_progress=on_progress, on=on)
            return found, None
    done: dict[int, dict[str, Any]] = {}
    failure: BaseException | None = None
    try:
        failure = _write_all(plan, jobs, out, done, traced=traced, report=report, on=on)
    except OSError as error:
        if len(done) < len(plan):
            raise
        failure = error
    return [done[index] for index in range(len(plan))], failure


def _write_all(
    plan: Sequence[Scenario],
    jobs: int | None,
    out: Path,
    done: dict[int, dict[str, Any]],
    *,
    traced: tuple[str, str] | None,
    report: bool,
    on: Engine,
) -> BaseException | None:
    """Run the plan and write it to `out`, its figures to `done`; give what the report failed for.

    The records are put in their place without the report that cannot be drawn or was interrupted.
    """
    from fairhaul.measures import measure
    from fairhaul.record import write_files
    from fairhaul.runs import for_each
    from fairhaul.trace import write as write_trace

    def keep(index: int, record: Record) -> None:
        done[index] = measure(record)
        directory = draft / place(plan, index)
        write_files(record, directory)
        if traced is not None:
            write_trace(record, *traced, directory / f"{traced[0]}.{traced[1]}")

    with _claimed(out) as draft:
        with progress() as on_progress:
            flow = None if traced is None else traced[0]
            for_each(plan, keep, jobs=jobs, on_progress=on_progress, trace=flow, on=on)
        if not report:
            return None
        from fairhaul.report import write_report

        try:
            write_report([draft], draft)
        except BaseException as error:
            return error
    return None


@contextmanager
def _claimed(out: Path) -> Iterator[Path]:
    """Give the draft of `out`; what is in the way of it is found before anything runs."""
    from fairhaul.drafts import new_directory

    made = new_directory(out)
    try:
        draft = made.__enter__()
    except OSError as error:
        raise click.BadParameter(told(error), param_hint="--out") from None
    with ExitStack() as stack:
        stack.push(made)
        yield draft


def place(plan: Sequence[Scenario], index: int) -> str:
    """Name the directory of a run within that of all: one run alone needs none of its own."""
    if len(plan) == 1:
        return "."
    title = re.sub(r"[^a-z0-9]+", "-", plan[index].title.lower()).strip("-")[:40]
    return f"{index + 1:03}-{title}-seed-{plan[index].seed}"

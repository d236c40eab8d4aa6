"""The verb `reproduce`: a paper's tables, its numbers beside ours, and the report of both."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul import papers
from fairhaul.cli import show
from fairhaul.cli.click_ext import Count, Verb, Word
from fairhaul.cli.progress import progress
from fairhaul.cli.run import jobs_option, json_option
from fairhaul.nearest import hint

if TYPE_CHECKING:
    from fairhaul.papers.run import Reproduction
    from fairhaul.runs import Engine


PAPERS = (*papers.PAPERS, "all", "list")


def _engines(_ctx: click.Context, _option: click.Parameter, given: str) -> tuple[Engine, ...]:
    """Split the list of `--on`."""
    engines: tuple[Engine, ...] = ("sim", "lab")
    words = [word.strip() for word in given.split(",")]
    for word in words:
        if word not in engines:
            told = f"{word!r} is not known; {hint(word, engines)}, or both with a comma between"
            raise click.BadParameter(told)
    return tuple(engine for engine in engines if engine in words)


@click.command(cls=Verb, example="fairhaul reproduce fhstcp")
@click.argument("paper", default="list", metavar="[PAPER|all|list]", type=Word(PAPERS))
@click.option(
    "--on",
    metavar="sim|lab|sim,lab",
    default="sim",
    callback=_engines,
    help="The engines. The lab is this machine's kernel, as root; the simulator predicts it.",
)
@click.option("--quick", is_flag=True, help="Fewer seeds and shorter runs.")
@click.option("--only", multiple=True, metavar="NAME", help="One experiment of the paper.")
@click.option("--seeds", type=Count(), metavar="N", help="Run with N seeds.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write report.html and its figures there; by default into PAPER-report.",
)
@jobs_option
@json_option
def reproduce(  # noqa: PLR0913, PLR0917
    paper: str,
    on: tuple[Engine, ...],
    quick: bool,
    only: tuple[str, ...],
    seeds: int | None,
    out: Path | None,
    jobs: int | None,
    json_: bool,
) -> None:
    """Reproduce the tables of a PAPER, of all of them, or list them; write a report of it."""
    if only and paper in {"all", "list"}:
        names = " or ".join(papers.PAPERS)
        raise click.UsageError(f"--only needs the name of a paper before it: {names}")
    if paper == "list":
        found = papers.catalogue()
        if json_:
            show.as_json({"papers": found})
        for entry in () if json_ else found:
            click.echo(f"{entry['name']:14} {entry['title']} [{entry['source']}]")
        return
    places = _places(paper, out, on)
    with progress() as on_progress:
        done = [
            papers.reproduce(
                name, quick=quick, seeds=seeds, jobs=jobs, on_progress=on_progress, only=only, on=on, out=to
            )
            for name, to in places.items()
        ]
    if not json_:
        for reproduction in done:
            show_reproduction(reproduction)
    pages = _write(done, places)
    if not json_:
        for page in pages:
            click.echo(f"Report: {page}")
        return
    objects = [one.to_dict() | {"report": str(p)} for one, p in zip(done, pages, strict=True)]
    show.as_json(objects[0] if paper != "all" else {"papers": objects})


def _places(paper: str, out: Path | None, on: tuple[Engine, ...]) -> dict[str, Path]:
    """Say where the report of each paper goes, before an hour of runs is spent on it."""
    every = papers.on_the_lab() if "lab" in on else list(papers.PAPERS)
    names = every if paper == "all" else [paper]
    each = out is None or paper == "all"
    places = {name: (out or Path()) / f"{name}-report" if each else out or Path() for name in names}
    for place in places.values():
        there = next(p for p in (place.absolute(), *place.absolute().parents) if p.exists())
        wrong = "is there already and is no directory" if not there.is_dir() else None
        if wrong is None and not os.access(there, os.W_OK):
            wrong = "may not be written to"
        if wrong is not None:
            raise click.BadParameter(f"{there} {wrong}", None, None, "--out")
    return places


def _write(done: list[Reproduction], places: dict[str, Path]) -> list[Path]:
    from fairhaul.papers.report import write

    return [write(one, places[one.paper.name]) for one in done]


def show_reproduction(done: Reproduction) -> None:
    """Print the tables of a paper and what is to be said of them."""
    screen = show.console()
    screen.print(done.how)
    for table in done.tables:
        header = [table.parameter, "", *table.columns]
        rows: list[list[str]] = []
        for row in table.rows:
            for number, (who, texts) in enumerate(row.lines()):
                rows.append([row.label if number == 0 else "", who, *texts])
        screen.print(show.table(table.title, header, rows, words=2))
        for note in table.notes:
            screen.print(f"  {note}")
    for heading, lines in done.remarks().items():
        screen.print(f"{heading}:" if lines else f"{heading}: nothing")
        for line in lines:
            screen.print(f"  {line}")

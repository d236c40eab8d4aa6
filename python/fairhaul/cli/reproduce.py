"""The verb `reproduce`: a paper's tables, its numbers beside ours, and the report of both."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul import papers
from fairhaul.cli import show
from fairhaul.cli.manners import Count, Verb, Word
from fairhaul.cli.progress import progress
from fairhaul.cli.run import jobs_option, json_option

if TYPE_CHECKING:
    from fairhaul.papers.run import Reproduction


PAPERS = (*papers.PAPERS, "all", "list")


@click.command(cls=Verb, example="fairhaul reproduce fhstcp")
@click.argument("paper", default="list", metavar="[PAPER|all|list]", type=Word(PAPERS))
@click.option("--on", type=Word(["sim"]), default="sim", help="The engine.")
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
    on: str,  # noqa: ARG001
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
    places = _places(paper, out)
    with progress() as watch:
        done = [
            papers.reproduce(n, quick=quick, seeds=seeds, jobs=jobs, watch=watch, only=only)
            for n in places
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


def _places(paper: str, out: Path | None) -> dict[str, Path]:
    """Say where the report of each paper goes, before an hour of runs is spent on it."""
    names = list(papers.PAPERS) if paper == "all" else [paper]
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
            if row.has_paper():
                rows.append([row.label, "paper", *(c.paper_text() for c in row.cells)])
            label = "" if row.has_paper() else row.label
            rows.append([label, "ours", *(c.ours_text() for c in row.cells)])
        screen.print(show.table(table.title, header, rows, words=2))
        for note in table.notes:
            screen.print(f"  {note}")
    for heading, lines in done.remarks().items():
        screen.print(f"{heading}:" if lines else f"{heading}: nothing")
        for line in lines:
            screen.print(f"  {line}")

"""The command `reproduce`: a paper's numbers beside ours, as tables and a report."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command
from fairhaul.cli.engines import engines_option, kernel_option
from fairhaul.cli.progress import progress
from fairhaul.cli.robust import reproduce_robustly
from fairhaul.cli.run import jobs_option, json_option
from fairhaul.scenario.engines import FACTS
from fairhaul.studies import papers
from fairhaul.text.nearest import hint

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine
    from fairhaul.studies.papers.run import Reproduction


WORDS = (*papers.PAPERS, "all", "list")


def _paper(_ctx: click.Context, _argument: click.Parameter, given: str) -> str:
    """Take the name of a paper, or the folder of a user's own."""
    if given not in WORDS and not papers.is_folder(given):
        raise click.UsageError(f"unknown paper {given!r}; {hint(given, WORDS)} {papers.OWN}")
    return given


@click.command(cls=Command, example="fairhaul reproduce fhstcp")
@click.argument(
    "paper",
    default="list",
    metavar="[PAPER|FOLDER|all|list]",
    callback=_paper,
    shell_complete=words.papers,
)
@engines_option("A kernel is shown beside the simulator's prediction.")
@kernel_option
@click.option("--quick", is_flag=True, help="Use fewer seeds and shorter runs.")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Run only this experiment of the paper; may be repeated.",
)
@click.option(
    "--seeds", type=click.IntRange(min=1), metavar="N", help="Run each case with N seeds."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write report.html and its figures into this directory; by default PAPER-report.",
)
@click.option(
    "--robust",
    is_flag=True,
    help="Run the experiment over drawn settings of what the paper leaves open, and report in what "
    "part of them its claims and numbers hold.",
)
@click.option(
    "--settings",
    type=click.IntRange(min=2),
    default=200,
    show_default=True,
    metavar="N",
    help="With --robust: the number of settings.",
)
@jobs_option
@json_option
def reproduce(  # noqa: PLR0913, PLR0917
    paper: str,
    engines: tuple[Engine, ...],
    quick: bool,
    only: tuple[str, ...],
    seeds: int | None,
    out: Path | None,
    robust: bool,
    settings: int,
    jobs: int | None,
    json_: bool,
) -> None:
    """Reproduce the tables and figures of papers, and write a report.

    PAPER is the name of a paper, or all. FOLDER has the paper.toml of your own paper. Without
    either, the papers are listed.
    """
    if only and paper in {"all", "list"}:
        names = " or ".join(papers.PAPERS)
        raise click.UsageError(f"--only requires the name of a paper before it: {names}")
    if paper == "list":
        entries = papers.catalogue()
        if json_:
            show.as_json({"papers": entries})
        for entry in () if json_ else entries:
            click.echo(f"{entry['name']:14} {entry['title']} [{entry['source']}]")
        return
    if robust:
        reproduce_robustly(paper, only, settings=settings, out=out, jobs=jobs, json_=json_)
        return
    objects = []
    for name, place in _places(paper, out, engines).items():
        with progress(Path(name).resolve().name) as on_progress:
            done = papers.reproduce(
                name,
                quick=quick,
                seeds=seeds,
                jobs=jobs,
                on_progress=on_progress,
                only=only,
                engine=engines,
                out=place,
            )
        # At once: the next paper may take hours.
        if not json_:
            show_reproduction(done)
        page = _write(done, place)
        if not json_:
            click.echo(f"Report: {page}")
            sys.stdout.flush()
        objects.append(done.to_dict() | {"report": str(page)})
    if json_:
        show.as_json(objects[0] if paper != "all" else {"papers": objects})


def _places(paper: str, out: Path | None, engines: tuple[Engine, ...]) -> dict[str, Path]:
    """Give the directory of each paper's report; check that it can be written before any run."""
    kernel = any(FACTS[engine].kernel for engine in engines)
    every = papers.on_a_kernel() if kernel else list(papers.PAPERS)
    names = every if paper == "all" else [paper]
    each = out is None or paper == "all"
    places = {
        name: (out or Path()) / f"{Path(name).resolve().name}-report" if each else out or Path()
        for name in names
    }
    for place in places.values():
        existing = next(p for p in (place.absolute(), *place.absolute().parents) if p.exists())
        wrong = "exists and is not a directory" if not existing.is_dir() else None
        if wrong is None and not os.access(existing, os.W_OK):
            wrong = "is not writable by this user"
        if wrong is not None:
            raise click.BadParameter(f"{existing} {wrong}", None, None, "--out")
    return places


def _write(done: Reproduction, place: Path) -> Path:
    from fairhaul.studies.papers.report import write

    return write(done, place)


def show_reproduction(done: Reproduction) -> None:
    """Print the answer and the tables of a paper, and the remarks on them."""
    screen = show.console()
    screen.print(done.how)
    screen.print(done.answer())
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

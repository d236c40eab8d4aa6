"""The command `reproduce`: a paper's numbers beside ours, as tables and a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command, flag, option
from fairhaul.cli.engines import engines_option, kernel_option
from fairhaul.cli.listings import entry_line
from fairhaul.cli.options import profile_option
from fairhaul.cli.study import Work, study
from fairhaul.measures.types import SCHEMA
from fairhaul.scenario.engines import FACTS
from fairhaul.studies import papers
from fairhaul.text.nearest import hint

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine


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
@flag("--quick", "Use fewer seeds and shorter runs.")
@option("--only NAME", "Run only this experiment of the paper; may be repeated.", multiple=True)
@option("--seeds N", "Run each case with N seeds.", type=click.IntRange(min=1))
@flag(
    "--robust",
    "Run the experiment over drawn settings of what the paper leaves open, and report in what "
    "part of them its claims and numbers hold.",
)
@option(
    "--settings N",
    "With --robust: the number of settings.",
    type=click.IntRange(min=2),
    default=200,
)
@profile_option
@study("reproduce", "PAPER-report, and PAPER-robust with --robust")
def reproduce(  # noqa: PLR0913, PLR0917
    paper: str,
    engines: tuple[Engine, ...],
    quick: bool,
    only: tuple[str, ...],
    seeds: int | None,
    robust: bool,
    settings: int,
    work: Work,
) -> None:
    """Reproduce the tables and figures of papers, and write a report.

    PAPER is the name of a paper, or all. FOLDER has the paper.toml of your own paper. Without
    either, the papers are listed.
    """
    if only and paper in {"all", "list"}:
        names = " or ".join(papers.PAPERS)
        raise click.UsageError(f"--only requires the name of a paper before it: {names}")
    if paper == "list":
        _list(json_=work.json_)
        return
    if robust:
        _robust(paper, only, settings, work)
        return
    objects = []
    for name, place in _places(paper, work.out, engines).items():
        of = replace(work, name=Path(name).resolve().name, out=place, report=True)
        with of.options() as options:
            done = papers.reproduce(
                name, quick=quick, seeds=seeds, only=only, engine=engines, **options
            )
        # At once: the next paper may take hours.
        objects.append(of.give(done))
    if work.json_:
        show.as_json(objects[0] if paper != "all" else {"schema": SCHEMA, "outcomes": objects})


def _list(*, json_: bool) -> None:
    entries = papers.catalogue()
    if json_:
        show.as_json({"papers": entries})
    for entry in () if json_ else entries:
        entry_line(entry["name"], f"{entry['title']} [{entry['source']}]")


def _places(paper: str, out: Path | None, engines: tuple[Engine, ...]) -> dict[str, Path]:
    """Give the directory of each paper's results."""
    kernel = any(FACTS[engine].kernel for engine in engines)
    every = papers.on_a_kernel() if kernel else list(papers.PAPERS)
    names = every if paper == "all" else [paper]
    each = out is None or paper == "all"
    return {
        name: (out or Path()) / f"{Path(name).resolve().name}-report" if each else out or Path()
        for name in names
    }


def _robust(name: str, only: Sequence[str], settings: int, work: Work) -> None:
    """Run experiments over drawn settings of what the paper leaves open."""
    from fairhaul.studies.papers import run
    from fairhaul.studies.papers.robust import robust

    paper = papers.paper_of(name)
    able = [key for key, experiment in paper.experiments.items() if experiment.open]
    wanted = list(only) or able
    if not wanted:
        raise click.UsageError(f"{name} declares no open settings for --robust")
    base = work.out or Path(f"{Path(name).resolve().name}-robust")
    found = []
    for experiment in wanted:
        place = base / experiment if len(wanted) > 1 else base
        run.choose(paper, [experiment])
        of = replace(work, name=f"{name}, {experiment}", out=place, report=True)
        with of.options() as options:
            done = robust(paper, experiment, settings=settings, **options)
        found.append(of.give(done))
    if work.json_:
        show.as_json(found[0] if len(found) == 1 else {"schema": SCHEMA, "outcomes": found})

"""The verb `reproduce`: a paper's tables, its numbers beside ours."""

from __future__ import annotations

import click

from fairhaul import papers
from fairhaul.cli import show
from fairhaul.cli.progress import progress
from fairhaul.cli.run import jobs_option, json_option


@click.command()
@click.argument("paper", default="list", type=click.Choice([*papers.PAPERS, "all", "list"]))
@click.option("--on", type=click.Choice(["sim"]), default="sim", help="The engine.")
@click.option("--quick", is_flag=True, help="Fewer seeds and shorter runs.")
@click.option("--only", multiple=True, metavar="NAME", help="One experiment of the paper.")
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Run with N seeds.")
@jobs_option
@json_option
def reproduce(
    paper: str,
    on: str,  # noqa: ARG001
    quick: bool,
    only: tuple[str, ...],
    seeds: int | None,
    jobs: int | None,
    json_: bool,
) -> None:
    """Reproduce the tables of a PAPER, of all of them, or list them."""
    if paper == "list":
        found = papers.catalogue()
        if json_:
            show.as_json({"papers": found})
        for entry in () if json_ else found:
            click.echo(f"{entry['name']:12} {entry['title']} [{entry['source']}]")
        return
    if only and paper == "all":
        raise click.UsageError("--only needs the name of a paper")
    names = list(papers.PAPERS) if paper == "all" else [paper]
    with progress() as watch:
        done = [
            papers.reproduce(n, quick=quick, seeds=seeds, jobs=jobs, watch=watch, only=only)
            for n in names
        ]
    if json_:
        objects = [reproduction.to_dict() for reproduction in done]
        show.as_json(objects[0] if paper != "all" else {"papers": objects})
        return
    for reproduction in done:
        show_reproduction(reproduction)


def show_reproduction(done: papers.Reproduction) -> None:
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
    for heading, lines in done.remarks.items():
        screen.print(f"{heading}:" if lines else f"{heading}: nothing")
        for line in lines:
            screen.print(f"  {line}")

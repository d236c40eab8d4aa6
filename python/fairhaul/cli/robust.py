"""`reproduce --robust`: a paper's claims and numbers over what it leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from fairhaul.cli import show
from fairhaul.cli.progress import progress
from fairhaul.studies import papers


def reproduce_robustly(
    name: str,
    only: Sequence[str],
    *,
    settings: int,
    out: Path | None,
    jobs: int | None,
    json_: bool,
) -> None:
    """Run experiments over drawn settings, print what holds, and write a report of each."""
    from fairhaul.studies.papers import robust_report, run
    from fairhaul.studies.papers.robust import robust

    paper = papers.paper_of(name)
    able = [key for key, experiment in paper.experiments.items() if experiment.open]
    wanted = list(only) or able
    if not wanted:
        raise click.UsageError(f"{name} declares no open settings for --robust")
    base = out or Path(f"{Path(name).resolve().name}-robust")
    for experiment in wanted:
        place = base / experiment if len(wanted) > 1 else base
        run.choose(paper, [experiment])
        with progress(f"{name}, {experiment}") as on_progress:
            found = robust(
                paper,
                experiment,
                settings=settings,
                jobs=jobs,
                on_progress=on_progress,
                out=place,
            )
        page = robust_report.write(found, place)
        if json_:
            show.as_json(found.to_dict() | {"report": str(page)})
            continue
        screen = show.console()
        screen.print(robust_report.answer(found))
        columns = ["claim", "holds in", "depends most on"]
        screen.print(show.table("Claims", columns, robust_report.claim_rows(found), words=3))
        if found.numbers:
            columns = list(robust_report.NUMBER_COLUMNS)
            rows = robust_report.number_rows(found)
            screen.print(show.table("Printed numbers", columns, rows, words=2))
        click.echo(f"Report: {page}")

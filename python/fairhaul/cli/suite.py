"""The command `suite`: suites of tests that others have defined."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli import show
from fairhaul.cli.click_ext import Command, CommandGroup
from fairhaul.cli.progress import progress
from fairhaul.cli.run import jobs_option, json_option
from fairhaul.cli.score import own_controller_option

if TYPE_CHECKING:
    from fairhaul.studies.tcpeval import Done


@click.group(cls=CommandGroup)
def suite() -> None:
    """Run a suite of tests that others have defined."""


@suite.command(cls=Command, example="fairhaul suite tcpeval --cc cubic --quick")
@click.option(
    "--cc",
    "given",
    multiple=True,
    metavar="CC",
    help="The controller, such as cubic or fhstcp:c=20; may be repeated.",
)
@own_controller_option
@click.option(
    "--quick", is_flag=True, help="Up to a tenth of the draft's times, and one seed: a first look."
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Runs of each point; by default 3, and 1 with --quick.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="TEST",
    help="Only this test; may be repeated: basic, tradeoff, ramp-up, transients, impact, fairness, "
    "bottlenecks.",
)
@click.option(
    "--vectors",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="The nine traces of the suite, r4s1.org to r6s3.org; without them traffic is generated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/tcpeval"),
    show_default=True,
    metavar="DIR",
    help="Scenarios, traffic, results and report.html. Runs that it has are not repeated.",
)
@jobs_option
@json_option
def tcpeval(  # noqa: PLR0913, PLR0917
    given: tuple[str, ...],
    named: tuple[str, ...],
    quick: bool,
    seeds: int | None,
    only: tuple[str, ...],
    vectors: Path | None,
    out: Path,
    jobs: int | None,
    json_: bool,
) -> None:
    """Run the Common TCP Evaluation Suite (draft-irtf-iccrg-tcpeval-01) for controllers.

    Six links at three loads, delay against throughput, ramp-up, transients, the impact on standard
    TCP, fairness, and several bottlenecks. docs/suite.md describes the tests and what differs from
    the draft.
    """
    from fairhaul.studies.tcpeval import report
    from fairhaul.studies.tcpeval import tcpeval as run_suite

    controllers = tuple(dict.fromkeys([*given, *named]))
    if not controllers:
        raise click.UsageError("--cc is missing; for example: fairhaul suite tcpeval --cc cubic")
    with progress() as on_progress:
        done = run_suite(
            controllers,
            out=out,
            quick=quick,
            seeds=seeds,
            only=only,
            vectors=vectors,
            jobs=jobs,
            on_progress=on_progress,
        )
    page = report.write(done, out)
    if json_:
        show.as_json(done.to_dict())
        return
    click.echo(f"Report: {page}")
    show_suite(done)


def show_suite(done: Done) -> None:
    """Print a table for each test."""
    from fairhaul.studies.tcpeval import report
    from fairhaul.studies.tcpeval.tables import COLUMNS, POINTS, TITLES, heads, rows

    screen = show.console()
    for test in done.cases:
        columns = [column for column in COLUMNS[test] if not column.detail]
        cells = [row.cells(columns) for row in rows(done, test)]
        words = len(POINTS[test]) + 1
        screen.print(show.table(TITLES[test], heads(test, columns), cells, words=words))
    for line in report.method(done):
        screen.print(line)
    screen.print(report.answer(done))


__all__ = ["show_suite", "suite"]

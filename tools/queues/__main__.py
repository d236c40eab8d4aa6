"""`python -m tools.queues FILE`: compare engines with depths of a queue at real hardware."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli.engines import engines_option, kernel_option
from fairhaul.cli.options import jobs_option, set_option
from fairhaul.cli.progress import progress
from fairhaul.files import files
from fairhaul.jobs.values import Running
from fairhaul.scenario.read import ScenarioError
from tools import ROOT
from tools.queues import SOURCE
from tools.queues.comparison import Compared, report
from tools.queues.figure import draw
from tools.queues.rows import SMALLEST, BadFile, read
from tools.queues.runs import medians

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine

OUT = ROOT / "out" / "queues-10g"


@click.command(epilog=f"The file is {SOURCE}, or a part of it.")
@click.argument("file", type=click.Path(path_type=Path))
@engines_option("With several, they are compared with each other, too.", default="sim,linux")
@kernel_option
@click.option("--only", metavar="NAME", help="Rows of this controller.")
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True)
@set_option
@jobs_option
def main(
    file: Path,
    engines: Sequence[Engine],
    only: str | None,
    seeds: int,
    overrides: Sequence[tuple[str, str]],
    jobs: int | None,
) -> None:
    """Run each row of FILE with every engine, and compare the median depths of the queue.

    Results are kept in out/queues-10g, so that an interrupted command goes on where it ended. The
    tables are printed in Markdown, and are in table.md and figure.svg there, too. --set changes a
    key of the set-up on all engines.
    """
    try:
        rows = [row for row in read(file) if only in (None, row.controller)]
    except BadFile as error:
        raise click.ClickException(str(error)) from None
    if not rows:
        raise click.ClickException(f"{file}: no row has a buffer of {SMALLEST:g} packets or more")
    with progress("queues") as on_progress:
        running = Running(out=OUT, jobs=jobs, on_progress=on_progress, on_event=_say)
        given = dict(overrides)
        try:
            found = {each: medians(rows, each, seeds, running, given) for each in engines}
        except ScenarioError as error:
            raise click.ClickException("\n".join(map(str, error.args))) from None
    compared = [
        Compared(row=row, medians={engine: of[index] for engine, of in found.items()})
        for index, row in enumerate(rows)
    ]
    _write(compared, engines)


def _say(text: str) -> None:
    click.echo(text, err=True)


def _write(compared: Sequence[Compared], engines: Sequence[Engine]) -> None:
    """Print the tables, and write them and the figure beside the results."""
    from fairhaul.figures.look import painted, svg

    lines = "\n".join(report(compared, engines))
    files.replace(OUT / "table.md", f"{lines}\n".encode())
    drawn = painted(svg(draw(compared, engines)))
    files.replace(OUT / "figure.svg", f"{drawn}\n".encode())
    click.echo(lines)


if __name__ == "__main__":
    main(prog_name="python -m tools.queues")

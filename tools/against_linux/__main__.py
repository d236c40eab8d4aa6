"""`python -m tools.against_linux bbr`: print the table that compares the simulator with Linux."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fairhaul.scenario.engines import Engine
from tools.against_linux import compare, heading
from tools.against_linux.cases import CASES


@click.command()
@click.argument("group", type=click.Choice(list(CASES)))
@click.option("--seeds", type=click.IntRange(min=1), default=5, help="Runs of each case.")
@click.option("--only", metavar="WORD", default="", help="Only cases whose name has this in it.")
@click.option("--engine", type=click.Choice(["sim", "linux"]), help="Only this engine.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of runs at a time; by default one per core."
)
def main(group: str, seeds: int, only: str, engine: Engine | None, jobs: int | None) -> None:
    """Run the cases of a group in the simulator and in Linux: simulator / Linux in each column."""
    engines: Sequence[Engine] = (engine,) if engine else ("sim", "linux")
    click.echo(heading())
    for case in CASES[group]:
        if only in case.name:
            click.echo(compare(case, seeds, engines, jobs).row())


main(prog_name="python -m tools.against_linux")

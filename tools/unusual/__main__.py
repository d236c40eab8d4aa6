"""`python -m tools.unusual measure`, and `table`: the unusual cells in Linux and the simulator."""

from __future__ import annotations

import click

from fairhaul.studies.cells import UNUSUAL, UnusualCell
from tools.unusual import compared, keep, kept, measure, table

only = click.option("--only", metavar="WORD", default="", help="Cells whose name has this in it.")


@click.group()
def main() -> None:
    """Keep what Linux did in the unusual cells, and print the table of both engines."""


def _chosen(word: str) -> list[UnusualCell]:
    return [cell for name, cell in UNUSUAL.items() if word in name]


@main.command("measure")
@only
@click.option("--again", is_flag=True, help="Measure cells that have been measured, too.")
def measure_(only: str, again: bool) -> None:
    """Run the cells in Linux whose figures are not kept; each is kept when it is done."""
    found = kept()
    for cell in _chosen(only):
        if again or cell.name not in found:
            click.echo(cell.name)
            found = {**found, **measure([cell], "linux")}
            keep(found)


@main.command("table")
@only
def table_(only: str) -> None:
    """Run the cells in the simulator, and print the tables in Markdown."""
    found = kept()
    cells = [cell for cell in _chosen(only) if cell.name in found]
    sim = measure(cells, "sim")
    done = [compared(name, figures, found[name][1]) for name, (_, figures) in sim.items()]
    click.echo("\n".join(table(done)))


main(prog_name="python -m tools.unusual")

"""The verbs of `fairhaul lab`: emulated networks with real kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli import show
from fairhaul.cli.manners import Count, Verb, Verbs
from fairhaul.cli.progress import progress
from fairhaul.cli.run import json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairhaul.cells import Compared


@click.group(cls=Verbs)
def lab() -> None:
    """Compare the simulator with this machine's kernel.

    A scenario runs on real kernels by `fairhaul run FILE --on lab`.
    """


@lab.command(cls=Verb, example="fairhaul lab cells --out out/cells")
@click.option("--cells", "names", multiple=True, metavar="NAME", help="Of these; by default all.")
@click.option("--repeats", type=Count(), metavar="N", help="Runs of the kernel for each cell.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/cells"),
    show_default=True,
    help="What is there is not run again.",
)
@click.option("--list", "list_", is_flag=True, help="Print the cells, and run nothing.")
@json_option
def cells(names: tuple[str, ...], repeats: int | None, out: Path, list_: bool, json_: bool) -> None:
    """Hold the simulator against the kernel, cell by cell.

    The kernel runs the cells that the documentation quotes 5 times and the others once, unless
    --repeats says otherwise. All 24 take less than 90 minutes; what was interrupted goes on.
    """
    from fairhaul.cells import CELLS, compare

    if list_:
        for name in CELLS:
            click.echo(name)
        return
    with progress() as watch:
        done = compare(
            names,
            repeats=repeats,
            out=out,
            watch=watch,
            tell=lambda line: click.echo(line, err=True),
        )
    if json_:
        show.as_json({"cells": [one.to_dict() for one in done]})
        return
    show_cells(done)


FIGURES = (
    ("link_share", "link used %", 100.0, 1),
    ("first_share", "first flow %", 100.0, 1),
    ("rtt_ms", "RTT ms", 1.0, 1),
    ("cwnd", "cwnd", 1.0, 0),
    ("cycle_s", "cycle s", 1.0, 2),
    ("loss_rate", "loss 1e-4", 1e4, 2),
)


def show_cells(done: Sequence[Compared]) -> None:
    """Print both engines' figures, a row for each cell: simulator / kernel."""
    from fairhaul.cells.work import mean

    def cell(one: Compared, figure: str, scale: float, digits: int) -> str:
        found = [mean(engine, figure) for engine in (one.sim, one.lab)]
        return " / ".join("-" if v is None else f"{scale * v:.{digits}f}" for v in found)

    rows = [
        [
            one.cell.name,
            *(cell(one, figure, scale, digits) for figure, _, scale, digits in FIGURES),
            "-" if one.lab is None else str(len(one.lab["rtt_ms"])),
        ]
        for one in done
    ]
    header = ["cell", *(heading for _, heading, _, _ in FIGURES), "runs"]
    screen = show.console()
    screen.print(show.table("Simulator / kernel", header, rows))
    if any(one.lab is None for one in done):
        screen.print("Cells whose cycle is longer than 20 s are the simulator's alone.")
    screen.print("Means over runs; goodput is of what full packets can carry with their headers.")

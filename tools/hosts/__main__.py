"""`python -m tools.hosts`: draw cells, run them on both engines, and write what differs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from fairhaul.files import files
from fairhaul.scenario.engines import Engine
from tools.hosts.cells import cells_of
from tools.hosts.comparison import Compared, counts, markdown
from tools.hosts.work import Measurement, compared


@click.command()
@click.option("--count", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--first", type=click.IntRange(min=0), default=0, help="Number of the first cell.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the cells.")
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option(
    "--most-packets",
    type=click.IntRange(min=1),
    help="Shorten runs to the time in which the link carries this number, for a first look.",
)
@click.option(
    "--engine",
    type=click.Choice(["linux", "lab"]),
    default="linux",
    show_default=True,
    help="The kernel that judges; in the lab only rates that it carries, and no packet traces.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Number of runs at a time.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/hosts"))
def main(
    seeds: int,
    most_packets: int | None,
    engine: Engine,
    jobs: int | None,
    out: Path,
    **of_cells: int,
) -> None:
    """Draw cells, run them in the simulator and with a kernel, and write hosts.json and hosts.md.

    The store in the folder `--out` keeps each run, so that the same command goes on where an
    interrupted one ended. The exit status is 1 where less than 95 % of all comparisons agree.
    """
    cells = cells_of(engine, **of_cells)
    done: list[Compared] = []
    measurement = Measurement(seeds=seeds, most_packets=most_packets, judge=engine)
    for one in compared(cells, measurement, out / "store", jobs):
        if isinstance(one, str):
            click.echo(f"failed   {one}")
            continue
        done.append(one)
        _write(out, done)
        click.echo(_line(one))
    found = counts(done)
    for name, (agree, number) in found.items():
        click.echo(f"{name}: {agree} of {number}")
    agree, number = found["all comparisons"]
    sys.exit(0 if number and len(done) == len(cells) and agree >= 0.95 * number else 1)


def _write(out: Path, done: list[Compared]) -> None:
    found = {
        "counts": {name: list(each) for name, each in counts(done).items()},
        "cells": [one.to_dict() for one in done],
    }
    files.replace(out / "hosts.json", json.dumps(found, indent=1).encode())
    files.replace(out / "hosts.md", markdown(done).encode())


def _line(one: Compared) -> str:
    differ = [each for each in one.differences if not each.agrees]
    words = [f"{each.quantity} {each.sim:.4g} / {each.linux:.4g}" for each in differ]
    return f"{'differs ' if differ else 'agrees  '} {one.cell.name}  {', '.join(words)}"


main(prog_name="python -m tools.hosts")

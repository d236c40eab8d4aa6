"""`python -m tools.doubt random`, `search`, `table`: places where the simulator is wrong."""

from __future__ import annotations

import time
from itertools import count

import click

from fairhaul.studies.attack import attack, read_question
from fairhaul.studies.attack.words import answer
from fairhaul.text.table import Table
from tools import csv_rows
from tools.doubt import (
    CONTROLLERS,
    COUNT,
    FOLDER,
    SEARCHES,
    by_kind,
    keep,
    kept,
    measure,
    place,
    write_table,
)

HEAD = ("controller", "seed", "budget_s", "runs", "cells", "worst", "found")


@click.group()
def main() -> None:
    """Search for places where the simulator is wrong, and keep what was found."""


@main.command("random")
@click.option("--seconds", default=600.0, help="For how long; a place that was begun is ended.")
def random_(seconds: float) -> None:
    """Run the next places drawn at random on both engines; each is kept when it is done."""
    end, rows = time.monotonic() + seconds, kept()
    done = {row.number for row in rows}
    for number in (number for number in range(COUNT) if number not in done):
        if time.monotonic() > end:
            break
        controller, at = place(number)
        click.echo(f"{number}: {controller} over {at.text()}")
        found = measure(number)
        rows += found
        keep(rows)
        for row in (row for row in found if not row.agrees):
            click.echo(f"  {row.group} {row.figure}: {row.sim:.4g} / {row.linux:.4g}")


@main.command()
@click.option("--budget", default="20min", help="Processor time of a search.")
@click.option("--controller", type=click.Choice(CONTROLLERS), help="By default the least searched.")
def search(budget: str, controller: str | None) -> None:
    """Search once more, with another seed, and keep what was found."""
    rows = csv_rows(SEARCHES)
    searched = {name: sum(row["controller"] == name for row in rows) for name in CONTROLLERS}
    name = controller or min(CONTROLLERS, key=lambda one: searched[one])
    used = {row["seed"] for row in rows if row["controller"] == name}
    seed = next(number for number in count(1) if str(number) not in used)
    question = read_question(name, "disagree", budget=budget, seed=seed)
    done = attack(question, out=f"out/doubt/{name}-{seed}", on_event=click.echo)
    click.echo(answer(done))
    found = ""
    if done.scenario is not None:
        found = f"{name}-{seed}.toml"
        (FOLDER / found).write_text(done.scenario, encoding="utf-8")
    worst = done.worst.estimate.mean if done.worst else done.searched[0].value
    row = (name, seed, question.budget_s, done.runs, len(done.archive.cells), f"{worst:.3g}", found)
    write_table(SEARCHES, HEAD, iter([*([one[key] for key in HEAD] for one in rows), row]))


@main.command()
def table() -> None:
    """Print the share of the places drawn at random at which all figures agree, by kind of path."""
    found = by_kind(kept())
    rows = [
        [kind, str(all_), str(agree), f"{100 * agree / all_:.0f} %"] for kind, all_, agree in found
    ]
    total, agreed = sum(places for _, places, _ in found), sum(agree for _, _, agree in found)
    if total:
        rows.append(["all", str(total), str(agreed), f"{100 * agreed / total:.1f} %"])
    head = ("impairment", "places", "agree", "share")
    click.echo("\n".join(Table(columns=head, rows=rows, words=1).markdown()))


main(prog_name="python -m tools.doubt")

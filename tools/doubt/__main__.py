"""`python -m tools.doubt`: places where the simulator is wrong."""

from __future__ import annotations

import time
from collections import Counter
from itertools import count

import click

from fairhaul import RunError
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import written
from fairhaul.studies.attack import attack, read_question
from fairhaul.studies.attack.words import answer
from fairhaul.text.table import Table
from tools import csv_rows
from tools.doubt import CONTROLLERS, FOLDER, SEARCHES, places, write_table

HEAD = ("controller", "seed", "budget_s", "runs", "cells", "worst", "found")
# So many places run at a time that no core is idle while the last run of one is left.
AT_ONCE = 4
KINDS = ("impairment", "controller", "queue")


@click.group()
def main() -> None:
    """Search for places where the simulator is wrong, and keep what was found."""


@main.command("random")
@click.option("--seconds", default=600.0, help="For how long; places that were begun are ended.")
@click.option("--least", default=0, help="The smallest number of a place.")
def random_(seconds: float, least: int) -> None:
    """Run the next places drawn at random on both engines; each is kept when it is done."""
    end = time.monotonic() + seconds
    done = places.kept("linux")
    left = [number for number in range(least, places.COUNT) if number not in done]
    while left and time.monotonic() < end:
        some, left = left[:AT_ONCE], left[AT_ONCE:]
        drawn = [places.drawn(number) for number in some]
        _measured("linux", drawn)
        _measured("sim", drawn)
        for place in drawn:
            _print(place)


@main.command()
def simulate() -> None:
    """Run the simulator again, after a change of it, at all places that Linux has run."""
    numbers = sorted(places.kept("linux"))
    for at in range(0, len(numbers), AT_ONCE):
        _measured("sim", [places.drawn(number) for number in numbers[at : at + AT_ONCE]])


def _measured(engine: Engine, drawn: list[places.Drawn]) -> None:
    """Run places, and keep their rows; one that fails is named."""
    try:
        rows = places.measure(drawn, engine)
    except RunError as error:
        if len(drawn) > 1:
            for place in drawn:
                _measured(engine, [place])
            return
        click.echo(f"{drawn[0].number}: {engine}: {error}", err=True)
        return
    found = places.kept(engine)
    for place in drawn:
        found[place.number] = [row for row in rows if row["number"] == str(place.number)]
    places.keep(engine, found)


def _print(place: places.Drawn) -> None:
    sim, linux = (places.kept(engine).get(place.number) for engine in ("sim", "linux"))
    click.echo(f"{place.number}: {place.controller} over {place.at.text()}")
    if sim and linux:
        for figure in places.compare(sim, linux):
            if not figure.agrees:
                click.echo(f"  {figure}")


@main.command()
@click.argument("number", type=int)
def show(number: int) -> None:
    """Print the scenario of a place, which `fairhaul run --engine sim,linux --seeds 3` takes."""
    place = places.drawn(number)
    click.echo(written(place.keys(1)))
    _print(place)


@main.command()
@click.option("--budget", default="20min", help="Processor time of a search.")
@click.option("--controller", type=click.Choice(CONTROLLERS), help="By default the least searched.")
def search(budget: str, controller: str | None) -> None:
    """Search once more, with another seed, and keep what was found."""
    rows = csv_rows(SEARCHES)
    searched = Counter(row["controller"] for row in rows)
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
@click.option(
    "--by", type=click.Choice(["impairment", "controller", "queue"]), default="impairment"
)
@click.option("--list", "listed", is_flag=True, help="Print the places that differ.")
def table(by: str, listed: bool) -> None:
    """Print the share of the places drawn at random at which all figures agree, by kind of path.

    The last column compares the simulator with itself, with three other seeds.
    """
    sim, linux = places.kept("sim"), places.kept("linux")
    counts: dict[str, list[int]] = {}
    for number in sorted(sim.keys() & linux.keys()):
        place = places.drawn(number)
        compared = list(places.compare(sim[number], linux[number]))
        agrees = all(figure.agrees for figure in compared)
        if listed and not agrees:
            _print(place)
        for name in (place.kinds[by], "all"):
            kind = counts.setdefault(name, [0, 0, 0])
            kind[0] += 1
            kind[1] += agrees
            kind[2] += all(figure.agrees_again for figure in compared)
    rows = [
        [kind, str(of), str(agree), f"{100 * agree / of:.0f} %", f"{100 * again / of:.0f} %"]
        for kind, (of, agree, again) in sorted(
            counts.items(), key=lambda one: (one[0] == "all", one)
        )
    ]
    head = (by, "places", "agree", "share", "of the simulator with itself")
    click.echo("\n".join(Table(columns=head, rows=rows, words=1).markdown()))


main(prog_name="python -m tools.doubt")

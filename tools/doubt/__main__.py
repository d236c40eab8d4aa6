"""`python -m tools.doubt`: places where the simulator is wrong."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
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
ENGINES: tuple[Engine, Engine] = ("sim", "linux")
SIMULATED = (*places.FEW, *places.OTHERS)
"""The seeds of the simulator at each place."""


@click.group()
def main() -> None:
    """Search for places where the simulator is wrong, and keep what was found."""


@main.command("random")
@click.option("--seconds", default=600.0, help="For how long; places that were begun are ended.")
def random_(seconds: float) -> None:
    """Run the next places drawn at random on both engines; each is kept when it is done."""
    end = time.monotonic() + seconds
    both = {engine: places.kept(engine) for engine in ENGINES}
    left = [
        places.drawn(number)
        for number in range(places.COUNT)
        if not _is_complete(*(both[engine].get(number, []) for engine in ENGINES))
    ]
    while left and time.monotonic() < end:
        some, left = left[:AT_ONCE], left[AT_ONCE:]
        _complete(some)
        for place in some:
            _print(place)


@main.command()
@click.argument("numbers", nargs=-1, type=int)
def simulate(numbers: Sequence[int]) -> None:
    """Run the simulator again, after a change of it, at some places, or all that Linux has run."""
    numbers = numbers or sorted(places.kept("linux"))
    for at in range(0, len(numbers), AT_ONCE):
        some = numbers[at : at + AT_ONCE]
        found = places.kept("sim")
        places.keep("sim", {number: found[number] for number in found if number not in some})
        _complete([places.drawn(number) for number in some])


def _is_complete(sim: list[places.Row], linux: list[places.Row]) -> bool:
    if places.lacks(linux, places.FEW) or places.lacks(sim, SIMULATED):
        return False
    has_many = not any(places.lacks(rows, places.MORE) for rows in (sim, linux))
    return has_many or places.agree(sim, linux, places.FEW)


def _complete(drawn: list[places.Drawn]) -> None:
    """Run what places lack: a few seeds on both engines, and more where those do not agree."""
    _measured("linux", drawn, places.FEW)
    _measured("sim", drawn, SIMULATED)
    differ = [place for place in drawn if not places.agree(*_rows(place), places.FEW)]
    for engine in ENGINES:
        _measured(engine, differ, places.MORE)


def _measured(engine: Engine, drawn: list[places.Drawn], seeds: Sequence[int]) -> None:
    """Run the places that have not run with these seeds; one that fails is named."""
    found = places.kept(engine)
    left = [place for place in drawn if places.lacks(found.get(place.number, []), seeds)]
    if not left:
        return
    try:
        rows = places.measure(left, engine, seeds)
    except RunError as error:
        if len(left) > 1:
            for place in left:
                _measured(engine, [place], seeds)
            return
        click.echo(f"{left[0].number}: {engine}: {error}", err=True)
        return
    for row in rows:
        found.setdefault(int(row["number"]), []).append(row)
    places.keep(engine, found)


def _rows(place: places.Drawn) -> tuple[list[places.Row], list[places.Row]]:
    sim, linux = (places.kept(engine).get(place.number, []) for engine in ENGINES)
    return sim, linux


def _print(place: places.Drawn) -> None:
    click.echo(f"{place.number}: {place.controller} over {place.at.text()}")
    both = _rows(place)
    if not places.agree(*both, places.FEW):
        for figure in places.compare(*both, places.MANY):
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
@click.option("--by", type=click.Choice(KINDS), default=KINDS[0], help="What is counted.")
@click.option("--list", "listed", is_flag=True, help="Print the places that differ.")
def table(by: str, listed: bool) -> None:
    """Print the share of the places drawn at random at which all figures agree, by kind of path.

    The last column compares the simulator with itself, with three other seeds.
    """
    counts: dict[str, list[int]] = {}
    sim, linux = places.kept("sim"), places.kept("linux")
    for number in sorted(sim.keys() & linux.keys()):
        place, both = places.drawn(number), (sim[number], linux[number])
        few = places.agree(*both, places.FEW)
        itself = places.agree(both[0], both[0], places.FEW, places.OTHERS)
        agrees = few or places.agree(*both, places.MANY)
        if listed and not agrees:
            _print(place)
        for name in (place.kinds[by], "all"):
            kind = counts.setdefault(name, [0, 0, 0, 0])
            for at, each in enumerate((1, agrees, few, itself)):
                kind[at] += each
    rows = [
        [kind, str(of), str(agree), *(f"{100 * part / of:.0f} %" for part in (agree, few, itself))]
        for kind, (of, agree, few, itself) in sorted(counts.items(), key=_all_last)
    ]
    head = (by, "places", "agree", "share", "with three seeds", "the simulator with itself")
    click.echo("\n".join(Table(columns=head, rows=rows, words=1).markdown()))


def _all_last(kind: tuple[str, list[int]]) -> tuple[bool, str]:
    return kind[0] == "all", kind[0]


main(prog_name="python -m tools.doubt")

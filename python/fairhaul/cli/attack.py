"""The command `attack`: the worst place for a controller within a box."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command
from fairhaul.cli.engines import kernel_option
from fairhaul.cli.progress import progress
from fairhaul.cli.run import jobs_option, json_option
from fairhaul.cli.score import one_controller, own_controller_option
from fairhaul.measures.types import SCHEMA

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine
    from fairhaul.studies.attack import Attack, Question

SCENARIO = "worst.toml"
ALL = "all"


@click.command(cls=Command, example="fairhaul attack cubic --objective starve")
@click.argument("given", required=False, metavar="[CC]", shell_complete=words.controllers)
@own_controller_option
@click.option(
    "--objective",
    required=True,
    metavar="starve|waste|queue|stall|harm|all",
    help="What is maximised: how far flows are below their fair share, unused capacity, the "
    "standing queue, the longest time below half of the fair share, or the harm to rivals. all: "
    "one after the other, each with a fifth of the budget.",
)
@click.option(
    "--within",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file of the box: ranges of rates, round-trip times, buffers and others "
    "(docs/attack.md). Keys that it lacks have the values of the objective.",
)
@click.option(
    "--queue",
    metavar="KIND[:KEY=VALUE,...]",
    help="The queue of the bottleneck, e.g. xcp_tcp:rule=adaptive; instead of the box's.",
)
@click.option(
    "--budget",
    default="10min",
    show_default=True,
    metavar="TIME",
    help="Processor time of all runs; a second counts as 2.5 million packets.",
)
@click.option(
    "--seed", type=click.IntRange(min=0, max=2**31), default=1, show_default=True, metavar="SEED"
)
@click.option("--profile", metavar="plain|linux", help="Sender of all flows; by default as score.")
@click.option(
    "--confirm",
    type=click.Choice(["linux", "lab"]),
    help="Replay the worst place in Linux in simulated time (linux), or on the kernel of this host "
    "(lab); the box is then cut to what the lab carries.",
)
@kernel_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory of the results, by default out/attack-CC-OBJECTIVE; with all a directory "
    "in DIR for each objective. The same command goes on where it was interrupted.",
)
@jobs_option
@json_option
def attack(  # noqa: PLR0913, PLR0917
    given: str | None,
    named: tuple[str, ...],
    objective: str,
    within: Path | None,
    queue: str | None,
    budget: str,
    seed: int,
    profile: str | None,
    confirm: Engine | None,
    out: Path | None,
    jobs: int | None,
    json_: bool,
) -> None:
    """Search for the network in which a controller does worst.

    Rates, round-trip times, buffers, losses, rivals and starts are searched within a box. The worst
    place is checked with other seeds, shrunk to the smallest scenario that shows nearly the same,
    and explained in a sentence; worst.toml and report.html in the directory of the results have it.
    CC is a controller, a controller with parameters (fhstcp:c=20), or parallel TCP (4xreno).
    """
    from fairhaul.scenario.quantities import time_s
    from fairhaul.studies.attack import read_question
    from fairhaul.studies.attack.objectives import OBJECTIVES

    controller = one_controller(given, named, "an attack")
    names = list(OBJECTIVES) if objective == ALL else [objective]
    each_s = time_s("--budget", budget) / len(names)
    questions = [
        read_question(
            controller,
            name,
            within=within,
            queue=queue,
            budget=f"{each_s:.6f} s",
            seed=seed,
            profile=profile,
            confirm=confirm,
        )
        for name in names
    ]
    found = []
    for question in questions:
        name = question.objective.name
        place = out / name if out and objective == ALL else out or _directory(controller, name)
        found.append(_attacked(question, place, jobs, shown=not json_))
    if json_:
        show.as_json(found[0] if objective != ALL else {"schema": SCHEMA, "attacks": found})


def _directory(controller: str, objective: str) -> Path:
    return Path("out") / re.sub(r"[^\w.-]+", "-", f"attack-{controller}-{objective}")


def _attacked(question: Question, out: Path, jobs: int | None, *, shown: bool) -> dict[str, Any]:
    """Attack, write the results into a directory, and print them if they are to be shown."""
    from fairhaul.studies.attack import attack as attack_
    from fairhaul.studies.attack.report import write

    try:
        with progress(out.name) as on_progress:
            done = attack_(question, out=out, jobs=jobs, on_progress=on_progress)
    except KeyboardInterrupt:
        _say(f"finished runs are kept in {out}; the same command goes on")
        raise
    page = write(done, out, SCENARIO)
    command = _command()
    if shown:
        show_attack(done, out, command)
    sys.stdout.flush()
    click.echo(f"Report: {page}", err=not shown)
    return done.to_dict() | {"command": command}


def _command() -> str:
    return shlex.join(["fairhaul", *sys.argv[1:]])


def _say(text: str) -> None:
    click.echo(f"fairhaul: {text}", err=True)


def show_attack(done: Attack, out: Path, command: str) -> None:
    """Print the sentence, the table of weaknesses, and what to do with them."""
    from fairhaul.statistics.estimate import legend
    from fairhaul.studies.attack import words

    screen = show.console()
    screen.print(words.answer(done))
    if done.kernel is not None:
        screen.print(words.on_kernel(done, done.kernel))
    if done.weaknesses:
        rows = [words.row(done, held, done.value_in_search(held)) for held in done.weaknesses]
        title = f"Distinct weaknesses of {done.attacked.name}: {done.objective.name}"
        screen.print(show.table(title, words.COLUMNS, rows, words=words.WORDS))
        screen.print(f"{done.objective.name}: {done.objective.meaning}. {legend(5)}")
    screen.print(
        f"{done.runs} runs of {done.packets:.3g} packets, figures included; "
        f"{len(done.archive.cells)} cells of the archive. Repeat: {command}"
    )
    if done.worst is not None:
        screen.print(f"The smallest scenario: fairhaul run {shlex.quote(str(out / SCENARIO))}")


__all__ = ["attack", "show_attack"]

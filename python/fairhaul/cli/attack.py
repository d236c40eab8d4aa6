"""The command `attack`: the worst place for a controller within a box."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command, option
from fairhaul.cli.engines import kernel_option
from fairhaul.cli.options import flows_profile_option
from fairhaul.cli.score import one_controller, own_controller_option, stack_option
from fairhaul.cli.study import Work, study
from fairhaul.measures.types import SCHEMA

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine

ALL = "all"


@click.command(cls=Command, example="fairhaul attack cubic --objective starve")
@click.argument("given", required=False, metavar="[CC]", shell_complete=words.controllers)
@own_controller_option
@stack_option
@option(
    "--objective starve|waste|queue|stall|harm|disagree|all",
    "What is maximised: how far flows are below their fair share, unused capacity, the "
    "standing queue, the longest time below half of the fair share, the harm to rivals, or how far "
    "the simulator is from Linux in simulated time. all: one after the other except the last, each "
    "with a fifth of the budget.",
    required=True,
)
@option(
    "--within FILE",
    "TOML file of the box: ranges of rates, round-trip times, buffers and others "
    "(docs/attack.md). Keys that it lacks have the values of the objective.",
    type=click.Path(path_type=Path),
)
@option(
    "--queue KIND[:KEY=VALUE,...]",
    "The queue of the bottleneck, e.g. xcp_tcp:rule=adaptive; instead of the box's.",
)
@option(
    "--budget TIME",
    "Processor time of all runs; a second counts as 2.5 million packets.",
    default="10min",
)
@click.option(
    "--seed", type=click.IntRange(min=0, max=2**31), default=1, show_default=True, metavar="SEED"
)
@flows_profile_option
@option(
    "--confirm",
    "Replay the worst place in Linux in simulated time (linux), or on the kernel of this host "
    "(lab); the box is then cut to what the lab carries.",
    type=click.Choice(["linux", "lab"]),
)
@kernel_option
@study("attack", "out/attack-CC-OBJECTIVE; of all objectives, a directory in DIR for each")
def attack(  # noqa: PLR0913, PLR0917
    given: str | None,
    named: tuple[str, ...],
    stack: str | None,
    objective: str,
    within: Path | None,
    queue: str | None,
    budget: str,
    seed: int,
    profile: str,
    confirm: Engine | None,
    work: Work,
) -> None:
    """Search for the network in which a controller does worst.

    Rates, round-trip times, buffers, losses, rivals and starts are searched within a box. The worst
    place is checked with other seeds, shrunk to the smallest scenario that shows nearly the same,
    and explained in a sentence; worst.toml in the directory of the results has it.
    CC is a controller, a controller with parameters (fhstcp:c=20), or parallel TCP (4xreno).
    Programs cannot be attacked: the search runs in the simulator, which starts none.
    """
    from fairhaul.scenario.quantities import time_s
    from fairhaul.studies.attack import attack as attack_
    from fairhaul.studies.attack import read_question
    from fairhaul.studies.attack.objectives import SIMULATED

    controller = one_controller(given, named, "an attack", stack)
    names = SIMULATED if objective == ALL else [objective]
    each_s = time_s("--budget", budget) / len(names)
    questions = [
        read_question(
            controller,
            name,
            stack=stack,
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
        several = objective == ALL and work.out is not None
        of = work.within(name) if several else work.at(f"attack-{controller or stack}-{name}")
        with of.options() as options:
            options["on_event"] = None  # the steps of a search are for callers of the function
            done = attack_(question, **options)
        found.append(of.give(done))
    if work.json_:
        show.as_json(found[0] if objective != ALL else {"schema": SCHEMA, "outcomes": found})

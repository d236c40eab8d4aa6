"""The command `score`: one number for a controller, and its parts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import words
from fairhaul.cli.click_ext import Command, option
from fairhaul.cli.options import flows_profile_option
from fairhaul.cli.study import Work, study

if TYPE_CHECKING:
    from collections.abc import Sequence

# A controller from a file; `fhstcp:c=20` is one of the catalogue, with a parameter.
FROM_A_FILE = re.compile(r"[^:=]*=")


def _chosen(
    context: click.Context, _option: click.Parameter, given: Sequence[str]
) -> tuple[str, ...]:
    """Give the names of `--controller`; the controllers from files are known from here on."""
    files = [text for text in given if FROM_A_FILE.match(text)]
    if files:
        from fairhaul.scenario import own

        context.with_resource(own.known(own.load("--controller", files)))
    return tuple(text.partition("=")[0].strip() if text in files else text for text in given)


own_controller_option = option(
    "--controller CC | NAME=FILE",
    "The controller, or one of your own: FILE.py:CLASS, an eBPF object (.o) or a shared "
    "library (.so). CC is not needed then.",
    name="named",
    multiple=True,
    callback=_chosen,
)


stack_option = option(
    "--stack NAME|FILE",
    "A transport stack instead of a controller, perhaps with settings (quinn:controller=bbr).",
)


@click.command(cls=Command, example="fairhaul score cubic --json")
@click.argument("given", required=False, metavar="[CC]", shell_complete=words.controllers)
@own_controller_option
@stack_option
@option(
    "--draw SEED",
    "Draw of the paths: 1 is the public one. Use another to see whether a controller was "
    "tuned to it.",
    type=click.IntRange(min=0),
    default=1,
)
@option(
    "--paths N",
    "Number of paths; fewer cost less, and the interval is wider.",
    type=click.IntRange(8, 1024),
    default=64,
)
@option(
    "--queue KIND[:KEY=VALUE,...]",
    "The queue of all paths, e.g. dualpi2; the published scores are those of droptail.",
    default="droptail",
)
@flows_profile_option
@study("score")
def score(
    given: str | None, named: tuple[str, ...], stack: str | None, work: Work, **how: Any
) -> None:
    """Score a controller: one number from 0 to 1, and its parts.

    The parts are throughput, delay, loss, convergence, and fairness to itself, to CUBIC and to
    Reno, over 64 drawn paths. CC is a controller, a controller with parameters (fhstcp:c=20), or
    parallel TCP (4xreno). The score is the geometric mean of the parts; docs/score.md defines each
    of them and has the scores of all controllers.
    """
    from fairhaul.studies.scoring import score as score_of

    controller = one_controller(given, named, "a score", stack)
    with work.options() as options:
        done = score_of(controller, stack=stack, **how, **options)
    work.tell(done)


def one_controller(
    given: str | None, named: Sequence[str], what: str, stack: str | None = None
) -> str | None:
    """Give the controller of a command: the argument, or the only one of `--controller`.

    None if the command has a transport stack instead.
    """
    from fairhaul.scenario import own

    if stack is not None:
        if given or named:
            raise click.UsageError(f"{what} is of a controller or of a --stack: give one of them")
        return None

    if given is not None and given.endswith(".toml"):
        raise click.UsageError(
            f"{given}: {what} is of a controller or of a --stack, and writes its own scenarios, "
            "which run in the simulator; fairhaul run, check and sweep take a scenario, also one "
            "with programs"
        )
    # A controller from a file may be named beside the argument, because it is defined by that.
    names = [name for name in named if given is None or name not in own.kinds()]
    names += [] if given is None else [given]
    if len(set(names)) > 1:
        raise click.UsageError(f"{what} is of one controller, but {', '.join(names)} are given")
    if not names:
        raise click.UsageError(
            f"CC is missing; for example: fairhaul {what.rsplit(maxsplit=1)[-1]} cubic"
        )
    return names[0]

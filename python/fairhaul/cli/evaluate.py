"""The command `evaluate`: controllers or stacks by RFC 9743, or controllers by another suite."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import words
from fairhaul.cli.click_ext import Command, flag, option
from fairhaul.cli.engines import engines_option, kernel_option
from fairhaul.cli.options import controller_option, profile_option, stacks_option
from fairhaul.cli.study import Work, say, study
from fairhaul.cli.verdicts import NOT_MET, junit_option

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine
    from fairhaul.studies.evaluation import Evaluation

# Without this, an evaluation by RFC 9743.
TCPEVAL = "tcpeval"
FEW_TRIALS = 4
# The folder of what is not met of the criteria, within that of a stack.
CRITERIA = "rfc9743"


@click.command(cls=Command, example="fairhaul evaluate fhstcp cubic --quick --report")
@click.argument("controllers", nargs=-1, metavar="[CC]...", shell_complete=words.controllers)
@stacks_option(
    "judged",
    " The scenarios of check --stack judge it, too. What is not met leaves a folder in "
    f"{NOT_MET}, or in DIR/{NOT_MET} with --out DIR.",
)
@option(
    "--suite",
    f"The criteria of RFC 9743; or the Common TCP Evaluation Suite ({TCPEVAL}), which has "
    "tables beside reno and no verdicts.",
    type=click.Choice(["rfc9743", TCPEVAL]),
    default="rfc9743",
)
@flag(
    "--quick",
    f"5 seeds instead of 20; in {TCPEVAL} one instead of 3, and up to a tenth of the times.",
)
@option("--seeds N", "N seeds instead.", type=click.IntRange(min=1))
@option(
    "--only TEST",
    f"Only this test of {TCPEVAL}; may be repeated: basic, tradeoff, ramp-up, transients, "
    "impact, fairness, bottlenecks.",
    multiple=True,
)
@option(
    "--vectors DIR",
    f"The nine traces of {TCPEVAL}, r4s1.org to r6s3.org; without them traffic is generated.",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
)
@junit_option
@engines_option("With several, their results are shown side by side.")
@kernel_option
@controller_option
@profile_option
@study("evaluate")
def evaluate(  # noqa: PLR0913, PLR0917
    controllers: tuple[str, ...],
    stacks: tuple[str, ...],
    suite: str,
    quick: bool,
    seeds: int | None,
    only: tuple[str, ...],
    vectors: Path | None,
    junit: Path | None,
    engines: tuple[Engine, ...],
    work: Work,
) -> None:
    """Evaluate controllers by the criteria of RFC 9743 (BCP 133), sections 5 to 7.

    Each criterion is met, not met or undecided, by scenarios with expectations, or not evidenced
    here, with the reason. CC is a controller, or one with parameters (fhstcp:c=20); --stack names a
    transport stack, which takes its place. With --suite
    tcpeval it is the Common TCP Evaluation Suite (draft-irtf-iccrg-tcpeval-01): six links at three
    loads, delay against throughput, ramp-up, transients, the impact on standard TCP, fairness, and
    several bottlenecks. docs/evaluate.md lists the scenarios, the bounds and the tests.
    """
    from fairhaul.studies.evaluation import SUITES, Evaluation

    if not controllers and not stacks:
        raise evaluate.misses("CC...")
    how: dict[str, Any] = {"quick": quick, "seeds": seeds}
    if suite == TCPEVAL:
        _refuse_for_tcpeval(engines, stacks, junit)
        how |= {"only": only, "vectors": vectors}
    elif only or vectors:
        given = "--only" if only else "--vectors"
        raise click.UsageError(f"{given} is an option of --suite {TCPEVAL}")
    elif quick and seeds is not None:
        raise click.UsageError("--quick is 5 seeds, and --seeds another number: give one of them")
    else:
        how |= {"engines": engines, "stacks": stacks}
    with work.options() as options:
        done = SUITES[suite](controllers, **how, **options)
    if junit is not None and isinstance(done, Evaluation):
        from fairhaul.studies.expectations.junit import write_junit

        write_junit("evaluate", [(of.plan.name, of.check) for of in done.parts], junit)
    work.tell(done)
    if isinstance(done, Evaluation) and "sim" in engines:
        _leave_evidence(done, (work.out or Path()) / NOT_MET)


def _refuse_for_tcpeval(
    engines: tuple[Engine, ...], stacks: tuple[str, ...], junit: Path | None
) -> None:
    if engines != ("sim",):
        raise click.UsageError(
            f"--suite {TCPEVAL} runs in the simulator alone, because no other engine plays "
            "connection vectors: leave --engine out"
        )
    if stacks:
        raise click.UsageError(f"--suite {TCPEVAL} judges no transport stacks: leave --stack out")
    if junit is not None:
        raise click.UsageError(f"--suite {TCPEVAL} has no verdicts: leave --junit out")


def _leave_evidence(done: Evaluation, into: Path) -> None:
    """Leave a folder of what a stack does not meet; of a sweep, of its worst point."""
    from fairhaul.studies.expectations.evidence import write_evidence
    from fairhaul.studies.expectations.reducing import MOST_TRIALS

    for of in done.parts:
        if of.plan.name not in done.stacks:
            continue
        own, most = into / re.sub(r"[^\w.-]+", "-", of.plan.name).strip("-."), MOST_TRIALS
        if of.plan.by_criteria:
            # Its scenarios have long runs, so that few smaller ones are tried, and some have the
            # names of those for stacks.
            own, most = own / CRITERIA, FEW_TRIALS
        for folder in write_evidence(of.worst(), of.plan.settings, of.plan.flow, own, most):
            say(f"{folder} has a run in which something is not met")

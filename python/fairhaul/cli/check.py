"""The command `check`: whether runs are as the `[[expect]]` of their scenarios say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli import words
from fairhaul.cli.click_ext import Command, flag, option
from fairhaul.cli.engines import engines_option, kernel_option
from fairhaul.cli.options import (
    Overrides,
    controller_option,
    profile_option,
    programs_option,
    set_option,
)
from fairhaul.cli.study import Work, say, study
from fairhaul.cli.verdicts import NOT_MET, junit_option

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine

FAILED = 1


@click.command(cls=Command, example="fairhaul check my-test.toml")
@click.argument("files", nargs=-1, metavar="FILE|FOLDER...", shell_complete=words.files)
@option(
    "--stack NAME|FILE",
    "The transport stack of the flow `mine`: a name, or a library, perhaps with settings "
    "(quinn:controller=bbr); without files the scenarios for stacks are run. What is not met "
    f"leaves a folder in {NOT_MET}, or in DIR/{NOT_MET} with --out DIR.",
)
@engines_option("With several, their verdicts are shown side by side.")
@kernel_option
@set_option
@controller_option
@programs_option
@option(
    "--seeds N",
    "Run each scenario with N seeds, counted up from its own; fewer than 5 decide nothing.",
    type=click.IntRange(min=1),
    default=5,
)
@flag(
    "--strict",
    "Fail if an expectation stays undecided with four times the seeds, too.",
)
@junit_option
@profile_option
@study("check")
@click.pass_context
def check(  # noqa: PLR0913, PLR0917
    context: click.Context,
    files: tuple[str, ...],
    stack: str | None,
    engines: tuple[Engine, ...],
    overrides: Overrides,
    seeds: int,
    strict: bool,
    junit: Path | None,
    work: Work,
) -> None:
    """Run scenarios, and check what their [[expect]] say.

    Each expectation is met, not met or undecided, by the 95 % interval of its number over the
    seeds. FOLDER stands for all scenario files in it. With --stack the flow `mine` of each scenario
    is one of that transport stack. The exit status is 0 if none is not met, and 1 otherwise.
    docs/check.md describes the format.
    """
    from fairhaul.jobs.values import Running
    from fairhaul.studies.expectations.cases import files_of, read_cases
    from fairhaul.studies.expectations.checking import check_scenarios
    from fairhaul.studies.expectations.stack_cases import stack_cases, unfit_for

    if stack is not None:
        for reason, names in unfit_for(stack, overrides).items() if not files else ():
            say(f"{', '.join(names)}: not judged, because {reason}")
        files, overrides = stack_cases(stack, files, overrides)
    elif not files:
        raise click.UsageError("Missing argument 'FILE|FOLDER...'.")
    cases = read_cases(files_of(files), overrides)
    with work.options() as options:
        running = Running.of(options)
        done = check_scenarios(cases, engines, running, seeds=seeds, strict=strict)
    if junit is not None:
        from fairhaul.studies.expectations.junit import write_junit

        write_junit("check", [("", done)], junit)
    work.tell(done)
    if stack is not None and "sim" in engines:
        from fairhaul.studies.expectations.evidence import write_evidence
        from fairhaul.studies.expectations.stack_cases import MINE

        into = (work.out or Path()) / NOT_MET
        for folder in write_evidence(done, overrides, MINE, into):
            say(f"{folder} has a run in which something is not met")
    if not done.passed():
        context.exit(FAILED)

"""The command `check`: whether runs are as the `[[expect]]` of their scenarios say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command
from fairhaul.cli.engines import engines_option, kernel_option
from fairhaul.cli.progress import progress
from fairhaul.cli.run import (
    Overrides,
    controller_option,
    dask_option,
    jobs_option,
    json_option,
    kept_in,
    set_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairhaul.scenario.engines import Engine
    from fairhaul.studies.expectations.checking import Check, Checked

FAILED = 1


@click.command(cls=Command, example="fairhaul check my-test.toml")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE|FOLDER...", shell_complete=words.files
)
@engines_option("With several, their verdicts are shown side by side.")
@kernel_option
@set_option
@controller_option
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="Run each scenario with N seeds, counted up from its own; fewer than 5 decide nothing.",
)
@click.option("--strict", is_flag=True, help="Fail if an expectation is undecided, too.")
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the verdicts as JUnit XML, for CI.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Keep the numbers of runs in simulated time in this store. Runs that it has are not "
    "repeated.",
)
@jobs_option
@dask_option
@json_option
@click.pass_context
def check(  # noqa: PLR0913, PLR0917
    context: click.Context,
    files: tuple[str, ...],
    engines: tuple[Engine, ...],
    overrides: Overrides,
    seeds: int,
    strict: bool,
    junit: Path | None,
    out: Path | None,
    jobs: int | None,
    dask: str | None,
    json_: bool,
) -> None:
    """Run scenarios, and check what their [[expect]] say.

    Each expectation is met, not met or undecided, by the 95 % interval of its number over the
    seeds. FOLDER stands for all scenario files in it. The exit status is 0 if none is not met, and
    1 otherwise. docs/check.md describes the format.
    """
    from fairhaul.studies.expectations.checking import check_scenarios, files_of, read_cases

    if junit is not None and not junit.absolute().parent.is_dir():
        raise click.BadParameter(f"{junit.parent} is no directory", param_hint="--junit")
    keeping = kept_in(out, dask)
    cases = read_cases(files_of(files), overrides)
    with progress() as on_progress:
        done = check_scenarios(
            cases, engines, seeds=seeds, jobs=jobs, on_progress=on_progress, keeping=keeping
        )
    if junit is not None:
        from fairhaul.studies.expectations.junit import write_junit

        write_junit(done, junit, strict=strict)
    if json_:
        show.as_json(done.to_dict(strict=strict))
    else:
        show_check(done)
    if not done.passed(strict=strict):
        context.exit(FAILED)


def show_check(done: Check) -> None:
    """Print a table of the expectations of each scenario, and the number of each verdict."""
    from fairhaul.statistics.estimate import LEAST_RUNS, legend
    from fairhaul.studies.expectations import MET, NOT_MET, UNDECIDED

    screen = show.console()
    for case in done.cases:
        rows = [_row(checked, done.engines) for checked in case.expectations]
        columns = ["measured", "verdict"]
        if len(done.engines) > 1:
            columns = [f"{word} ({engine})" for engine in done.engines for word in columns]
        title = f"{case.case.file}: {case.case.title}"
        screen.print(show.table(title, ["expectation", "expected", *columns], rows, words=4))
        for engine, why in case.refused.items():
            screen.print(f"Not run on {engine}: {why}.")
        for what in [c.expectation.what for c in case.expectations if c.engines_disagree]:
            screen.print(f"The engines disagree beyond their intervals: {what}.")
    screen.print(legend(done.seeds))
    counts = ", ".join(f"{done.count(v)} {v}" for v in (MET, NOT_MET, UNDECIDED))
    screen.print(f"Expectations: {counts}.")
    if done.seeds < LEAST_RUNS:
        screen.print(f"Fewer than {LEAST_RUNS} seeds decide nothing.")


def _row(checked: Checked, engines: Sequence[Engine]) -> list[str]:
    """Lay out an expectation: what, its bounds, and of each engine the number and the verdict."""
    from fairhaul.studies.expectations.words import measured

    row = [checked.expectation.what, checked.expectation.bound()]
    for engine in engines:
        judged = checked.by.get(engine)
        row += ["-", "not run"] if judged is None else [measured(judged), judged.verdict]
    return row


__all__ = ["check", "show_check"]

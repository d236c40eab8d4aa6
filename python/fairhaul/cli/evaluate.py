"""The command `evaluate`: the criteria of RFC 9743 for controllers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command
from fairhaul.cli.engines import engines_option, kernel_option
from fairhaul.cli.progress import progress
from fairhaul.cli.run import controller_option, dask_option, jobs_option, json_option, kept_in

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine
    from fairhaul.studies.evaluation import Evaluation


@click.command(cls=Command, example="fairhaul evaluate fhstcp cubic --quick --out evaluation")
@click.argument(
    "controllers", nargs=-1, required=True, metavar="CC...", shell_complete=words.controllers
)
@click.option("--quick", is_flag=True, help="5 seeds instead of 20.")
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="N seeds instead.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write report.html, evaluation.md, evaluation.json and the scenarios into DIR, and keep "
    "the numbers of runs in simulated time in DIR/runs. Runs that it has are not repeated.",
)
@engines_option("With several, their results are shown side by side.")
@kernel_option
@controller_option
@jobs_option
@dask_option
@json_option
def evaluate(  # noqa: PLR0913, PLR0917
    controllers: tuple[str, ...],
    quick: bool,
    seeds: int | None,
    out: Path | None,
    engines: tuple[Engine, ...],
    jobs: int | None,
    dask: str | None,
    json_: bool,
) -> None:
    """Evaluate controllers by the criteria of RFC 9743 (BCP 133), sections 5 to 7.

    Each criterion is met, not met or undecided, by scenarios with expectations, or not evidenced
    here, with the reason. CC is a controller, or one with parameters (fhstcp:c=20).
    docs/evaluate.md lists the scenarios and bounds.
    """
    from fairhaul.studies.evaluation import QUICK, SEEDS
    from fairhaul.studies.evaluation import evaluate as evaluated

    if quick and seeds is not None:
        raise click.UsageError("--quick is 5 seeds, and --seeds another number: give one of them")
    number = seeds or (QUICK if quick else SEEDS)
    keeping = kept_in(None if out is None else out / "runs", dask)
    with progress() as on_progress:
        done = evaluated(
            controllers,
            seeds=number,
            engines=engines,
            keeping=keeping,
            jobs=jobs,
            on_progress=on_progress,
        )
    page = None if out is None else _write(done, out)
    if json_:
        show.as_json(done.to_dict())
        return
    if page is not None:
        click.echo(f"Report: {page}")
    show_evaluation(done)


def _write(done: Evaluation, out: Path) -> Path:
    import json

    from fairhaul.files.files import replace
    from fairhaul.studies.evaluation import copy_scenarios, markdown, report

    copy_scenarios(out)
    replace(out / "evaluation.json", (json.dumps(done.to_dict(), indent=1) + "\n").encode())
    markdown.write(done, out / "evaluation.md")
    return report.write(done, out)


def show_evaluation(done: Evaluation) -> None:
    """Print the verdict on each criterion, and each row that is not met."""
    from fairhaul.studies.evaluation import words
    from fairhaul.studies.expectations import MET

    screen = show.console()
    title = f"Evaluation by RFC 9743, {done.seeds} seeds"
    screen.print(show.table(title, words.overview_columns(done), words.overview(done), words=3))
    for name in done.controllers:
        for row in done.rows:
            if (found := row.found[name]).verdict != MET:
                screen.print(
                    f"{row.label}, {name}: {found.verdict}. Expected: {row.expectation.what} "
                    f"({row.expectation.bound()}). Measured: {found.text()}."
                )
    screen.print(words.answer(done))


__all__ = ["evaluate", "show_evaluation"]

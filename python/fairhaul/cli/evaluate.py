"""The command `evaluate`: controllers by the criteria of RFC 9743, or by another suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command
from fairhaul.cli.engines import engines_option, kernel_option
from fairhaul.cli.progress import progress
from fairhaul.cli.run import controller_option, dask_option, jobs_option, json_option, kept_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairhaul.scenario.engines import Engine
    from fairhaul.studies.evaluation import Evaluation
    from fairhaul.studies.tcpeval import SuiteResult
    from fairhaul.text.grid import Grid

# Without this, an evaluation by RFC 9743.
TCPEVAL = "tcpeval"


@click.command(cls=Command, example="fairhaul evaluate fhstcp cubic --quick --out evaluation")
@click.argument(
    "controllers", nargs=-1, required=True, metavar="CC...", shell_complete=words.controllers
)
@click.option(
    "--suite",
    type=click.Choice(["rfc9743", TCPEVAL]),
    default="rfc9743",
    show_default=True,
    help=f"The criteria of RFC 9743; or the Common TCP Evaluation Suite ({TCPEVAL}), which has "
    "tables beside reno and no verdicts.",
)
@click.option(
    "--quick",
    is_flag=True,
    help=f"5 seeds instead of 20; in {TCPEVAL} one instead of 3, and up to a tenth of the times.",
)
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="N seeds instead.")
@click.option(
    "--only",
    multiple=True,
    metavar="TEST",
    help=f"Only this test of {TCPEVAL}; may be repeated: basic, tradeoff, ramp-up, transients, "
    "impact, fairness, bottlenecks.",
)
@click.option(
    "--vectors",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help=f"The nine traces of {TCPEVAL}, r4s1.org to r6s3.org; without them traffic is generated.",
)
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
    suite: str,
    quick: bool,
    seeds: int | None,
    only: tuple[str, ...],
    vectors: Path | None,
    out: Path | None,
    engines: tuple[Engine, ...],
    jobs: int | None,
    dask: str | None,
    json_: bool,
) -> None:
    """Evaluate controllers by the criteria of RFC 9743 (BCP 133), sections 5 to 7.

    Each criterion is met, not met or undecided, by scenarios with expectations, or not evidenced
    here, with the reason. CC is a controller, or one with parameters (fhstcp:c=20). With --suite
    tcpeval it is the Common TCP Evaluation Suite (draft-irtf-iccrg-tcpeval-01): six links at three
    loads, delay against throughput, ramp-up, transients, the impact on standard TCP, fairness, and
    several bottlenecks. docs/evaluate.md lists the scenarios, the bounds and the tests.
    """
    from fairhaul.studies.evaluation import SUITES

    options: dict[str, Any] = {"quick": quick, "seeds": seeds, "jobs": jobs}
    if suite == TCPEVAL:
        if engines != ("sim",):
            raise click.UsageError(
                f"--suite {TCPEVAL} runs in the simulator alone, because no other engine plays "
                "connection vectors: leave --engine out"
            )
        folder = None if out is None else out / "scenarios"
        options |= {"only": only, "vectors": vectors, "folder": folder}
    elif only or vectors:
        given = "--only" if only else "--vectors"
        raise click.UsageError(f"{given} is an option of --suite {TCPEVAL}")
    elif quick and seeds is not None:
        raise click.UsageError("--quick is 5 seeds, and --seeds another number: give one of them")
    else:
        options["engines"] = engines
    keeping = kept_in(None if out is None else out / "runs", dask)
    with progress() as on_progress:
        done = SUITES[suite](controllers, keeping=keeping, on_progress=on_progress, **options)
    page = None if out is None else _write(done, out)
    if json_:
        show.as_json(done.to_dict())
        return
    if page is not None:
        click.echo(f"Report: {page}")
    show_evaluation(done)


def _write(done: Evaluation | SuiteResult, out: Path) -> Path:
    import json

    from fairhaul.files.files import replace
    from fairhaul.studies.evaluation import Evaluation, copy_scenarios, report
    from fairhaul.studies.tcpeval import report as suite_report

    out.mkdir(parents=True, exist_ok=True)
    replace(out / "evaluation.json", (json.dumps(done.to_dict(), indent=1) + "\n").encode())
    if not isinstance(done, Evaluation):
        return suite_report.write(done, out)
    copy_scenarios(out)
    return report.write(done, out)


def show_evaluation(done: Evaluation | SuiteResult) -> None:
    """Print the verdicts and each row that is not met; of the suite, a table for each test."""
    from fairhaul.studies.evaluation import Evaluation

    show.parts(_verdicts(done) if isinstance(done, Evaluation) else _tables(done))


def _verdicts(done: Evaluation) -> Iterator[Grid | str]:
    from fairhaul.studies.evaluation import words
    from fairhaul.studies.expectations import MET

    title = f"Evaluation by RFC 9743, {done.seeds} seeds"
    yield show.table(title, words.overview_columns(done), words.overview(done), words=3)
    for name in done.controllers:
        for row in done.rows:
            if (found := row.found[name]).verdict != MET:
                yield (
                    f"{row.label}, {name}: {found.verdict}. Expected: {row.expectation.what} "
                    f"({row.expectation.bound()}). Measured: {found.text()}."
                )
    yield words.answer(done)


def _tables(done: SuiteResult) -> Iterator[Grid | str]:
    from fairhaul.studies.tcpeval import report, suite

    for name, rows in done.rows.items():
        test = suite().tests[name]
        columns = [column for column in test.columns if not column.detail]
        cells = [row.cells(columns) for row in rows]
        yield show.table(test.title, test.heads(columns), cells, words=len(test.points) + 1)
    yield from report.method(done)
    yield report.answer(done)


__all__ = ["evaluate", "show_evaluation"]

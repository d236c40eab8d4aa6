"""The command `advise`: which controller for a transfer, and the commands to use it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul._core import ScenarioError
from fairhaul.cli import show
from fairhaul.cli.click_ext import Command
from fairhaul.cli.progress import progress
from fairhaul.cli.run import dask_option, jobs_option, json_option, kept_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.host.deployable import Way
    from fairhaul.studies.advice.tournament import Advice


@click.command(
    cls=Command,
    example="fairhaul advise --rate 10Gbit/s --rtt 80ms --size 1TB --cross 4xcubic",
)
@click.option("--rate", default="", metavar="RATE", help="Rate of the bottleneck, e.g. 10Gbit/s.")
@click.option("--rtt", default="", metavar="TIME", help="Round-trip time, e.g. 80ms.")
@click.option(
    "--size", default="1TB", show_default=True, metavar="SIZE", help="Size of the transfer."
)
@click.option(
    "--buffer",
    metavar="LIMIT",
    help="Buffer of the bottleneck, e.g. 20ms or 1bdp; half to twice of it is tried. Unknown: "
    "0.05 to 2 bdp.",
)
@click.option(
    "--policer",
    metavar="SIZE",
    help="A policer drops what exceeds --rate, with a token bucket of this size, e.g. 1MB; half "
    "to twice of it is tried.",
)
@click.option(
    "--cross",
    metavar="NxCC",
    help="Competing flows, e.g. 4xcubic; half to twice as many are tried. Unknown: 1 to 8 cubic.",
)
@click.option(
    "--loss",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="Probability of random loss; a third to three times of it is tried. Unknown: 0 to 1e-5.",
)
@click.option(
    "--from",
    "from_",
    type=click.File(),
    metavar="FILE",
    help="Output of `ss -ti dst ADDRESS` during a transfer (- for standard input). Rate, "
    "round-trip time and loss are read from it if they are not given.",
)
@click.option(
    "--harm",
    type=click.FloatRange(0, 1),
    default=0.25,
    show_default=True,
    metavar="PART",
    help="Part of their goodput that competing flows may lose at most, compared with what they "
    "have beside one cubic flow.",
)
@click.option("--any", "every", is_flag=True, help="Also try controllers that this host lacks.")
@click.option(
    "--only", multiple=True, metavar="CC", help="Try this candidate, e.g. 4xcubic; may be repeated."
)
@click.option(
    "--budget",
    default="5min",
    show_default=True,
    metavar="TIME",
    help="Processor time that all runs together may cost.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write report.html and its figures into this directory, and keep the runs in it.",
)
@jobs_option
@dask_option
@json_option
def advise(
    from_: Any,
    harm: float,
    every: bool,
    only: tuple[str, ...],
    out: Path | None,
    json_: bool,
    **how: Any,
) -> None:
    """Say which controller suits a transfer, with the commands.

    The controllers that this host can use compete over 12 settings of what is not known of the
    path: its buffer, the competing flows and the loss. The advice is the fastest candidate that
    leaves enough to the competing flows. All candidates are simulated with fq on the sender, as the
    commands set it. A second of the budget is 2.5 million packets.
    """
    from fairhaul.host.deployable import ways
    from fairhaul.studies import advice
    from fairhaul.studies.advice import tournament, words

    found = ways()
    names = list(only) or words.candidates(found, every, tournament.CANDIDATES)
    seen = from_.read() if from_ else None
    keeping = kept_in(None if out is None else out / "runs", how.pop("dask"))
    jobs = how.pop("jobs")
    question, known = advice.read_path(names, seen, ways=found, **how)
    with progress() as on_progress:
        done = advice.advise(
            question,
            known,
            most_harm=harm,
            jobs=jobs,
            on_progress=on_progress,
            keeping=keeping,
        )
    if json_:
        commands = [command for _, command in words.commands(done, found) if command]
        show.as_json(done.to_dict() | {"commands": commands})
    else:
        _show(done, found)
    sys.stdout.flush()
    if out is not None:
        from fairhaul.studies.advice.report import write

        click.echo(f"Report: {write(done, found, out)}", err=json_)


def _show(done: Advice, found: Mapping[str, Way]) -> None:
    from fairhaul.studies.advice import words
    from fairhaul.text.durations import duration_text

    screen = show.console()
    screen.print(words.answer(done))
    screen.print(words.neighbours(done))
    screen.print(words.simulated(done))
    rows = [words.row(entry, done) for entry in done.entries]
    screen.print(show.table("The final, over 12 settings", words.COLUMNS, rows))
    for line in (*words.certainty(done), words.excluded(done), *done.changes):
        if line:
            screen.print(line)
    slower = [name for name in done.first if name not in {e.name for e in done.entries}]
    if slower:
        screen.print(f"Slower, or more harmful, in the first round: {', '.join(slower)}.")
    length, count = duration_text(done.duration_s), len(done.settings)
    screen.print(
        f"Each run of the final lasts {length}, over {count} settings. Drawn for each setting: "
        f"{done.known.text()}."
    )
    screen.print("Commands:")
    for what, command in words.commands(done, found):
        screen.print(f"  # {what}", soft_wrap=True)
        if command:
            screen.print(f"  {command}", soft_wrap=True)


__all__ = ["ScenarioError", "advise"]

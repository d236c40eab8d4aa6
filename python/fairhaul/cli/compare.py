"""The command `compare`: controllers over one bottleneck, as tables and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command
from fairhaul.cli.engines import engine_option, kernel_option
from fairhaul.cli.progress import progress
from fairhaul.cli.run import (
    controller_option,
    dask_option,
    jobs_option,
    json_option,
    kept_in,
    store_option,
)
from fairhaul.results.figure_rows import linux_sender_line
from fairhaul.scenario.engines import FACTS

if TYPE_CHECKING:
    from pathlib import Path

    from fairhaul.scenario.engines import Engine
    from fairhaul.studies.comparison import Comparison
    from fairhaul.studies.comparison.question import Question


@click.command(
    cls=Command,
    example="fairhaul compare fhstcp reno --rate 622Mbit/s --rtt 80ms,200ms --buffer 20ms",
)
@click.argument(
    "controllers", nargs=-1, required=True, metavar="CC...", shell_complete=words.controllers
)
@controller_option
@click.option("--rate", default="", metavar="RATE", help="Rate of the bottleneck, e.g. 622Mbit/s.")
@click.option(
    "--rtt",
    default="",
    metavar="TIME,...",
    help="Round-trip times, e.g. 80ms,200ms; one flow for each.",
)
@click.option(
    "--buffer",
    default="",
    metavar="LIMIT",
    help="Buffer of the bottleneck, e.g. 20ms, 1bdp or '100 packets'.",
)
@click.option(
    "--size", default="1TB", show_default=True, help="Transfer whose completion time is computed."
)
@click.option("--against", metavar="NxCC", help="Competing flows, e.g. 4xreno.")
@click.option(
    "--profile",
    metavar="NAME",
    help="Sender of all flows: plain or linux; by default linux for BBR, plain for others.",
)
@click.option(
    "--pacing",
    metavar="NAME",
    help="Pacing by the hosts of all CC: fq, as Linux with this queue, or quic; by default none.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="Run each case with N seeds. A ranking requires at least 5.",
)
@click.option(
    "--budget",
    default="2min",
    show_default=True,
    metavar="TIME",
    help="Processor time that all runs together may cost.",
)
@click.option(
    "--duration",
    metavar="TIME",
    help="Duration of each run, instead of a budget.",
)
@store_option
@jobs_option
@dask_option
@engine_option(("sim", "linux"))
@kernel_option
@json_option
def compare(
    json_: bool,
    seeds: int,
    jobs: int | None,
    engine: Engine,
    out: Path | None,
    dask: str | None,
    controllers: tuple[str, ...],
    **path: Any,
) -> None:
    """Compare congestion controllers over one bottleneck.

    The results are shares, Jain's index, harm to competing flows, and completion times. CC is a
    controller, a controller with parameters (fhstcp:c=20), or parallel TCP (4xreno). The runs last
    until every flow has had 20 loss events and 200 round trips, if the budget allows it; otherwise
    there is no ranking. A second of the budget is 2.5 million packets, on every machine, and 50,000
    with --engine linux.
    """
    from fairhaul.studies.comparison import compare_read
    from fairhaul.studies.comparison.question import read_question

    question = read_question(controllers, **path)
    with progress() as on_progress:
        done = compare_read(
            question,
            seeds=seeds,
            jobs=jobs,
            on_progress=on_progress,
            engine=engine,
            keeping=kept_in(out, dask),
        )
    if json_:
        show.as_json(done.to_dict())
    else:
        show_comparison(done)


def show_comparison(done: Comparison) -> None:
    """Print the tables of a comparison, its answer, and notes on both."""
    from fairhaul.statistics.estimate import legend
    from fairhaul.studies.comparison.tables import paced_line, tables_of
    from fairhaul.text.durations import duration_text

    screen = show.console()
    for table in tables_of(done):
        screen.print(table)
    screen.print(done.answer)
    how = "one seed" if done.seeds == 1 else f"{done.seeds} seeds"
    if done.engine != "sim":
        how += f", in {FACTS[done.engine].title}"
    length, warmup = duration_text(done.duration_s), duration_text(done.warmup_s)
    screen.print(
        f"Each run lasts {length}; the first {warmup} are not measured; {how}. The share of a flow "
        "is its part of the goodput of all flows of its controller."
        + ("" if done.seeds == 1 else f" {legend(done.seeds)}")
    )
    question = done.question
    transports = list(question.controllers.values())
    if question.others is not None:
        transports.append(question.others.transport)
    kinds = (str(transport.controller["kind"]) for transport in transports)
    if not FACTS[done.engine].kernel and (line := linux_sender_line(kinds)):
        screen.print(line)
    screen.print(paced_line(question))
    screen.print(_deployable(question))
    screen.print(
        "A completion time is the size over the measured goodput, without slow start; a time "
        "longer than the run is extrapolated."
    )
    if done.question.others is not None:
        screen.print(f"harm = {done.to_dict()['harm_is']} [WARE 2019, with another reference].")


def _deployable(question: Question) -> str:
    """Say which of the controllers the kernel of this host has, or can be given, and how."""
    from fairhaul.host.deployable import Way, has_kernel, install_command, pacing_command, ways
    from fairhaul.host.process import Refused
    from fairhaul.scenario.transport import controller_of

    if not has_kernel():
        return "This host has no Linux kernel, so none of the controllers can be deployed here."
    found, each = ways(), {}
    for text, transport in question.controllers.items():
        controller, name = transport.controller, controller_of(text)
        way = found.get(str(controller["kind"]), Way.NONE)
        if way is Way.PORT:
            try:
                each[name] = (
                    f"can be installed by `{install_command(controller, question.profile)}`"
                )
            except Refused as refused:
                each[name] = f"cannot be installed as simulated ({refused})"
        else:
            has_keys = way is Way.KERNEL and len(controller) > 1
            each[name] = way.value + ", with its own parameters" * has_keys
    host = f"On this host: {', '.join(f'{name} {what}' for name, what in each.items())}."
    if question.pacing is None:
        return host
    try:
        return f"{host} `{pacing_command(question.pacing)}` makes its senders pace as simulated."
    except Refused as refused:
        return f"{host} Its senders cannot pace as simulated ({refused})."

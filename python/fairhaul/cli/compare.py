"""The command `compare`: controllers over one bottleneck, as tables and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import words
from fairhaul.cli.click_ext import Command, option
from fairhaul.cli.engines import engine_option, kernel_option
from fairhaul.cli.options import controller_option, flows_profile_option, stacks_option
from fairhaul.cli.study import Work, study

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine


@click.command(
    cls=Command,
    example="fairhaul compare fhstcp reno --rate 622Mbit/s --rtt 80ms,200ms --buffer 20ms",
)
@click.argument("controllers", nargs=-1, metavar="[CC]...", shell_complete=words.controllers)
@stacks_option("compared")
@controller_option
@option("--rate RATE", "Rate of the bottleneck, e.g. 622Mbit/s.", default="")
@option("--rtt TIME,...", "Round-trip times, e.g. 80ms,200ms; one flow for each.", default="")
@option("--buffer LIMIT", "Buffer of the bottleneck, e.g. 20ms, 1bdp or '100 packets'.", default="")
@option("--size", "Transfer whose completion time is computed.", default="1TB")
@option("--against NxCC", "Competing flows, e.g. 4xreno.")
@flows_profile_option
@option(
    "--pacing NAME",
    "Pacing by the hosts of all CC: fq, as Linux with this queue, or quic; by default none. Stacks "
    "pace by themselves.",
)
@option(
    "--mtu BYTES",
    "Size of packets, e.g. 9000: with larger ones, longer runs fit the budget. By default 1000, "
    "and with --stack 1500.",
    type=click.IntRange(576, 64000),
)
@option(
    "--seeds N",
    "Run each case with N seeds. A ranking requires at least 5.",
    type=click.IntRange(min=1),
    default=5,
)
@option("--budget TIME", "Processor time that all runs together may cost.", default="2min")
@option("--duration TIME", "Duration of each run, instead of a budget.")
@engine_option(("sim", "linux"))
@kernel_option
@study("compare")
def compare(
    controllers: tuple[str, ...], seeds: int, engine: Engine, work: Work, **path: Any
) -> None:
    """Compare congestion controllers and transport stacks over one bottleneck.

    The results are shares, Jain's index, harm to competing flows, and completion times. CC is a
    controller, a controller with parameters (fhstcp:c=20), or parallel TCP (4xreno); --stack names
    a transport stack, which takes its place. The runs last
    until every flow has had 20 cycles (loss events, or probes of its controller without a loss) and
    200 round trips, if the budget allows it; otherwise there is no ranking. A second of the budget
    is 2.5 million packets, on every machine, and 50,000 with --engine linux; a packet of a stack
    counts as ten.
    """
    from fairhaul.jobs.values import Running
    from fairhaul.studies.comparison import compare_read
    from fairhaul.studies.comparison.question import read_question

    if not controllers and not path["stacks"]:
        raise compare.misses("CC...")
    question = read_question(controllers, **path)
    with work.options() as options:
        done = compare_read(question, Running.of(options), seeds=seeds, engine=engine)
    work.tell(done)

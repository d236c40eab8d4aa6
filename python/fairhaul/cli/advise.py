"""The command `advise`: which controller for a transfer, and the commands to use it."""

from __future__ import annotations

from typing import Any

import click

from fairhaul.cli.click_ext import Command
from fairhaul.cli.study import Work, study


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
@study("advise")
def advise(from_: Any, only: tuple[str, ...], work: Work, **how: Any) -> None:
    """Say which controller suits a transfer, with the commands.

    The controllers that this host can use compete over 12 settings of what is not known of the
    path: its buffer, the competing flows and the loss. The advice is the fastest candidate that
    leaves enough to the competing flows. All candidates are simulated with fq on the sender, as the
    commands set it. A second of the budget is 2.5 million packets.
    """
    from fairhaul.studies.advice import advise as advised

    with work.options() as options:
        done = advised(only, observed=from_.read() if from_ else None, **how, **options)
    work.tell(done)

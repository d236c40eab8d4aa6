"""The command `advise`: what to change about the hosts of a transfer, with the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fairhaul.cli.click_ext import Command, flag, option
from fairhaul.cli.options import spooled
from fairhaul.cli.study import Work, study


@click.command(
    cls=Command,
    example="fairhaul advise --rate 10Gbit/s --rtt 80ms --size 1TB --cross 4xcubic",
)
@option("--rate RATE", "Rate of the bottleneck, e.g. 10Gbit/s.", default="")
@option("--rtt TIME", "Round-trip time, e.g. 80ms.", default="")
@option("--size SIZE", "Size of the transfer.", default="1TB")
@option(
    "--buffer LIMIT",
    "Buffer of the bottleneck, e.g. 20ms or 1bdp; half to twice of it is tried. Unknown: "
    "0.05 to 2 bdp.",
)
@option(
    "--policer SIZE",
    "A policer drops what exceeds --rate, with a token bucket of this size, e.g. 1MB; half "
    "to twice of it is tried.",
)
@option(
    "--cross NxCC",
    "Competing flows, e.g. 4xcubic; half to twice as many are tried; or none. Unknown: 1 to 8 "
    "cubic, and none where a capture shows that nothing else passes its policer.",
)
@option(
    "--loss P",
    "Probability of random loss; a third to three times of it is tried. Unknown: 0 to 1e-5.",
    type=click.FloatRange(0, 1),
)
@option(
    "--now NxCC",
    "Controller and connections in use, e.g. bbr or 4xcubic. Default: what was read, or one "
    "connection of cubic.",
)
@option(
    "--buffers SIZE",
    "Largest socket buffers of both hosts now, e.g. 64MB. Default: what was read, the send buffer "
    "of this host, and the receive buffer of Linux.",
)
@option(
    "--mtu BYTES",
    "Size of packets now.",
    type=click.IntRange(576, 64000),
    default=1500,
)
@option(
    "--from FILE",
    "Output of `ss -ti dst ADDRESS` during a transfer, the JSON of iperf3, or another file that "
    "`explain` reads, such as a packet capture (- for standard input). What is not given of the "
    "path is read from it.",
    name="from_",
    type=click.Path(path_type=Path, exists=True, allow_dash=True, dir_okay=False),
)
@option(
    "--harm PART",
    "Part of their goodput that competing flows may lose at most, compared with what they "
    "have beside one cubic flow.",
    type=click.FloatRange(0, 1),
    default=0.25,
)
@flag("--any", "Also try controllers that this host lacks.", name="every")
@option(
    "--only CHANGE",
    "Try this change: buffers, fq, maxrate, streams, packets, or a controller, e.g. bbr or "
    "4xcubic; may be repeated.",
    multiple=True,
)
@option("--budget TIME", "Processor time that all runs together may cost.", default="5min")
@study("advise")
def advise(from_: Path | None, only: tuple[str, ...], work: Work, **how: Any) -> None:
    """Say what to change about a transfer's hosts, with the commands.

    The hosts as they are compete with each change that an operator can make (larger buffers,
    pacing, a rate limit, 1 to 16 streams, large packets, another controller), and the best one with
    others, over 12 settings of what is not known of the path: its buffer, the competing flows and
    the loss. A further change, or an eBPF port, is recommended only if it makes the transfer 5 %
    faster beyond chance and leaves enough to the competing flows. A second of the budget is 2.5
    million packets, or more where hosts send them in bursts.
    """
    from fairhaul.studies.advice import advise as advised

    with work.options() as options, spooled([] if from_ is None else [str(from_)]) as names:
        observed = Path(names[0]) if names else None
        done = advised(only, observed=observed, **how, **options)
    work.tell(done)

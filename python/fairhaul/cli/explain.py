"""The command `explain`: what limited the connections in a file, and their path."""

from __future__ import annotations

from pathlib import Path

import click

from fairhaul.cli.click_ext import Command, flag, option
from fairhaul.cli.options import spooled
from fairhaul.cli.study import Work, say, study


@click.command(cls=Command, example="fairhaul explain transfer.pcap")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@option(
    "--scenario PATH",
    "Write the path and its connections as a scenario, which run, compare and attack take.",
    name="scenario",
    type=click.Path(path_type=Path, dir_okay=False),
)
@flag(
    "--what-if",
    "Simulate the path as it is and with single changes, and say what each would bring; it takes "
    "some seconds.",
    name="what_if",
)
@flag("--anonymous", "Replace addresses by host-1, host-2 and so on.")
@study("explain")
def explain(
    files: tuple[str, ...], scenario: Path | None, *, what_if: bool, anonymous: bool, work: Work
) -> None:
    """Say what limited the connections in a file, and estimate their path.

    FILE is a packet capture (pcap or pcapng), the qlog of a sender, the output of `ss -tin`, once
    or as a series, or of `iperf3 --json`; it may be compressed. Or it is the directory that
    `fairhaul flows --record` wrote, or a file of it. The format is recognised by the content; - is
    the standard input. Nothing is sent anywhere.
    """
    from fairhaul.files.files import replace as write_file
    from fairhaul.studies.explanation import explain as explained

    with work.options() as options, spooled(files) as names:
        done = explained(names, anonymous=anonymous, what_if=what_if, **options)
    text = done.scenario() if scenario is not None else ""
    work.tell(done)
    if scenario is not None:
        write_file(scenario, text.encode())
        say(f"wrote {scenario}")

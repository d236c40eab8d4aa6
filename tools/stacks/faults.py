"""`python -m tools.stacks.faults`: whether verdicts tell releases with a known fault from others.

The releases are libraries of `make stack-faults`, and those of `make stacks` by their names.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from fairhaul.studies.expectations import MET, NOT_MET, Judged, Verdict
from fairhaul.studies.expectations.checking import check
from fairhaul.studies.expectations.stack_cases import FOLDER, stack_setting
from tools import ROOT

BUILT = ROOT / "stacks" / "releases" / "built"
OWN = Path(__file__).parent / "scenarios"


class Fault(NamedTuple):
    """An expectation that releases with a fault do not meet, and others do."""

    what: str
    tracker: str
    scenario: Path
    place: int
    """The place of the expectation in its scenario."""
    verdicts: dict[str, Verdict]
    """What is known of releases, with their settings behind them as for `--stack`."""


FAULTS = (
    Fault(
        "CUBIC below the last maximum multiplies by 0.7 and by 0.85",
        "quinn-rs/quinn 2640; noq 4cfbafa",
        FOLDER / "cubic-beta.toml",
        0,
        {
            "quinn-0.11.14": NOT_MET,
            "quinn-0.11.15": MET,
            "quinn": MET,
            "noq-1.0.1": NOT_MET,
            "noq-1.1.0": MET,
            "noq": MET,
        },
    ),
    Fault(
        "BBRv3's bound of what is in flight underflows on a loss",
        "n0-computer/noq 768, 785",
        OWN / "random-loss.toml",
        0,
        {
            "noq-1.1.0:controller=bbr3": NOT_MET,
            "noq-1.2.0:controller=bbr3": MET,
            "noq:controller=bbr3": MET,
            "noq-1.1.0": MET,
        },
    ),
    Fault(
        "the window bounds a segment and not what is in flight",
        "smoltcp-rs/smoltcp 1154",
        OWN / "transfer.toml",
        0,
        {"smoltcp-0.13.1": NOT_MET, "smoltcp": MET, "quinn": MET},
    ),
    Fault(
        "a fast retransmit sends the whole buffer",
        "smoltcp-rs/smoltcp 1155",
        OWN / "transfer.toml",
        1,
        {"smoltcp-0.13.1": NOT_MET, "smoltcp": MET, "quinn": MET},
    ),
    Fault(
        "the time between timeouts does not stay doubled",
        "smoltcp-rs/smoltcp 1023",
        FOLDER / "timeouts.toml",
        0,
        {"smoltcp-0.12.0": NOT_MET, "smoltcp-0.13.1": MET, "smoltcp": MET, "quinn": MET},
    ),
    Fault(
        "the retransmission timer does not start anew with an acknowledgement",
        "smoltcp-rs/smoltcp 1018",
        FOLDER / "long-path.toml",
        0,
        {"smoltcp-0.12.0": NOT_MET, "smoltcp-0.13.1": MET, "smoltcp": MET, "quinn": MET},
    ),
    Fault(
        "losses that one acknowledgement reports are mistaken for a smaller MTU",
        "quinn-rs/quinn 2791",
        FOLDER / "mtu-losses.toml",
        0,
        {
            "quinn-0.11.14": NOT_MET,
            "quinn-0.11.17": NOT_MET,
            "quinn": MET,
            "noq-1.1.0": NOT_MET,
            "noq": MET,
        },
    ),
    Fault(
        "reassembly counts contiguous chunks as gaps",
        "quinn-rs/quinn 2809",
        OWN / "one-lost.toml",
        0,
        {
            "quinn-0.11.15": MET,
            "quinn-0.11.17": NOT_MET,
            "quinn": MET,
            "noq-1.3.0:stream_receive_window=16777216": MET,
            "noq:stream_receive_window=16777216": NOT_MET,
        },
    ),
    Fault(
        "more than 1024 gaps close the connection",
        "quinn-rs/quinn 2694",
        OWN / "many-lost.toml",
        0,
        {"quinn-0.11.15": MET, "quinn": NOT_MET},
    ),
    Fault(
        "CUBIC's epoch includes idle time",
        "found here",
        FOLDER / "idle.toml",
        0,
        {
            "quinn": NOT_MET,
            "noq": NOT_MET,
            "quinn:controller=newreno": MET,
            "noq:controller=newreno": MET,
        },
    ),
    Fault(
        "BBR's initial window is 200 datagrams",
        "found here",
        FOLDER / "initial-window.toml",
        0,
        {"quinn:controller=bbr": NOT_MET, "quinn": MET, "noq:controller=bbr3": MET},
    ),
    Fault(
        "the sender ignores SACK",
        "smoltcp-rs/smoltcp 256, 1195",
        OWN / "five-lost.toml",
        0,
        {"smoltcp": NOT_MET, "quinn": MET, "noq": MET},
    ),
    Fault(
        "BBR ignores marks, although it sends ECT(0)",
        "found here",
        FOLDER / "marks.toml",
        0,
        {"quinn:controller=bbr": NOT_MET, "quinn": MET, "noq": MET, "noq:controller=bbr3": MET},
    ),
    Fault(
        "BBR never forgets the smallest round-trip time",
        "found here",
        FOLDER / "rtt-rises.toml",
        0,
        {"quinn:controller=bbr": NOT_MET, "quinn": MET, "noq:controller=bbr3": MET},
    ),
    Fault(
        "BBR ignores persistent congestion",
        "found here",
        FOLDER / "outage.toml",
        1,
        {
            "quinn:controller=bbr": NOT_MET,
            "quinn": MET,
            "quinn:controller=fairhaul-bbr3": MET,
        },
    ),
    Fault(
        "persistent congestion lowers CUBIC's threshold twice",
        "found here",
        FOLDER / "outage.toml",
        3,
        {
            "quinn": NOT_MET,
            "noq": NOT_MET,
            "quinn:controller=newreno": MET,
            "noq:controller=newreno": MET,
        },
    ),
    Fault(
        "the window grows while the application leaves it unused",
        "found here",
        FOLDER / "app-limited.toml",
        0,
        {
            "smoltcp": NOT_MET,
            "smoltcp:controller=reno": NOT_MET,
            "quinn": MET,
            "noq": MET,
        },
    ),
    Fault(
        "CUBIC grows above the last maximum by 0.53 packets in a round trip, and not by one",
        "found here; the same in microsoft/msquic 2265",
        FOLDER / "growth-short.toml",
        1,
        {
            "quinn": NOT_MET,
            "noq": NOT_MET,
            "quinn:controller=newreno": MET,
            "noq:controller=newreno": MET,
        },
    ),
    Fault(
        "CUBIC adds the distance to Reno's window at every acknowledgement",
        "found here",
        FOLDER / "rtt-falls.toml",
        0,
        {"noq": NOT_MET, "noq:controller=newreno": MET, "quinn": MET},
    ),
    Fault(
        "BBRv3 counts a mark as a loss of no bytes",
        "found here",
        FOLDER / "marks-all.toml",
        0,
        {
            "noq:controller=bbr3": NOT_MET,
            "noq:controller=fairhaul-bbr3": MET,
            "noq": MET,
        },
    ),
    Fault(
        "BBRv3 forgets its rate after two rounds between probes",
        "found here; the same in aws/s2n-quic 1698",
        OWN / "bbr-alone.toml",
        0,
        {"noq:controller=bbr3": NOT_MET, "noq:controller=fairhaul-bbr3": MET},
    ),
)


class Row(NamedTuple):
    """A release, and what was found for a fault of it."""

    fault: Fault
    release: str
    judged: Judged
    is_first: bool

    def has_flipped(self) -> bool:
        """Whether the verdict is another one than is known."""
        return self.judged.verdict != self.fault.verdicts[self.release]

    def text(self) -> str:
        """Give the row of the table."""
        mean = "none" if self.judged.estimate is None else f"{self.judged.estimate.mean:.3g}"
        fault = f"{self.fault.what} ({self.fault.tracker})" if self.is_first else ""
        verdict = f"**{NOT_MET}**" if self.judged.verdict == NOT_MET else self.judged.verdict
        return f"| {fault} | {self.release} | {mean} | {verdict} |"


def rows(only: str = "") -> Iterator[Row]:
    """Judge each release by the expectation of each fault of which `only` is a part."""
    for fault in FAULTS:
        if only not in fault.what:
            continue
        for release in fault.verdicts:
            name, colon, settings = release.partition(":")
            library = str(BUILT / f"lib{name}.so") if "-" in name else name
            key, value = stack_setting(f"{library}{colon}{settings}")
            done = check(fault.scenario, {key: _typed(value)}, seeds=5)
            judged = done.cases[0].expectations[fault.place].by["sim"]
            yield Row(fault, release, judged, release == next(iter(fault.verdicts)))


def _typed(value: str) -> object:
    return tomllib.loads(f"x = {value}")["x"]


@click.command()
@click.option("--only", default="", help="Only faults whose text has this part.")
def main(only: str) -> None:
    """Print a table of the known faults, and fail if a verdict is not the known one."""
    click.echo("| fault | release | number, mean | verdict |\n|---|---|---|---|")
    other = 0
    for row in rows(only):
        click.echo(row.text())
        if row.has_flipped():
            click.echo(f"{row.release}: known is {row.fault.verdicts[row.release]}", err=True)
            other += 1
    sys.exit(other > 0)


if __name__ == "__main__":
    main()

"""Compare queues and L4S with what others have measured: `python -m tools.l4s --help`."""

from __future__ import annotations

import click

from fairhaul.cli.options import jobs_option
from fairhaul.cli.progress import progress
from fairhaul.jobs.values import Running
from tools.l4s import ROOT, cells, ns3, plan
from tools.l4s.kernel import QUEUES, both


@click.group()
def main() -> None:
    """Compare with the public L4S tests, a study with ns-3, or queues of the kernel."""


@main.command()
def published() -> None:
    """Print every cell of the public L4S tests: the published ratio of both flows, and ours."""
    found = cells(list(plan()))
    for cell in found:
        word = "" if cell.is_within else "  beyond"
        click.echo(f"{cell.what:66} {cell.published:8.2f} {cell.measured:8.2f}{word}")
    click.echo(f"{sum(cell.is_within for cell in found)} of {len(found)} within the spread")


@main.command()
def kernel() -> None:
    """Print what three flows get through our queues, and through those of the kernel in Linux."""
    for name in QUEUES:
        ours, theirs = both(name)
        click.echo(f"{name:10} {ours.text()}")
        click.echo(f"{'':10} {theirs.text()} (Linux)")


@main.command("ns3")
@click.option("--seeds", type=click.IntRange(min=1), default=30, show_default=True)
@jobs_option
def of_ns3(seeds: int, jobs: int | None) -> None:
    """Print what Prague and CUBIC have in the dual queue of a study with ns-3, and in ours.

    Results are kept in out/l4s, so that an interrupted command goes on where it ended.
    """
    with progress("ns3") as on_progress:
        running = Running(out=ROOT / "out" / "l4s", jobs=jobs, on_progress=on_progress)
        lines = list(ns3.report(seeds, running))
    click.echo("\n".join(lines))


if __name__ == "__main__":
    main()

"""Compare queues and L4S with what others have measured: `python -m tools.l4s --help`."""

from __future__ import annotations

import click

from tools.l4s import cells, plan
from tools.l4s.kernel import QUEUES, both


@click.group()
def main() -> None:
    """Compare with the public L4S tests, or with queues of the kernel."""


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


if __name__ == "__main__":
    main()

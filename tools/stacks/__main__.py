"""`python -m tools.stacks`: whether the runs of all stacks and controllers repeat."""

from __future__ import annotations

import sys

import click

from tools.stacks.repeat import STACKS, Case, differences


@click.command()
@click.option("--count", type=click.IntRange(min=1), default=200, help="Scenarios of each.")
def main(count: int) -> None:
    """Run drawn scenarios of each stack and controller in two processes."""
    failed = False
    for stack, controller in STACKS:
        settings = {"controller": controller}
        found = differences([Case(stack, settings, number) for number in range(count)])
        click.echo(f"{stack} {controller}: {count - len(found)} of {count} scenarios are the same")
        for difference in found:
            click.echo(f"  {difference}")
        failed |= bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()

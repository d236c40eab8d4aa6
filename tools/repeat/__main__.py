"""`python -m tools.repeat`: whether runs in Linux repeat, and what stopped runs leave."""

from __future__ import annotations

import json
import sys

import click

from fairhaul.cli.progress import progress
from tools.repeat import repeated


@click.group(invoke_without_command=True)
@click.option("--count", type=click.IntRange(min=1), default=200, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the scenarios.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of runs at a time; by default one per core."
)
@click.pass_context
def main(context: click.Context, count: int, seed: int, jobs: int | None) -> None:
    """Draw scenarios, run each twice, and name those whose records differ."""
    if context.invoked_subcommand is not None:
        return
    with progress("repeat") as on_progress:
        done = repeated(count, seed, jobs=jobs, on_progress=on_progress)
    for one in done:
        if not one.is_same:
            click.echo(f"differs: {one.found}: {json.dumps(one.scenario)}")
    failed = [one for one in done if any(text.startswith("failed") for text in one.found)]
    for one in failed:
        click.echo(f"{one.found[0]}: {json.dumps(one.scenario)}")
    same = sum(one.is_same for one in done)
    kinds = len({one.found[0] for one in done})
    click.echo(f"{same} of {count} scenarios gave the same record twice; {kinds} different records")
    sys.exit(0 if same == count and not failed else 1)


@main.command("kills")
@click.option("--count", type=click.IntRange(min=1), default=30, show_default=True)
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Of what is stopped, and when."
)
@click.option("--first", type=int, default=0, show_default=True, help="Number of the first trial.")
def stop(count: int, seed: int, first: int) -> None:
    """Stop runs at drawn moments, and name what they leave and what they report wrongly."""
    from fairhaul import linux
    from tools.repeat import kills

    program = linux.program()
    wrong = 0
    for number in range(first, first + count):
        done = kills.tried(kills.drawn(number, seed), program)
        trial = done.trial
        what = f"{number}: {trial.how.name} to the {trial.part} of {' '.join(trial.command)}"
        click.echo(f"{what}, after {trial.after_s:.2f} s: status {done.status}")
        for mistake in done.mistakes:
            click.echo(f"    {mistake}; it wrote: {done.said.strip()}")
        wrong += bool(done.mistakes)
    click.echo(f"{count - wrong} of {count} stopped runs left nothing and ended as they should")
    sys.exit(1 if wrong else 0)


main(prog_name="python -m tools.repeat")

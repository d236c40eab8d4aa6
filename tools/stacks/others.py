"""`python -m tools.stacks.others`: stacks that are heavy to build, judged and repeated.

`make stacks-others` builds the libraries. They are in neither the wheel nor the suite.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from fairhaul.studies.expectations import NOT_MET
from fairhaul.studies.expectations.checking import check
from fairhaul.studies.expectations.stack_cases import FOLDER, MINE
from tools.stacks.faults import BUILT
from tools.stacks.repeat import Case, differences

OTHERS = {"quiche": ("cubic", "reno", "bbr2"), "s2n-quic": ("cubic", "bbr")}


def library(stack: str) -> str:
    """Give the library of a stack."""
    return str(BUILT / f"lib{stack}.so")


def verdicts(seeds: int) -> Iterator[str]:
    """Give the rows of a table: each expectation of the scenarios for stacks, and its verdicts."""
    done = [check(FOLDER, {f"flow.{MINE}.stack": library(stack)}, seeds=seeds) for stack in OTHERS]
    for cases in zip(*(each.cases for each in done), strict=True):
        for of_all in zip(*(case.expectations for case in cases), strict=True):
            found = [of.by["sim"] for of in of_all]
            texts = (
                f"{judged.verdict}, {judged.estimate.mean:.3g}" if judged.estimate else "not known"
                for judged in found
            )
            what = of_all[0].expectation
            yield f"| {what.what} ({what.bound()}) | {what.source} | {' | '.join(texts)} |"


def repeated(count: int) -> Iterator[tuple[str, bool]]:
    """Say of each stack and controller whether drawn scenarios are the same in two processes."""
    for stack, controllers in OTHERS.items():
        for controller in controllers:
            cases = [
                Case(library(stack), {"controller": controller}, number) for number in range(count)
            ]
            found = differences(cases)
            same = f"{stack} {controller}: {count - len(found)} of {count} scenarios are the same"
            yield "\n  ".join([same, *map(str, found)]), bool(found)


@click.command()
@click.option("--count", type=click.IntRange(min=1), default=20, help="Scenarios of each.")
@click.option("--seeds", type=click.IntRange(min=1), default=5, help="Runs of each expectation.")
def main(count: int, seeds: int) -> None:
    """Print the verdicts, and fail if runs do not repeat."""
    failed = False
    for text, differs in repeated(count):
        click.echo(text)
        failed |= differs
    click.echo(f"| expectation | source | {' | '.join(OTHERS)} |\n|---|---|{'---|' * len(OTHERS)}")
    for row in verdicts(seeds):
        click.echo(row.replace(NOT_MET, f"**{NOT_MET}**"))
    sys.exit(failed)


if __name__ == "__main__":
    main()

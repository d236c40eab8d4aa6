"""`python -m tools.stacks.bbr`: BBR's cases with BBRv3 in noq, and the built-in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from fairhaul.studies.expectations import MET, Judged
from fairhaul.studies.expectations.bbr_cases import CASES, LARGEST, adapted
from fairhaul.studies.expectations.checking import Check, check

NOQ: Mapping[str, Any] = {"kind": "noq", **LARGEST}
WITH: Mapping[str, Mapping[str, Any]] = {
    "built-in": {"controller": "bbr3"},
    "noq, fairhaul-bbr3": {"stack": {**NOQ, "controller": "fairhaul-bbr3"}},
    "noq, bbr3": {"stack": {**NOQ, "controller": "bbr3"}},
}


def judged(sender: Mapping[str, Any], only: str) -> Check:
    """Judge the cases whose names have a part, with a sender."""
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(CASES.glob("*.toml")):
            text = adapted(file, sender)
            if only in file.stem and text:
                (Path(folder) / file.name).write_text(text)
        return check(folder, seeds=5)


def cells(of: Check) -> Iterator[tuple[str, str, Judged]]:
    """Give the case, the text and the verdict of each expectation."""
    for case in of.cases:
        for checked in case.expectations:
            yield Path(case.case.file).stem, checked.expectation.what, checked.by["sim"]


def text_of(found: Judged) -> str:
    """Give a number, and its verdict unless it is met."""
    mean = "none" if found.estimate is None else f"{found.estimate.mean:.3g}"
    return mean if found.verdict == MET else f"{mean}, **{found.verdict}**"


@click.command()
@click.option("--only", default="", help="Only cases whose names have this part.")
def main(only: str) -> None:
    """Print the means of five seeds, with the verdicts."""
    click.echo(f"| case | expectation | {' | '.join(WITH)} |\n|{'---|' * (2 + len(WITH))}")
    tables = [list(cells(judged(sender, only))) for sender in WITH.values()]
    for row in zip(*tables, strict=True):
        case, what, _ = row[0]
        click.echo(f"| {case} | {what} | {' | '.join(text_of(found) for *_, found in row)} |")
    met = [sum(found.verdict == MET for *_, found in table) for table in tables]
    click.echo(f"| | met, of {len(tables[0])} | {' | '.join(map(str, met))} |")


if __name__ == "__main__":
    main()

"""`python -m tools.explanation.controllers`: compare recognised controllers with the true ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import click

import fairhaul
from fairhaul.files import files
from fairhaul.studies.explanation import Recognised
from fairhaul.text.table import Table
from tools import ROOT
from tools.explanation.connections import RARE, USUAL, captures

OUT = ROOT / "out" / "explain"
SEED = 45
# Captures of each usual controller, and of each rare one.
EACH, EACH_RARE = 15, 1
# A controller is named at all from the first confidence on, and surely from the second one on.
NAMED, SURELY = 0.5, 0.9
BINS = (0.0, 0.5, 0.7, 0.9, 0.95, 1.01)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A capture: its controller, and what was recognised."""

    file: Path
    controller: str
    recognised: Sequence[Recognised]

    @property
    def confidence(self) -> float:
        """The confidence of the likeliest controller; 0 if none was recognised."""
        return self.recognised[0].confidence if self.recognised else 0.0

    @property
    def is_right(self) -> bool:
        """Whether the likeliest controller is the true one."""
        return bool(self.recognised) and self.recognised[0].controller == self.controller


@click.command()
def main() -> None:
    """Make captures of known controllers, recognise them, and count what is right.

    The captures are those of Linux in simulated time; they are kept in out/explain/controllers, so
    that an interrupted run continues. The tables are in out/explain/controllers.md, too.
    """
    plan = [*USUAL * EACH, *RARE * EACH_RARE]
    each = [
        Judged(
            file=file,
            controller=controller,
            recognised=fairhaul.explain(file).connections[0].recognised,
        )
        for controller, file in captures(OUT / "controllers", SEED, plan)
    ]
    text = "\n".join(_lines(each))
    files.replace(OUT / "controllers.md", text.encode())
    click.echo(text)


def _lines(each: Sequence[Judged]) -> Iterator[str]:
    usual = [of for of in each if of.controller in USUAL]
    rows = [
        *(_row(name, [of for of in each if of.controller == name]) for name in USUAL),
        _row("these four", usual),
        _row("others", [of for of in each if of.controller in RARE]),
    ]
    columns = ["captures of", "number", "named from 0.9", "right", "named from 0.5", "right"]
    yield from Table(columns=columns, rows=rows).markdown()
    yield ""
    yield from Table(
        columns=["confidence, the four", "captures", "right", "mean confidence"],
        rows=[
            _calibrated([of for of in usual if low <= of.confidence < high], low, high)
            for low, high in pairwise(BINS)
        ],
    ).markdown()
    wrong = [of for of in each if of.confidence >= NAMED and not of.is_right]
    yield ""
    for of in wrong:
        first = of.recognised[0]
        yield f"- {of.file.name}: {first.controller}, {first.confidence:.2f}"
    yield ""


def _row(what: str, each: Sequence[Judged]) -> list[str]:
    surely = [of for of in each if of.confidence >= SURELY]
    named = [of for of in each if of.confidence >= NAMED]
    counts = [len(each), len(surely), sum(of.is_right for of in surely)]
    return [what, *map(str, [*counts, len(named), sum(of.is_right for of in named)])]


def _calibrated(each: Sequence[Judged], low: float, high: float) -> list[str]:
    mean = sum(of.confidence for of in each) / len(each) if each else 0.0
    right = sum(of.is_right for of in each)
    span = f"{low:g} to {min(high, 1):g}"
    return [span, str(len(each)), str(right), f"{mean:.2f}" if each else ""]


if __name__ == "__main__":
    main()

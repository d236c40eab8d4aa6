"""`python -m tools.explanation.simulated`: what is found in captures by the simulator."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import click

from fairhaul.cli.options import jobs_option
from fairhaul.files import files
from fairhaul.jobs.store import build_of
from fairhaul.studies.explanation import of_group
from fairhaul.studies.explanation.limits import pauses_of
from fairhaul.studies.explanation.path import groups_of
from fairhaul.studies.explanation.trace import Trace, read_capture
from fairhaul.text.table import Table
from tools.explanation.__main__ import OUT
from tools.explanation.captures import LEAST_PAUSE_S, chunks
from tools.explanation.drawn_paths import Drawn, capture, draw
from tools.explanation.drawn_rows import Found, rows
from tools.explanation.halves import halves

# A chunk is what was sent between two pauses, or this much of it.
CHUNK_BYTES = 2e6


@click.command()
@click.option("--count", type=click.IntRange(min=1), default=300, show_default=True)
@click.option("--seed", type=int, default=45, show_default=True, help="Of the paths.")
@jobs_option
def main(count: int, seed: int, jobs: int | None) -> None:
    """Draw paths, simulate a transfer over each, and compare what its trace shows with the truth.

    The table is printed in Markdown, and is in out/explain/simulated.md, too. The folder beside it
    keeps captures and results, so that an interrupted call goes on.
    """
    folder = OUT / f"drawn-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    paths = draw(count, seed)
    with ProcessPoolExecutor(jobs or os.cpu_count()) as pool:
        work = partial(judged, folder=folder, by=build_of(judged))
        each = list(_shown(pool.map(work, paths), count))
    text = "\n".join(_lines(paths, each))
    files.replace(OUT / "simulated.md", text.encode())
    click.echo(text)


def judged(of: Drawn, folder: Path, by: str) -> Found:
    """Explain the capture of a path; a result of the same code is read."""
    file = folder / f"{of.number:03}.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    if kept.get("by") != by or kept.get("path") != repr(of):
        (trace,) = read_capture(capture(of, folder)).traces
        kept = {"by": by, "path": repr(of), "found": _found(trace, of)}
        files.replace(file, json.dumps(kept).encode())
    return Found.of(kept["found"])


def _found(trace: Trace, of: Drawn) -> dict[str, Any]:
    (group,) = groups_of([trace])
    (explained,) = of_group(group, {})
    split = halves([trace], of.controller)
    return {
        "path": explained.path.values(),
        "chunks": list(chunks(trace, CHUNK_BYTES)),
        "pauses": [pause for pause in pauses_of(trace) if pause[1] >= LEAST_PAUSE_S],
        "halves": None if split is None else split.values(),
    }


def _shown(each: Iterator[Found], count: int) -> Iterator[Found]:
    for number, of in enumerate(each, 1):
        click.echo(f"{number} of {count}", err=True)
        yield of


def _lines(paths: Sequence[Drawn], each: Sequence[Found]) -> Iterator[str]:
    both = list(zip(paths, each, strict=True))
    yield from Table(columns=["", "found", "of", "share %", "aim %"], rows=rows(both)).markdown()
    wrong = [of.name for of, found in both if found.is_policed != (of.cause == "policer")]
    yield from ("", *(f"- not right: {name}" for name in wrong), "")


if __name__ == "__main__":
    main()

"""An evaluation as a Markdown file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fairhaul import _core
from fairhaul.files.files import replace
from fairhaul.studies.evaluation import Evaluation, words
from fairhaul.studies.evaluation.criteria import HEADINGS


def write(done: Evaluation, path: Path) -> Path:
    """Write the file whole, and give its path."""
    replace(path, "\n".join(_lines(done)).encode())
    return path


def _lines(done: Evaluation) -> Iterator[str]:
    yield f"# Evaluation of {', '.join(done.controllers)} by RFC 9743"
    yield ""
    yield f"{words.answer(done)} Fairhaul {_core.__version__}."
    for line in words.method(done):
        yield ""
        yield line
    yield ""
    yield "Each row names its scenario, FILE, whose runs are repeated by:"
    yield ""
    yield from (f"    {command}" for command in words.commands(done))
    yield ""
    yield from _table(words.overview_columns(done), words.overview(done))
    for heading in HEADINGS:
        yield ""
        yield f"## {heading.section} {heading.title}"
        yield ""
        if heading.missing:
            yield f"Not evidenced here: {heading.missing}."
            continue
        rows = done.of(heading.section)
        yield from _table(words.columns(done), [words.row(row, done.controllers) for row in rows])
        yield ""
        yield words.sources(rows)
    yield ""


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"

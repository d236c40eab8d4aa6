"""A report as a Markdown file: the same answer, texts and tables, without figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fairhaul import _core
from fairhaul.figures.figure import Section, Table
from fairhaul.files.files import replace


def write(path: Path, title: str, answer: str, sections: Sequence[Section]) -> Path:
    """Write the file whole, and give its path."""
    lines = [f"# {title}", "", f"{answer} Fairhaul {_core.__version__}."]
    for section in sections:
        lines += ["", f"## {section.heading}", *_lines(section)]
    replace(path, "\n".join([*lines, ""]).encode())
    return path


def _lines(section: Section) -> Iterator[str]:
    for line in section.text:
        yield from ("", line)
    if section.points:
        yield ""
        for point in section.points:
            # A command may have `*`, which would emphasize a part of it.
            yield f"- `{point}`" if point.startswith("fairhaul ") else f"- {point}"
    for table in section.tables:
        if table.title:
            yield from ("", f"### {table.title}")
        yield ""
        yield from _table(table)
        for note in table.notes:
            yield from ("", note)


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(table.columns)} |"
    yield f"|{'---|' * len(table.columns)}"
    for row in table.rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"

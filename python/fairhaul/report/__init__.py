"""Reports: one HTML file that opens without a network, and its figures as SVG, PNG and PDF.

`write` lays out any question and answer; `write_report` writes the report of records of runs.
A figure is a Vega-Lite chart whose colours are names from `look.LIGHT`, as `var(--c1)`: the page
turns them light or dark, the files are always light.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from fairhaul.figures.figure import Figure, Section, Table

__all__ = ["Figure", "Section", "Table", "write", "write_report"]


def write(
    path: str | PathLike[str],
    title: str,
    question: str,
    answer: str,
    sections: Sequence[Section],
) -> Path:
    """Write the page `path`, and its figures into `figures` beside it; give the path.

    Files of an earlier report are replaced one by one, each atomically, the page last.
    """
    from fairhaul.report.page import write as write_page
    from fairhaul.report.renderer import Renderer

    with Renderer() as renderer:
        return write_page(Path(path), title, question, answer, sections, renderer)

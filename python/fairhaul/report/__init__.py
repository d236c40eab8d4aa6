"""Reports: one HTML file that opens without a network, and its figures as SVG, PNG and PDF.

`write` lays out any question and answer; `write_report` writes the report of records of runs.
A figure is a Vega-Lite chart whose colours are names from `look.LIGHT`, as `var(--c1)`: the page
turns them light or dark, the files are always light.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

__all__ = ["Figure", "Section", "Table", "write", "write_report"]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose first `words` columns are words and the rest numbers.

    `colours` puts a spot of the figures' colour before each row, `bars` a bar of a share in [0, 1].
    `groups` are the rows at which a group begins, if not every row is one; `prose`: the cells are
    sentences, and are broken into lines; `notes` are printed below the table.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    words: int = 1
    colours: Sequence[str] = ()
    bars: Sequence[float] = ()
    groups: Sequence[int] = ()
    prose: bool = False
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: `name` is that of its files, `chart` a Vega-Lite specification.

    `raw` are the data that the page draws when a reader zooms into a chart over time (`zoom.py`).
    """

    name: str
    title: str
    caption: str
    chart: Mapping[str, Any]
    raw: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a report: a heading, and optionally text, tables and figures.

    A `folded` section shows its heading alone until it is opened. `studio` is the fragment with
    which the studio opens its scenario, as `fairhaul.studio.link` gives it.
    """

    heading: str
    text: Sequence[str] = ()
    points: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    folded: bool = False
    studio: str = ""


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


def write_report(
    directories: Iterable[str | PathLike[str]],
    out: str | PathLike[str] | None = None,
    *,
    size: str = "natural",
    theme: str = "auto",
) -> Path:
    """Write the report of the records in `directories`, or of a sweep; give the path of its page.

    Args:
        directories: directories of records, directories that hold such directories, or the
            directory of a sweep.
        out: where the report is written; by default the directory, if only one is given.
        size: the shape of the files of figures: their own, or `"16:9"` or `"4:3"` for slides.
        theme: `"light"` or `"dark"`; by default the files are light, and the page is what its
            reader prefers.

    Raises:
        ScenarioError: a directory is not that of a record, `out` is missing, or the size or the
            theme is not known.
    """
    from fairhaul.report.renderer import Renderer
    from fairhaul.report.slide import Style

    style = Style(size=size, theme=theme)
    with Renderer() as renderer:
        renderer.start()  # before all that takes long to import
        from fairhaul.report.run_report import write as write_runs
        from fairhaul.sweeps.report import is_sweep
        from fairhaul.sweeps.report import write as write_sweep

        places = [Path(directory) for directory in directories]
        if len(places) == 1 and is_sweep(places[0]):
            return write_sweep(places[0], None if out is None else Path(out), renderer, style)
        return write_runs(places, None if out is None else Path(out), renderer, style)

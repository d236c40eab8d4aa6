"""The report of records, or of a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path


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
    from fairhaul.figures.slide import Style
    from fairhaul.report.renderer import Renderer

    style = Style(size=size, theme=theme)
    with Renderer() as renderer:
        renderer.start()  # before all that takes long to import
        from fairhaul.jobs.plan import FILE
        from fairhaul.report.page import write as write_page
        from fairhaul.report.run_report import write as write_runs
        from fairhaul.studies.sweep import read_sweep

        places = [Path(directory) for directory in directories]
        if len(places) == 1 and (places[0] / FILE).is_file():
            page = Path(out or places[0]) / "report.html"
            return write_page(page, read_sweep(places[0]).outcome(), renderer, style)
        return write_runs(places, None if out is None else Path(out), renderer, style)

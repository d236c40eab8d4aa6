"""The report of records, or of a sweep."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from fairhaul._core import ScenarioError
from fairhaul.figures.view import DEFAULT, View

PAGE = "report.html"


def write_report(
    directories: Iterable[str | PathLike[str]],
    out: str | PathLike[str] | None = None,
    *,
    size: str = "natural",
    theme: str = "auto",
    view: View = DEFAULT,
) -> Path:
    """Write the report of the records in `directories`, or of a sweep; give the path of its page.

    Args:
        directories: directories of records, directories that hold such directories, or the
            directory of a sweep.
        out: where the report is written; by default the directory, if only one is given.
        size: the shape of the files of figures: their own, or `"16:9"` or `"4:3"` for slides.
        theme: `"light"` or `"dark"`; by default the files are light, and the page is what its
            reader prefers.
        view: what is drawn over swept keys.

    Raises:
        ScenarioError: a directory is not that of a record, `out` is missing, or the size, the
            theme or a word of the view is not known.
    """
    from fairhaul.answers.cases import read_cases
    from fairhaul.answers.outcome import outcome_of
    from fairhaul.report import write
    from fairhaul.studies.sweep import is_sweep, read_sweep

    places = [Path(directory) for directory in directories]
    if out is None and len(places) > 1:
        raise ScenarioError("several directories require --out DIR, the directory for the report")
    if out is not None and Path(out).exists() and not Path(out).is_dir():
        raise ScenarioError(f"{out}: exists and is not a directory")
    alone = len(places) == 1 and is_sweep(places[0])
    if alone:
        outcome = read_sweep(places[0], view).outcome()
    else:
        outcome = outcome_of(read_cases(places), view)
    return write(Path(places[0] if out is None else out) / PAGE, outcome, size=size, theme=theme)

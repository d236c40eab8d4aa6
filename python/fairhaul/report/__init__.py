"""Reports: one HTML file that opens without a network, and its figures as SVG, PNG and PDF.

`write` makes a page of any outcome. A figure is a Vega-Lite chart whose colours are names from
`look.LIGHT`, as `var(--c1)`: the page turns them light or dark, the files are always light.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from fairhaul.figures.figure import Figure
from fairhaul.report.outcome import Outcome, Section, StudyResult
from fairhaul.text.table import Table

__all__ = ["Figure", "Outcome", "Section", "StudyResult", "Table", "write"]


def write(
    path: str | PathLike[str],
    of: Outcome | StudyResult,
    *,
    size: str = "natural",
    theme: str = "auto",
) -> Path:
    """Write the page `path`, and its figures into `figures` beside it; give the path.

    Files of an earlier report are replaced one by one, each atomically, the page last.

    Args:
        path: the page.
        of: what it shows.
        size: the shape of the files of figures: their own, or `"16:9"` or `"4:3"` for slides.
        theme: `"light"` or `"dark"`; by default the files are light, and the page is what its
            reader prefers.

    Raises:
        ScenarioError: the size or the theme is not known, or vl-convert is not installed.
    """
    from fairhaul.figures.slide import Style
    from fairhaul.report.renderer import Renderer

    style = Style(size=size, theme=theme)
    outcome = of.outcome() if isinstance(of, StudyResult) else of
    with Renderer() as renderer:
        renderer.start()  # before all that takes long to import
        from fairhaul.report.page import write as write_page

        return write_page(Path(path), outcome, renderer, style)

"""One figure alone: shown in a notebook, or saved as a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul.figures import look
from fairhaul.figures.slide import NATURAL, Style, on_slide, reshaped
from fairhaul.files.files import replace
from fairhaul.scenario.read import ScenarioError
from fairhaul.text.nearest import hint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairhaul.figures.figure import Figure


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A figure. A notebook draws it; `save` writes it; `spec` is its Vega-Lite specification."""

    figure: Figure

    @property
    def title(self) -> str:
        """Its title."""
        return self.figure.title

    @property
    def caption(self) -> str:
        """The sentences below it."""
        return self.figure.caption

    @property
    def spec(self) -> Mapping[str, Any]:
        """The Vega-Lite specification, whose colours are names of `fairhaul.figures.look.LIGHT`."""
        return self.figure.chart

    def save(self, file: str | Path, *, size: str = NATURAL, theme: str = "light") -> Path:
        """Write the figure; the ending of the name says how: .svg, .png or .pdf.

        Args:
            file: where it is written.
            size: `"natural"`, or the shape of a slide: `"16:9"` or `"4:3"`.
            theme: `"light"` or `"dark"`.

        Raises:
            ScenarioError: the name has another ending, or the size or the theme is not known.
            OSError: it cannot be written.
        """
        file = Path(file)
        style = Style(size=size, theme=theme)
        drawn = look.svg(self.figure.chart)
        if style.is_slide():
            drawn = on_slide(look.svg(reshaped(self.figure.chart, drawn, style)), style)
        contents = look.files(drawn, style.colours)
        ending = file.suffix.removeprefix(".")
        if ending not in contents:
            raise ScenarioError(f"{file}: the name must end with .svg, .png or .pdf")
        replace(file, contents[ending])
        return file

    def _repr_svg_(self) -> str:
        return look.painted(look.svg(self.figure.chart))


def chosen(figures: Sequence[Figure], name: str) -> Chart:
    """Give the figure with that name.

    Raises:
        ScenarioError: there is none.
    """
    by_name = {figure.name: figure for figure in figures}
    if name not in by_name:
        raise ScenarioError(f"unknown figure {name!r}; {hint(name, by_name)}")
    return Chart(figure=by_name[name])

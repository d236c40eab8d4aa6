"""A report as a page: draws the figures, fills the template, and writes the files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from importlib.resources import files as resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul._core import ScenarioError
from fairhaul.figures import look
from fairhaul.figures.figure import Figure
from fairhaul.figures.numbers import numbers
from fairhaul.figures.slide import Style, on_slide, reshaped
from fairhaul.files.files import replace as write_file
from fairhaul.report.outcome import Outcome, Section
from fairhaul.report.renderer import Renderer
from fairhaul.text.printable import BEFORE_UNIT, INTERVAL, NO_BREAK
from fairhaul.text.verdicts import tone

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

HOME = resources("fairhaul.report")
# What the page runs, in this order: `zoom.js` says what of a chart is drawn, `page.js` draws it.
SCRIPTS = ("zoom.js", "page.js")
# A table with more rows is folded.
MOST_ROWS = 24
# A telephone shows a table that is wider than this number of characters as cards.
NARROW = 40
STUDIO = "studio.html"
UNBROKEN = re.compile(rf"{INTERVAL.pattern}|\d[\d.]*e[+-]?\d+")
# Line breaks and tabs stay.
CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f]")


def write(path: Path, outcome: Outcome, renderer: Renderer, style: Style) -> Path:
    """Write the page and its figures, drawn by `renderer`; the files of figures have `style`."""
    # A function may draw figures: it is called once.
    drawn_once = (replace(section, figures=section.drawn()) for section in outcome.evidence())
    sections = [section for section in drawn_once if section.has_words() or section.drawn()]
    figures = [figure for section in sections for figure in section.drawn()]
    names = [figure.name for figure in figures]
    if len(set(names)) < len(names):
        raise ValueError("two figures of a report have the same name")
    for name in names:
        if Path(name).name != name or "\0" in name:
            raise ScenarioError(f"a figure has the name {name!r}, which leads out of the report")
    drawn = renderer.draw([figure.chart for figure in figures])
    template = _template()  # while the first is drawn
    pictures: dict[str, str] = {}
    files: dict[str, bytes] = {}
    for figure, picture in zip(figures, map(_shown, drawn), strict=True):
        pictures[figure.name] = picture
        if not style.is_slide():
            files |= _files(figure.name, picture, style)
    if style.is_slide():
        charts = [reshaped(figure.chart, pictures[figure.name], style) for figure in figures]
        for name, picture in zip(names, renderer.draw(charts), strict=True):
            files |= _files(name, on_slide(_shown(picture), style), style)
    path.parent.mkdir(parents=True, exist_ok=True)
    studio = _studio(path.parent) if any(of.studio for of in sections) else ""
    page = _page(template, outcome, sections, pictures, studio, style.theme)
    folder = path.parent / "figures"
    if files:
        folder.mkdir(exist_ok=True)
    for name, content in files.items():
        write_file(folder / name, content)
    write_file(path, page.encode())
    return path


def _studio(folder: Path) -> str:
    """Write the studio beside the page, and give its name; nothing where it is not installed."""
    from fairhaul.studio import write as write_studio

    with suppress(FileNotFoundError):
        return write_studio(folder / STUDIO).name
    return ""


def _files(name: str, picture: str, style: Style) -> dict[str, bytes]:
    """Make the files of a figure: their bytes by name."""
    made = look.files(picture, style.colours)
    return {f"{name}.{ending}": content for ending, content in made.items()}


def _shown(text: str) -> str:
    """Write control characters, which titles may have, so that no reader interprets them."""
    return CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _finalized(value: Any) -> Any:
    """Do so with what a page shows; code and data are marked as safe and stay."""
    return _shown(value) if type(value) is str else value


def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalized,
    )
    environment.filters |= {"tied": _tied, "marked": _marked}
    return environment.from_string((HOME / "page.html.j2").read_text(encoding="utf-8"))


def _marked(text: str) -> Markup:
    """Put intervals, and numbers with an exponent, into elements that are not broken."""
    from markupsafe import Markup, escape

    def span(found: re.Match[str]) -> str:
        kind = "interval" if found[0].startswith("[") else "number"
        return f'<span class="{kind}">{found[0]}</span>'

    # A Markup escapes what is put into it.
    plain = str(escape(_shown(text)))
    return Markup(UNBROKEN.sub(span, plain))


def _tied(text: str) -> Markup:
    """Keep a number and its unit on one line, too."""
    marked = _marked(text)
    return type(marked)(BEFORE_UNIT.sub(NO_BREAK, str(marked)))


def _page(
    template: jinja2.Template,
    outcome: Outcome,
    sections: Sequence[Section],
    pictures: Mapping[str, str],
    studio: str,
    theme: str,
) -> str:
    from fairhaul import _core

    return template.render(
        title=outcome.title,
        question=outcome.question,
        answer=outcome.answer,
        command=outcome.command,
        sections=sections,
        studio=studio,
        tone=tone,
        version=_core.__version__,
        light=look.variables(look.DARK if theme == "dark" else look.LIGHT),
        dark=look.variables(look.DARK) if theme == "auto" else "",
        scheme={"auto": "light dark"}.get(theme, theme),
        type=look.SCREEN_TYPE,
        style=(HOME / "page.css").read_text(encoding="utf-8"),
        scripts=[(HOME / name).read_text(encoding="utf-8") for name in SCRIPTS],
        bundle=_script(_bundle()) if pictures else "",
        pictures=pictures,
        chart=_chart,
        raw=lambda figure: _json(figure.raw),
        numbers=numbers,
        most_rows=MOST_ROWS,
        wide=lambda table: len(table.shown(NARROW)) < len(table.columns),
    )


def _chart(figure: Figure) -> str:
    return _json(look.styled(figure.chart, look.SCREEN_TYPE))


def _json(value: Any) -> str:
    """Write a value so that no text in it ends the script element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _script(code: str) -> str:
    """Keep a text within `code` from ending the script element."""
    return code.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _bundle() -> str:
    """Give the script that draws charts, of one piece; it takes seconds to make, so it is kept."""
    import vl_convert

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairhaul"
    kept = home / f"vega-{version('vl-convert-python')}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        made = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    try:
        home.mkdir(parents=True, exist_ok=True)
        write_file(kept, made.encode())
    except OSError:
        pass  # without a place to keep it, it is made again the next time
    return made

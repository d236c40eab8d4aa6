"""A report as a page: figures drawn, all of it laid out, files put in place."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files as resources
from pathlib import Path

from fairhaul.report import Figure, Section, look


def write(path: Path, title: str, question: str, answer: str, sections: Sequence[Section]) -> Path:
    """Write the page and its figures."""
    figures = [figure for section in sections for figure in section.figures]
    names = [figure.name for figure in figures]
    if len(set(names)) < len(names):
        raise ValueError("two figures of a report have the same name")
    begun = {figure.name: look.begin(figure.chart) for figure in figures}
    pictures = {name: drawing.result() for name, drawing in begun.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = path.parent / "figures"
    drafts = {
        folder / f"{figure.name}.{ending}": content
        for figure in figures
        for ending, content in look.files(pictures[figure.name]).items()
    }
    page = _page(title, question, answer, sections, pictures)
    if drafts:
        folder.mkdir(exist_ok=True)
    for file, content in drafts.items():
        _replace(file, content)
    _replace(path, page.encode())
    return path


def _replace(file: Path, content: bytes) -> None:
    """Put `content` in the place of `file`, whole or not at all."""
    draft = file.with_name(f".{file.name}.{os.getpid()}.draft")
    try:
        draft.write_bytes(content)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _page(
    title: str,
    question: str,
    answer: str,
    sections: Sequence[Section],
    pictures: Mapping[str, str],
) -> str:
    import jinja2

    from fairhaul import _core

    home = resources("fairhaul.report")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string((home / "page.html.j2").read_text(encoding="utf-8"))
    drawn = any(section.figures for section in sections)
    return template.render(
        title=title,
        question=question,
        answer=answer,
        sections=sections,
        version=_core.__version__,
        light=look.LIGHT,
        dark=look.DARK,
        type=look.SCREEN_TYPE,
        style=(home / "page.css").read_text(encoding="utf-8"),
        script=(home / "page.js").read_text(encoding="utf-8"),
        bundle=_script(_bundle()) if drawn else "",
        pictures=pictures,
        chart=_chart,
    )


def _chart(figure: Figure) -> str:
    spec = look.styled(figure.chart, look.SCREEN_TYPE)
    return json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")


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
        _replace(kept, made.encode())
    except OSError:
        pass  # without a place to keep it, it is made again the next time
    return made

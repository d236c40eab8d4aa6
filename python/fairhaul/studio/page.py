"""The page of the studio: the engine, the scripts, the styles and the lessons in one file."""

from __future__ import annotations

import base64
import json
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fairhaul.figures import look
from fairhaul.scenario.link import refuse
from fairhaul.studio.bundle import bundle
from fairhaul.studio.lessons import lessons

if TYPE_CHECKING:
    from fairhaul.scenario.read import Scenario

HOME = files("fairhaul.studio")


def page(scenario: Scenario | None = None) -> str:
    """Give the page, which opens with `scenario` or with the first lesson.

    Of a sweep it opens the first variant, and offers the others.

    Raises:
        FileNotFoundError: the engine for pages has not been built.
        ScenarioError: the studio cannot run the scenario.
    """
    import jinja2

    known = [lesson.to_dict() for lesson in lessons()]
    first = known[0]
    start: dict[str, Any] = {
        "texts": first["texts"],
        "files": first["files"],
        "lesson": first["name"],
    }
    if scenario is not None:
        refuse(scenario)
        text, file, overrides = scenario.source()
        start = {"texts": [text], "files": [file], "settings": [overrides]}
    environment = jinja2.Environment(autoescape=False, undefined=jinja2.StrictUndefined)
    template = environment.from_string(_text("page.html.j2"))
    return template.render(
        light=look.variables(look.LIGHT),
        dark=look.variables(look.DARK),
        style=_text("uplot", "uPlot.min.css") + _text("studio.css"),
        licence=_text("uplot", "LICENSE"),
        uplot=_text("uplot", "uPlot.iife.min.js"),
        given=_in_script(json.dumps({"lessons": known, "start": start})),
        engine=base64.b64encode(engine()).decode(),
        worker=_in_script(bundle("worker")),
        page=bundle("page"),
        version=version("fairhaul"),
    )


def engine() -> bytes:
    """Give the engine as WebAssembly, compressed by gzip."""
    built = HOME / "engine.wasm.gz"
    if not built.is_file():
        raise FileNotFoundError(
            "the engine for pages is not part of this installation; in a checkout: make studio"
        )
    return built.read_bytes()


def _text(*names: str) -> str:
    return HOME.joinpath(*names).read_text(encoding="utf-8")


def _in_script(text: str) -> str:
    r"""Keep text from ending the element that contains it; `\/` is `/` in JSON and in scripts."""
    return text.replace("</", "<\\/")

"""Every figure of every command: its words, the units of its axes, its labels and its caption."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import fairhaul
from fairhaul import report
from fairhaul.figures.charts.parts import HIGHER
from fairhaul.figures.figure import Figure
from fairhaul.figures.look import DASHES
from fairhaul.figures.numbers import numbers, views
from fairhaul.studies import papers
from fairhaul.studies.attack import attack, read_question
from fairhaul.studies.evaluation import SCENARIOS
from fairhaul.studies.papers.robust import robust
from tests.conftest import SMALL
from tests.studio.axe import violations
from tests.studio.browser import CHROMIUM, Page
from tests.test_sweep import SWEEP

OWN = Path(__file__).parents[1] / "docs" / "own-paper"
QUICK = {"duration": "4 s", "warmup": "1 s"}
# Laws of one kind, which only their parameters tell apart.
LAWS = (
    '[sweep]\n"flow.ours.controller" = [{ kind = "law", increase = "1" }, '
    '{ kind = "law", increase = "2" }, "reno"]\n'
)
THREE = (
    '"flow.theirs.rtt" = ["20 ms", "30 ms", "40 ms"]\n'
    '"flow.theirs.controller" = ["cubic", "reno", "highspeed"]\n'
)
DRAWN = (
    'points = 6\n"bottleneck.queue.capacity" = { from = "0.5 bdp", to = "2 bdp" }\n'
    '"flow.ours.rtt" = { from = "20 ms", to = "60 ms" }\n'
)
BARE = SWEEP.partition("[sweep]")[0]
BOX = {
    **{"rate": "10 Mbit/s", "rtt": "40 ms", "round_trips": 100, "least_duration": "4 s"},
    **{"rival": "reno", "rivals": 1, "flows": 1},
}

# Axes of numbers without a unit; all others have one, in parentheses.
BARE_NUMBERS = re.compile(r"Jain's index|Part of|ratio|number|probability| / ")
# The title of an axis that is a unit alone; its lane says what it is.
UNIT = re.compile(r"packets|bytes|ms|s|bit/s|packets/s|1/s|rounds?|1")

Study = Callable[[Path], "tuple[fairhaul.StudyResult | fairhaul.Outcome, int]"]


def _run(text: str, seeds: int, changes: Mapping[str, Any] = QUICK) -> Study:
    def done(_: Path) -> tuple[fairhaul.StudyResult, int]:
        return fairhaul.run_many(fairhaul.read(text, changes), seeds=seeds), seeds

    return done


def _sweep(text: str, seeds: int) -> Study:
    def done(place: Path) -> tuple[fairhaul.StudyResult, int]:
        return fairhaul.sweep(text, place / "sweep", seeds=seeds), seeds

    return done


def _evaluated(place: Path) -> tuple[fairhaul.StudyResult, int]:
    folder = place / "scenarios"
    folder.mkdir()
    for name in ("shallow-buffer", "itself-by-rtt"):
        text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
        text = re.sub(r'(duration *= )"[^"]*"', r'\1"5 s"', text)
        text = re.sub(r'(warmup *= )"[^"]*"', r'\1"1 s"', text)
        (folder / f"{name}.toml").write_text(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("fairhaul.studies.evaluation.SCENARIOS", folder)
        return fairhaul.evaluate(["cubic", "reno"], seeds=5), 5


STUDIES: dict[str, Study] = {
    "run": _run(SMALL, 5),
    "run, two seeds": _run(SMALL, 2),
    "run, many flows": _run(SMALL, 1, {**QUICK, "flow.near.count": 30}),
    "run, gauges": _run(SMALL, 1, {**QUICK, "bottleneck.queue.kind": "codel"}),
    "run, drops": _run(SMALL, 1, {**QUICK, "bottleneck.queue.kind": "red"}),
    "run, several": _run(SMALL + '[sweep]\n"flow.*.controller" = ["reno", "cubic"]\n', 5),
    "run, laws": _run(BARE + LAWS, 2, {}),
    "sweep": _sweep(SWEEP, 5),
    "sweep, laws": _sweep(BARE + LAWS, 2),
    "sweep, three keys": _sweep(SWEEP + THREE, 2),
    "sweep, drawn": _sweep(f"{BARE}[sweep]\n{DRAWN}", 1),
    "compare": lambda _: (
        fairhaul.compare(
            ["reno", "vegas"],
            rate="10 Mbit/s",
            rtt=["20 ms", "40 ms"],
            buffer="20 ms",
            duration="5 s",
        ),
        5,
    ),
    "compare, two seeds": lambda _: (
        fairhaul.compare(
            ["reno"], rate="10 Mbit/s", rtt="20 ms", buffer="20 ms", duration="5 s", seeds=2
        ),
        2,
    ),
    "advise": lambda _: (
        fairhaul.advise(["cubic", "bbr3"], rate="10 Mbit/s", rtt="20 ms", budget="1 s"),
        5,
    ),
    "score": lambda _: (fairhaul.score("reno", paths=8), 5),
    "attack": lambda _: (attack(read_question("cubic", "starve", within=BOX, budget="2 s")), 5),
    "evaluate": _evaluated,
    "reproduce": lambda _: (
        papers.reproduce(
            "fhstcp",
            quick=True,
            seeds=5,
            only=["table1"],
            overrides={"bottleneck.rate": "20 Mbit/s", **QUICK},
        ),
        5,
    ),
    "reproduce, robust": lambda _: (robust(papers.paper_of(OWN), "table1", settings=6), 5),
}


@pytest.mark.parametrize("study", STUDIES)
def test_every_figure_can_be_read(study: str, tmp_path: Path) -> None:
    result, seeds = STUDIES[study](tmp_path)
    outcome = result if isinstance(result, fairhaul.Outcome) else result.outcome()
    figures = [figure for section in outcome.evidence() for figure in section.drawn()]
    assert figures
    wrong = [f"{figure.name}: {fault}" for figure in figures for fault in faults(figure, seeds)]
    assert wrong == []
    if study in PAGES:
        page = opened(report.write(tmp_path / "report.html", outcome), PAGES[study])
        assert violations(page) == []
        page.close()


# Studies whose pages are judged by the rules of WCAG: the width of each, and whether it is dark.
PAGES = {
    **{"run": (400, True), "compare": (1400, True), "score": (400, False)},
    **{"evaluate": (1400, False), "reproduce": (400, True)},
}


def opened(file: Path, look: tuple[int, bool]) -> Page:
    """A report in a browser, with all its parts open and all its charts drawn."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    page = Page(*look)
    page.call("Page.navigate", url=file.as_uri())
    page.until("location.protocol === 'file:' && document.readyState === 'complete'")
    page.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
    page.until("[...document.querySelectorAll('.chart')].every((place) => place.view)")
    return page


def faults(figure: Figure, seeds: int) -> Iterator[str]:
    """Give what is wrong with a figure."""
    for text in (figure.title, figure.caption, *_texts(figure.chart)):
        if "()" in text or "{'" in text or "None" in text.split():
            yield f"the text {text!r}"
    yield from _axes_without_unit(figure.chart)
    yield from _labels_outside(figure.chart)
    yield from _false_caption(figure, seeds)
    yield from _colour_alone(figure.chart)
    if not numbers(figure.chart):
        yield "there is no table of its numbers"


def _texts(value: Any) -> Iterator[str]:
    """Give the titles of a chart, and all words in its data."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, str):
                if key not in ("test", "filter", "field", "type"):
                    yield inner
            else:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from [inner] if isinstance(inner, str) else _texts(inner)


def _axes_without_unit(chart: Mapping[str, Any]) -> Iterator[str]:
    """Find axes of quantities without a title, or without a unit in it."""
    panels = views(chart)
    for axis in ("x", "y"):
        titles, is_quantity = set(), False
        for view in panels:
            for layer in view["layer"]:
                place = layer["encoding"].get(axis, {})
                if place.get("type") != "quantitative":
                    continue
                is_quantity |= "axis" in place
                title = place.get("title") or (place.get("axis") or {}).get("title")
                titles |= {title} if title else set()
        # A lane says what it is above it.
        if is_quantity and not titles and "vconcat" not in chart:
            yield f"the {axis} axis has no title"
        for title in titles:
            if not re.search(r"\([^()]+\)$", title) and not (
                BARE_NUMBERS.search(title) or UNIT.fullmatch(title)
            ):
                yield f"the {axis} axis {title!r} has no unit"


def _labels_outside(chart: Mapping[str, Any]) -> Iterator[str]:
    """Find words that are placed outside their view, and rules outside their axis."""
    for view in views(chart):
        domains = [
            layer["encoding"]["y"]["scale"]["domain"]
            for layer in view["layer"]
            if "domain" in layer["encoding"].get("y", {}).get("scale", {})
        ]
        for layer in view["layer"]:
            y = layer["mark"].get("y")
            rows = layer.get("data", {}).get("values", [])
            if y is not None and not HIGHER <= y <= view["height"]:
                yield f"{rows[0]} at {y} of {view['height']}"
            if layer["encoding"].get("y", {}).get("field") == "limit":
                low, high = domains[0]
                for row in rows:
                    if not low <= row["limit"] <= 1.01 * high:
                        yield f"the rule {row} beyond {domains[0]}"


def _colour_alone(chart: Mapping[str, Any]) -> Iterator[str]:
    """Find lines and points of a view that differ in their colours and in nothing else.

    More of them than there are dashes have their names beside them, and rows of their own differ.
    """
    for view in views(chart):
        drawn: dict[str, set[str]] = {}
        for layer in view["layer"]:
            look, place = layer["mark"], layer["encoding"]
            is_row = "nominal" in (place.get("x", {}).get("type"), place.get("y", {}).get("type"))
            if look["type"] in ("line", "point") and "color" in look and not is_row:
                form = (look["type"], *map(look.get, ("strokeDash", "shape", "strokeWidth")))
                drawn.setdefault(repr(form), set()).add(look["color"])
        colours = set().union(*drawn.values())
        texts = [layer["mark"] for layer in view["layer"] if "text" in layer["encoding"]]
        if len(colours) > len(DASHES):
            unnamed = colours - {text.get("color") for text in texts}
            yield from (f"{colour} has no name beside it" for colour in sorted(unnamed))
            continue
        for same in drawn.values():
            if len(same) > 1:
                yield f"{same} differ in nothing else"


def _false_caption(figure: Figure, seeds: int) -> Iterator[str]:
    """Find bars of an estimate whose caption says something else of them."""
    rows = [row for row in _rows(figure.chart) if "mean" in row and "t" not in row]
    if not any(row.get("low") is not None for row in rows):
        return
    said = {
        "95 %": "95 % interval" in figure.caption,
        "range": "smallest to the largest" in figure.caption,
        "percentile": "percentile" in figure.caption,
    }
    true = "95 %" if seeds >= 5 else "range"
    if not said["percentile"] and (not said[true] or sum(said.values()) > 1):
        yield f"bars of {seeds} seeds, and the caption {figure.caption!r}"


def _rows(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if isinstance(value.get("values"), Sequence) and not isinstance(value["values"], str):
            yield from (row for row in value["values"] if isinstance(row, Mapping))
        for inner in value.values():
            yield from _rows(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _rows(inner)

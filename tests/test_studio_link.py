"""Addresses of the studio: in the page of a course, of a lesson, and of what it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import fairhaul
from fairhaul import studio
from fairhaul.scenario.own import known
from fairhaul.scenario.read import read_one
from fairhaul.studio.lessons import lessons
from tests.conftest import SMALL, Fairhaul
from tests.studio.browser import Page

DOCS = (Path(__file__).parent.parent / "docs" / "studio.md").read_text(encoding="utf-8")
FRAME = "frames[0].document"


class Still(fairhaul.Controller):
    """A controller of one's own."""

    every = "round"

    def on_round(self, window: fairhaul.Window, report: fairhaul.Round) -> None:
        """Leave the window as it is."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def served(html: Path) -> Iterator[str]:
    """The address of a server of the studio's folder."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(html.parent)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_line_of_the_documentation_embeds_a_lesson(html: Path, served: str) -> None:
    (line,) = re.findall(r"<iframe.*</iframe>", DOCS)
    html.with_name("course.html").write_text(f"<!doctype html><h1>Course</h1>{line}")
    page = Page(1024)
    page.call("Page.navigate", url=f"{served}/course.html")
    page.until(f"frames[0] && {FRAME}.body && {FRAME}.body.dataset.state === 'ready'")
    shown = f"[...{FRAME}.querySelectorAll('header, footer, #lesson, #panel, #packets')]"
    assert page.evaluate(f"{shown}.filter((it) => it.offsetParent).length") == 0
    assert page.evaluate(f"{FRAME}.querySelectorAll('figure canvas').length") >= 8
    assert page.evaluate(f"{FRAME}.documentElement.scrollWidth <= frames[0].innerWidth")
    page.until(f"{FRAME}.getElementById('whole').href !== ''")
    page.call("Page.navigate", url=page.evaluate(f"{FRAME}.getElementById('whole').href"))
    page.until_ready()
    assert page.evaluate("document.querySelector('header').offsetParent !== null")
    assert page.evaluate("document.getElementById('lessons').value") == "rtt"
    # A browser asks every server for an icon.
    assert [error for error in page.errors if "favicon" not in error] == []
    page.close()


def test_a_fragment_opens_the_lesson_that_it_names(html: Path) -> None:
    assert all(f"`{lesson.name}`" in DOCS for lesson in lessons())
    page = Page(1400)
    page.open(html, "#lesson=slow-start")
    assert page.evaluate("document.querySelector('#lesson h2').textContent") == "Slow start"
    assert page.evaluate("document.querySelector('#whole').offsetParent") is None
    assert page.errors == []
    page.close()


def test_a_controller_of_ones_own_is_refused(tmp_path: Path) -> None:
    text = SMALL.replace('"reno"', '"still"', 1)
    scenario = read_one(text, controllers={"still": Still})
    refusal = "the studio has only the controllers of the catalogue, and not still"
    with pytest.raises(fairhaul.ScenarioError, match=refusal):
        studio.link(scenario)
    with pytest.raises(fairhaul.ScenarioError, match=refusal):
        studio.write(tmp_path / "studio.html", scenario)
    assert not list(tmp_path.iterdir())
    # That a controller is known does not matter where no flow has it.
    with known({"still": Still}):
        assert studio.link(read_one(SMALL)).startswith("#s=")


def test_the_command_says_that_it_cannot_open_a_controller_of_ones_own(
    small: Path, fairhaul: Fairhaul
) -> None:
    small.write_text(SMALL.replace('"reno"', '"still"', 1))
    done = fairhaul("studio", small, "--no-open")
    assert done.returncode == 2
    assert 'unknown controller "still"' in done.stderr
    assert done.stderr.endswith("The studio cannot run controllers of your own.\n")


def test_a_scenario_with_a_trace_is_refused_before_a_page_is_written(
    small: Path, tmp_path: Path, fairhaul: Fairhaul
) -> None:
    small.write_text(SMALL.replace('"10 Mbit/s"', '{ trace = "x.csv" }', 1))
    (tmp_path / "x.csv").write_text("0,10000000\n1,5000000\n")
    done = fairhaul("studio", small, "--no-open", "--out", "page.html")
    assert done.returncode == 2
    assert "the studio cannot read files beside the scenario" in done.stderr
    assert not (tmp_path / "page.html").exists()
    done = fairhaul("run", small, "--set", "duration=6 s", "--report", "--out", "r")
    assert done.returncode == 0, done.stderr
    assert "studio.html#s=" not in (tmp_path / "r/report.html").read_text()
    # A setting may put a rate instead of the trace.
    rate = ("--set", "bottleneck.rate=10 Mbit/s")
    assert fairhaul("studio", small, *rate, "--no-open", "--out", "page.html").returncode == 0


@pytest.mark.parametrize(
    ("one", "other", "sentence"),
    [
        ('"reno"', '"still"', "The studio cannot run controllers of your own"),
        ('"10 Mbit/s"', '{ trace = "x.csv" }', "x.csv: the studio cannot read files beside"),
    ],
)
def test_the_page_says_what_it_cannot_open(html: Path, one: str, other: str, sentence: str) -> None:
    page = Page(1400)
    page.open(html, "#lesson=slow-start")
    text = SMALL.replace(one, other, 1)
    page.evaluate(
        "(() => { const text = document.getElementById('text');"
        f"text.value = {text!r}; text.dispatchEvent(new Event('change')); }})()"
    )
    page.until("document.querySelector('.mistakes') !== null")
    assert sentence in page.evaluate("document.querySelector('.mistakes').textContent")
    assert page.errors == []
    page.close()

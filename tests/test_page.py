"""The page of a report in a browser: its widths, its charts, its zoom and its folded parts."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fairhaul as package
from fairhaul import report
from fairhaul.report.page import _marked
from fairhaul.studies import papers

from .conftest import SMALL
from .studio.browser import CHROMIUM, Page, tree

Look = Callable[..., Any]

# What a script finds in the page in a frame, after it has waited for its charts.
FRAME = """\
<body style="margin: 0"><iframe id="frame" width="{width}" height="{height}" style="border: 0"
src="{page}"></iframe><script>
const wait = (ms) => new Promise((go) => setTimeout(go, ms));
const frame = document.getElementById("frame");
frame.addEventListener("load", async () => {{
  await wait(6000);
  const page = frame.contentDocument;
  const all = (what) => [...page.querySelectorAll(what)];
  const found = await (async () => {{ {script} }})().catch((error) => error.stack);
  document.body.innerHTML = "<pre id=found></pre>";
  document.getElementById("found").textContent = JSON.stringify(found);
}});
</script>"""

# Elements that reach beyond the window, and do not lie in a box that scrolls.
WIDER = """
  const scrolls = (one) =>
    one && (getComputedStyle(one).overflowX === "auto" || scrolls(one.parentElement));
  const right = page.documentElement.clientWidth + 1;
  const beyond = (one) => one.getBoundingClientRect().right > right;
  const drawn = all(".chart").filter((place) => place.clientWidth);
  // A busy machine takes longer to draw the last ones.
  for (let tries = 0; tries < 20 && !drawn.every((place) => place.view); tries++) await wait(1000);
  return {
    beyond: all("main *").filter((one) => beyond(one) && !scrolls(one.parentElement))
      .map((one) => one.outerHTML.slice(0, 80)),
    scrolls: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    charts: drawn.map((place) =>
      [place.clientWidth, place.querySelector("svg").clientWidth, !!place.view]),
    height: page.documentElement.scrollHeight,
    open: all("details[open]").length,
  };
"""


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Open a page in a frame of a width in a browser, and give what a script finds."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("chromium is not installed")

    def found(page: Path, width: int, script: str) -> Any:
        frame = tmp_path / "frame.html"
        frame.write_text(FRAME.format(width=width, height=800, page=page.as_uri(), script=script))
        done = subprocess.run(
            [
                *(browser, "--headless", "--no-sandbox", "--disable-gpu"),
                *("--allow-file-access-from-files", "--virtual-time-budget=40000"),
                *(f"--user-data-dir={tmp_path / 'browser'}", f"--window-size={width},800"),
                *("--dump-dom", frame.as_uri()),
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        answer = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
        assert answer is not None, done.stdout[-2000:]
        return json.loads(html.unescape(answer[1]))

    return found


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of five seeds, whose tables are the widest."""
    place = tmp_path_factory.mktemp("seeds")
    for record in package.run(SMALL, seeds=5).records:
        package.write_record(record, place / str(record.meta["seed"]))
    return package.write_report([place])


@pytest.mark.parametrize("width", [1400, 400])
def test_nothing_is_cut_and_every_chart_has_the_width_of_its_place(
    seeds: Path, look: Look, width: int
) -> None:
    found = look(seeds, width, WIDER)
    assert found["beyond"] == []
    assert found["scrolls"] <= 0
    # Those below the window as well: nothing was scrolled to.
    assert found["height"] > 3000
    assert len(found["charts"]) >= 8
    for place, drawn, answers in found["charts"]:
        assert answers
        assert drawn <= place + 1
    wide = [drawn / place for place, drawn, _ in found["charts"]]
    assert sum(part > 0.9 for part in wide) >= len(wide) - 1, "all but the square fill the width"


TABLES = """
  const left = page.querySelector("header").getBoundingClientRect().left;
  return all(".table").filter((table) => table.clientWidth).map((table) =>
    [table.scrollWidth - table.clientWidth, table.getBoundingClientRect().left - left]);
"""


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a paper's Table 1, whose seven numbers have long intervals."""
    brief = {"bottleneck.rate": "10 Mbit/s", "duration": "8 s", "warmup": "2 s"}
    done = papers.reproduce("fhstcp", quick=True, seeds=5, only=["table1"], overrides=brief)
    return report.write(tmp_path_factory.mktemp("paper") / "report.html", done)


@pytest.mark.parametrize("width", [1400, 400])
def test_tables_begin_at_the_column_and_none_is_cut(
    seeds: Path, paper: Path, look: Look, width: int
) -> None:
    for page in (seeds, paper):
        tables = look(page, width, TABLES)
        assert tables
        assert all(cut <= 0 and abs(left) < 1 for cut, left in tables), tables


FOCUSED = "document.activeElement"


def go_to(page: Page, condition: str) -> None:
    """Press Tab until the focused element fulfils a condition on `it`, and is outlined."""
    for _ in range(60):
        page.press("Tab")
        if page.evaluate(f"(it => !!({condition}))({FOCUSED})"):
            assert page.evaluate(f"getComputedStyle({FOCUSED}).outlineStyle") != "none"
            return
    raise AssertionError(f"the keyboard does not reach {condition}")


def test_a_report_is_read_with_the_keyboard_and_with_a_screen_reader(seeds: Path) -> None:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    page = Page(1400)
    page.call("Page.navigate", url=seeds.as_uri())
    page.until("document.querySelector('#cwnd .chart')?.view !== undefined")
    page.press("Tab")
    assert page.evaluate(f"{FOCUSED}.textContent") == "Skip to the evidence"
    page.press("Enter", "\r")
    page.until(f"{FOCUSED}.id === 'part-1'")
    # One chart is zoomed, and the screen reader hears which time is shown.
    go_to(page, "it.closest('#cwnd') && it.ariaLabel === 'Zoom in'")
    page.press("Enter", "\r")
    page.until("document.querySelector('[role=status]').textContent !== ''")
    said = page.evaluate("document.querySelector('[role=status]').textContent")
    assert said.startswith("5 to 15 s"), said
    # The numbers of the figure are a table.
    go_to(page, "it.tagName === 'SUMMARY' && it.closest('#cwnd')")
    page.press("Enter", "\r")
    page.until("document.querySelector('#cwnd .numbers').open")
    found = set(tree(page))
    for role, name in (
        ("main", ""),
        ("navigation", "Contents"),
        ("heading", "Congestion window over time"),
        ("group", "Time of Congestion window over time"),
        ("DisclosureTriangle", "Numbers of Congestion window over time"),
        ("columnheader", "time (s)"),
        ("columnheader", "smallest"),
    ):
        assert (role, name) in found, (role, name)
    assert any(role == "image" and "Congestion window over time. " in name for role, name in found)
    assert [name for role, name in found if role == "button" and not name] == []
    assert page.errors == []
    page.close()


def test_a_number_with_an_exponent_is_not_broken() -> None:
    assert str(_marked("1.0e-4 & 3")) == '<span class="number">1.0e-4</span> &amp; 3'
    assert str(_marked("2 [1e-4, 3]")) == '2 <span class="interval">[1e-4, 3]</span>'


def test_a_page_of_many_runs_is_short_until_its_parts_are_opened(
    tmp_path: Path, look: Look
) -> None:
    sweep = '[sweep]\n"bottleneck.queue.capacity" = ["5 ms", "10 ms", "20 ms", "40 ms"]\n'
    sweep += '"flow.near.controller" = ["reno", "cubic", "scalable"]\n'
    for number, scenario in enumerate(package.read(SMALL.replace('"20 s"', '"6 s"') + sweep)):
        record = package.run_many([scenario])[0].records[0]
        package.write_record(record, tmp_path / "all" / f"{number}")
    page = package.write_report([tmp_path / "all"])
    found = look(page, 1400, WIDER)
    assert found["open"] == 0
    assert found["beyond"] == []
    assert found["height"] < 5000
    opened = look(
        page,
        1400,
        """
        const part = all(".folded").find((one) => one.textContent.includes("5 ms, reno"));
        const place = part.querySelector(".chart");
        part.querySelector("details").open = true;
        await wait(3000);
        return [!!place.view, place.clientWidth, place.querySelector("svg").clientWidth];
        """,
    )
    assert opened[0]
    assert opened[1] - 60 < opened[2] <= opened[1]


def test_a_slider_shows_one_point_of_a_sweep_at_a_time(tmp_path: Path, look: Look) -> None:
    sweep = '[sweep]\n"bottleneck.queue.capacity" = ["5 ms", "20 ms", "80 ms"]\n'
    for number, scenario in enumerate(package.read(SMALL.replace('"20 s"', '"6 s"') + sweep)):
        record = package.run_many([scenario])[0].records[0]
        package.write_record(record, tmp_path / "all" / f"{number}")
    page = package.write_report([tmp_path / "all"])
    shown = look(
        page,
        1000,
        """
        const place = page.getElementById("slider").querySelector(".chart");
        const head = () => [...place.querySelectorAll("svg text")].map((one) => one.textContent)
          .filter((text) => text.startsWith("capacity"));
        const path = () => place.querySelector(".mark-line path").getAttribute("d");
        const before = [head(), path()];
        const slider = place.querySelector("input[type=range]");
        slider.value = 2;
        slider.dispatchEvent(new Event("input"));
        await wait(2000);
        return { before: before[0], after: head(), moved: before[1] !== path() };
        """,
    )
    assert shown == {"before": ["capacity = 20 ms"], "after": ["capacity = 80 ms"], "moved": True}


@pytest.fixture(scope="module")
def panels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a sweep over three keys."""
    keys = {
        "bottleneck.queue.capacity": '["5 ms", "10 ms", "20 ms"]',
        "flow.far.rtt": '["40 ms", "60 ms", "80 ms", "100 ms"]',
        "flow.*.controller": '["reno", "cubic", "bic"]',
    }
    sweep = "[sweep]\n" + "".join(f'"{key}" = {values}\n' for key, values in keys.items())
    place = tmp_path_factory.mktemp("panels")
    done = package.sweep(SMALL.replace('"20 s"', '"6 s"') + sweep, place / "s", seeds=1)
    return report.write(place / "report.html", done)


@pytest.mark.parametrize("width", [1400, 400])
def test_panels_fill_the_page_beside_and_below_each_other(
    panels: Path, look: Look, width: int
) -> None:
    found = look(panels, width, WIDER)
    assert found["beyond"] == []
    # Lines and heat maps of the answer, four more figures, and the goodput with its slider.
    assert len(found["charts"]) == 7
    for place, drawn, answers in found["charts"]:
        assert answers
        assert 0.5 * place < drawn <= place + 1


def test_zooming_into_one_chart_shows_the_same_time_of_the_record_in_all(
    tmp_path: Path, look: Look
) -> None:
    record = package.run(SMALL).records[0]
    package.write_record(record, tmp_path / "one")
    page = package.write_report([tmp_path / "one"])
    found = look(
        page,
        1000,
        """
        const rows = () => {
          const { spec } = page.querySelector("#cwnd .chart").view;
          return spec.vconcat[0].data.values.map(({ t, mean, low, high }) => [t, mean, low, high]);
        };
        const ends = () => all("figure:has(.zoom)").map((one) => {
          const { view } = one.querySelector(".chart").view;
          const scale = one.querySelector(".role-scope") ? "concat_0_x" : "x";
          return view.scale(scale).domain();
        });
        const press = async (title) => {
          page.querySelector(`#cwnd .zoom button[title="${title}"]`).click();
          await wait(3000);
        };
        const whole = ends();
        for (const step of ["Zoom in", "Zoom in", "Zoom in", "Later"]) await press(step);
        const zoomed = { ends: ends(), rows: rows() };
        zoomed.text = page.querySelector("#cwnd .zoom .span").textContent;
        await press("All: the whole run");
        return { whole, zoomed, again: ends() };
        """,
    )
    assert found["whole"] == found["again"] == [[0, 20]] * 4
    # 20 s, halved three times around the middle, and moved by half of that.
    assert found["zoomed"]["ends"] == [[10, 12.5]] * 4
    assert found["zoomed"]["text"] == "10 to 12.5 s, averaged over 0.02 s"
    series = record.flow_series.filter(record.flow_series["flow"] == "near")
    step_s = series["t_s"][1] - series["t_s"][0]
    inside = series.filter((series["t_s"] >= 10 - 1e-9) & (series["t_s"] < 12.5 - 1e-9))
    assert len(found["zoomed"]["rows"]) == len(inside) > 50
    for (t, mean, low, high), start, window in zip(
        found["zoomed"]["rows"], inside["t_s"], inside["cwnd_packets"], strict=True
    ):
        assert t == pytest.approx(start + step_s / 2, abs=5e-3)
        assert mean == low == high == pytest.approx(window, rel=1e-3)

"""The studio by the rules of WCAG, by keyboard alone, and as a screen reader hears it.

`test_page.py` and `test_every_figure.py` have the same for reports, `test_site.py` for the site.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.studio.axe import violations
from tests.studio.browser import Page, choose, tree

FOCUSED = "document.activeElement"
# How a reader knows where the focus is.
VISIBLE = f"getComputedStyle({FOCUSED}).outlineStyle !== 'none'"


@pytest.fixture(scope="module")
def studio(html: Path) -> Iterator[Page]:
    """A wide page that all tests of this file share; each chooses what it needs."""
    page = Page(1400)
    page.open(html, "#lesson=slow-start")
    yield page
    assert page.errors == []
    page.close()


def start(page: Page, lesson: str = "slow-start") -> None:
    """Show a lesson, with the focus before everything."""
    choose(page, lesson)
    body = "document.body"
    page.evaluate(f"({body}.tabIndex = -1, {body}.focus(), {body}.removeAttribute('tabindex'))")


def go_to(page: Page, condition: str, most: int = 80) -> None:
    """Press Tab until the focused element fulfils a condition on `it`."""
    for _ in range(most):
        page.press("Tab")
        if page.evaluate(f"(it => !!({condition}))({FOCUSED})"):
            return
    raise AssertionError(f"the keyboard does not reach {condition}")


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (400, True)])
def test_the_studio_keeps_the_rules_of_wcag(html: Path, width: int, dark: bool) -> None:
    page = Page(width, dark)
    page.open(html, "#lesson=slow-start")
    assert violations(page) == [], "as it opens"
    choose(page, "cubic-reno")
    page.evaluate("document.querySelectorAll('details').forEach((it) => { it.open = true; })")
    page.until("document.querySelectorAll('.numbers table').length >= 10")
    page.evaluate("document.querySelector('#packets button').click()")
    page.until("document.querySelector('.wire canvas').hidden === false")
    assert violations(page) == [], "with two set-ups, and all parts open"
    assert page.errors == []
    page.close()


def test_tab_reaches_every_control_in_the_order_of_the_page_and_leaves_it(studio: Page) -> None:
    start(studio)
    wanted = studio.evaluate(
        "[...document.querySelectorAll('a, button, input, select, textarea, summary')]"
        ".filter((it) => it.checkVisibility()).map((it, number) => (it.dataset.number = number))"
    )
    reached: list[int] = []
    hidden = []
    for _ in range(len(wanted) + 20):
        studio.press("Tab")
        number = studio.evaluate(f"{FOCUSED}.dataset.number ?? ''")
        if number != "":
            reached.append(int(number))
            if not studio.evaluate(VISIBLE):
                hidden.append(studio.evaluate(f"{FOCUSED}.outerHTML"))
        if len(reached) > len(wanted):
            break
    assert reached[: len(wanted)] == wanted, "the last is followed by the first: no trap"
    assert hidden == []


def test_the_first_tab_skips_to_the_results(studio: Page) -> None:
    start(studio)
    studio.press("Tab")
    assert studio.evaluate(f"{FOCUSED}.textContent") == "Skip to the results"
    studio.press("Enter", "\r")
    assert studio.evaluate(f"{FOCUSED}.id") == "stage"
    assert studio.evaluate("location.hash").startswith("#s="), "the address keeps its state"
    studio.press("Tab")
    assert studio.evaluate(f"{FOCUSED}.textContent") == "Play"


def test_a_second_set_up_is_made_changed_chosen_and_removed_by_keyboard(studio: Page) -> None:
    start(studio)
    go_to(studio, "it.textContent === 'Compare with a second set-up'")
    studio.evaluate("document.body.dataset.state = 'pressed'")
    studio.press("Enter", "\r")
    studio.until_ready()
    assert studio.evaluate(f"{FOCUSED}.textContent") == "Remove B", "in its place"
    go_to(studio, "it.dataset.key === 'rate'")
    before = studio.evaluate(f"{FOCUSED}.getAttribute('aria-valuetext')")
    studio.evaluate("document.body.dataset.state = 'pressed'")
    studio.press("ArrowRight")
    studio.until_ready()
    assert studio.evaluate(f"{FOCUSED}.dataset.key") == "rate"
    assert studio.evaluate(f"{FOCUSED}.getAttribute('aria-valuetext')") != before
    said = studio.evaluate("document.getElementById('announced').textContent")
    assert re.fullmatch(r"Set-up A: \d+ packets dropped\. Set-up B: \d+ packets dropped", said)
    for key, at in (("set-up-0", "0"), ("other", "0")):
        studio.evaluate("document.querySelector('#lessons').focus()")
        go_to(studio, f"it.dataset.key === '{key}'")
        studio.press(" ", " ")
        assert studio.evaluate(f"{FOCUSED}.dataset.key") == key, at
    assert studio.evaluate("document.querySelectorAll('#results > section').length") == 1


def test_the_numbers_of_a_chart_are_opened_by_keyboard_and_stay_open(studio: Page) -> None:
    start(studio)
    studio.evaluate("document.getElementById('stage').focus()")
    go_to(studio, "it.dataset.key === 'A-windows-numbers'")
    studio.press("Enter", "\r")
    table = "document.querySelector('[data-chart=windows] .numbers table')"
    studio.until(f"!!{table}")
    cells = studio.evaluate(
        f"[...{table}.rows].map((row) => [...row.cells].map((it) => it.textContent))"
    )
    assert cells[0] == ["Time, s", "F"]
    assert len(cells) > 10
    assert max(float(window) for _, window in cells[1:]) > 10
    # A step in time draws the charts anew; the table and the focus stay.
    studio.evaluate("dispatchEvent(new Event('resize'))")
    studio.evaluate("document.body.dataset.state = 'pressed'")
    studio.evaluate("document.querySelector('[data-key=rate]').dispatchEvent(new Event('change'))")
    studio.until_ready()
    assert studio.evaluate(f"{FOCUSED}.dataset.key") == "A-windows-numbers"
    assert studio.evaluate(f"!!{table}")


def test_a_screen_reader_finds_names_roles_and_results(studio: Page) -> None:
    start(studio, "aimd")
    nodes = tree(studio)
    found = {(role, name) for role, name in nodes}
    for role, name in (
        ("banner", ""),
        ("main", ""),
        ("contentinfo", ""),
        ("region", "Results"),
        ("group", "Set-ups"),
        ("group", "Time"),
        ("combobox", "Lesson"),
        ("combobox", "Controller of second"),
        ("slider", "Round-trip time of second"),
        ("slider", "Time"),
        ("button", "Next loss event"),
        ("rowheader", "second"),
        ("columnheader", "Mbit/s"),
    ):
        assert (role, name) in found, (role, name)
    names = [name for role, name in nodes if role == "image"]
    windows = next(name for name in names if name.startswith("Congestion window, packets"))
    assert re.search(r"over time\. first: \S+ to \S+; second: \S+ to \S+\. A table", windows)
    assert ("status", "") in found
    said = studio.evaluate("document.getElementById('announced').textContent")
    assert said.startswith("Jain's index 0.99") or said.startswith("Jain's index 1")


def test_lines_of_a_chart_differ_without_colour(studio: Page) -> None:
    start(studio, "xcp")
    drawn = studio.evaluate(
        "[...document.querySelectorAll('.line line')].map((it) => it.style.strokeDasharray)"
    )
    assert len(set(drawn)) == len(drawn) == 3

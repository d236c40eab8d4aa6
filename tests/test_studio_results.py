"""What the page of the studio says of a run, and with which scales."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fairhaul
from fairhaul.studio.lessons import HOME
from tests.studio.browser import Page, choose

RATES = "[...document.querySelectorAll('.rate')].map((cell) => Number(cell.textContent))"
WIDTHS = "[...document.querySelectorAll('.bar i')].map((bar) => parseFloat(bar.style.width))"
HEADLINES = "[...document.querySelectorAll('.headline')].map((it) => it.textContent)"
DOUBTS = "[...document.querySelectorAll('.doubt')].map((it) => it.textContent)"


@pytest.fixture
def page(html: Path) -> Iterator[Page]:
    opened = Page(1400)
    opened.open(html)
    yield opened
    assert opened.errors == []
    opened.close()


def test_bars_of_both_tables_have_one_scale(page: Page) -> None:
    choose(page, "loss")
    (reno, highspeed), widths = page.evaluate(RATES), page.evaluate(WIDTHS)
    assert highspeed > 1.5 * reno
    assert widths[0] / widths[1] == pytest.approx(reno / highspeed, rel=0.01)


def test_the_phase_plot_ends_on_its_dashed_line_where_throughputs_are_equal(page: Page) -> None:
    # The windows of these flows are as 1 to 8, because their round-trip times are.
    choose(page, "xcp")
    assert max(page.evaluate(RATES)) < 1.02 * min(page.evaluate(RATES))
    x, y = page.evaluate(
        "JSON.parse(document.querySelector('[data-chart=phase] canvas').dataset.last)"
    )
    assert x == pytest.approx(y, rel=0.02)
    assert "throughputs" in page.evaluate(
        "document.querySelector('[data-chart=phase] figcaption').textContent"
    )


def test_a_preview_has_no_figures(page: Page) -> None:
    page.evaluate(
        "(() => { const slider = document.querySelector('[data-key=rate]');"
        "document.body.dataset.state = 'moved';"
        "slider.value = Number(slider.value) + 1; slider.dispatchEvent(new Event('input')); })()"
    )
    page.until("document.body.dataset.state === 'draft'")
    preview = page.evaluate(HEADLINES)[0]
    assert preview.startswith("Preview: the first ")
    assert "of 120 s" in preview
    assert "Jain" not in preview
    assert "dropped" not in preview
    rates = page.evaluate(
        "[...document.querySelectorAll('.preview .rate')].map((it) => it.textContent)"
    )
    assert rates == ["\u2013", "\u2013"]
    page.evaluate("document.querySelector('[data-key=rate]').dispatchEvent(new Event('change'))")
    page.until_ready()
    assert "Jain's index" in page.evaluate(HEADLINES)[0]
    assert page.evaluate("document.querySelectorAll('.preview').length") == 0


def test_packets_that_were_dropped_in_the_warm_up_do_not_count(page: Page) -> None:
    # BBR overflows the queue once, in its start.
    choose(page, "bbr")
    series = fairhaul.run(Path(str(HOME)) / "bbr.toml").records[0].link_series
    assert series["dropped"].sum() > 0
    assert page.evaluate(HEADLINES) == ["0 packets dropped"]
    assert "measured from 5 s on" in page.evaluate(
        "document.querySelector('#results .status').textContent"
    )


def test_a_run_that_is_too_short_says_so_with_the_duration_that_would_do(page: Page) -> None:
    choose(page, "cubic-reno")
    figures = fairhaul.run(Path(str(HOME)) / "cubic-reno-droptail.toml").measures[0]
    assert figures["wanted_duration_s"] is not None
    doubts = page.evaluate(DOUBTS)
    assert len(doubts) == 2
    assert doubts[0].startswith("Not stationary: ")
    assert f"about {figures['wanted_duration_s']:.0f} s would suffice" in doubts[0]
    choose(page, "synchronised")
    assert page.evaluate(DOUBTS) == []

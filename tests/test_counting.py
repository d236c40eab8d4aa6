"""Flow counters from Python: laws, seeds, refusals, and what a packet costs them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from fairhaul.measures.counting import (
    count_flows,
    effective_flows,
    expected_count,
    relative_deviation,
    zipf,
)
from fairhaul.scenario.listings import catalogue
from fairhaul.statistics.estimate import estimate
from tools import ROOT
from tools.bench import cost
from tools.gallery import FOLDER, counting

NAMES = [entry["name"] for entry in catalogue()["counters"]]


@pytest.mark.parametrize("name", NAMES)
def test_one_flow_is_one_and_none_is_none(name: str) -> None:
    assert count_flows(name, 1, packets=5000, seeds=[1, 2]) == [1, 1]
    assert count_flows(name, 3, packets=0, seeds=[1]) == [0]


def test_a_seed_fixes_the_number_and_another_gives_another() -> None:
    first, again, other = count_flows("sred", 50, packets=5000, seeds=[1, 1, 2])
    assert first == again != other


def test_numpy_numbers_are_accepted() -> None:
    number: Any = np.int64
    weight = {"weight": np.float64(0.01)}
    plain = count_flows("sred", [1.0, 2.0], packets=500, seeds=[1], settings={"weight": 0.01})
    rates: Any = np.array([1.0, 2.0])
    seeds: Any = np.arange(1, 2)
    assert count_flows("sred", rates, packets=number(500), seeds=seeds, settings=weight) == plain
    assert count_flows("exact", number(3), packets=number(500), seeds=[number(1)]) == [3]


def test_an_exact_table_counts_every_flow_that_has_sent() -> None:
    # Of 100 equal flows one has not sent after 5000 packets with probability 100 x 0.99^5000.
    assert count_flows("exact", 100, packets=5000, seeds=range(5)) == [100] * 5


def test_the_zombie_list_counts_equal_flows_within_its_noise() -> None:
    # The noise of 10 is sqrt(0.001 / 1.999 x 9) = 6.7 %, that of a mean of 100 a tenth of it.
    assert relative_deviation(10) == pytest.approx(0.0671, abs=1e-4)
    found = estimate(count_flows("sred", 10, packets=10_000, seeds=range(100)))
    assert found.mean == pytest.approx(10, rel=4 * 0.1 * relative_deviation(10))


def test_the_zombie_list_takes_unequal_flows_for_fewer() -> None:
    # Zipf: 1 + 1/2 + 1/3 + 1/4 = 25/12, the squares 205/144: 625 / 205.
    assert effective_flows(zipf(4)) == pytest.approx(625 / 205)
    assert effective_flows([1.0] * 10 + [10.0]) == pytest.approx(400 / 110)
    assert effective_flows(zipf(7, 0)) == pytest.approx(7)
    found = estimate(count_flows("sred", zipf(4), packets=10_000, seeds=range(100)))
    assert found.mean == pytest.approx(625 / 205, rel=0.02)


def test_bins_miss_the_flows_whose_bits_are_all_set() -> None:
    # One level of two bins: the first flow counts, the second with exp(-1/2), the third with 1/e.
    assert expected_count(3, bins=2, levels=1) == pytest.approx(1 + 0.6065 + 0.3679, abs=1e-4)
    settings = {"bins": 256, "levels": 2}
    found = estimate(count_flows("nred", 200, packets=10_000, seeds=range(100), settings=settings))
    assert found.mean == pytest.approx(expected_count(200, 256, 2), rel=0.01)


def test_literal_and_corrected_zombie_lists_differ_while_they_fill() -> None:
    literal = {"fill": "literal", "start": "literal"}
    # Nothing is compared before the list of 1000 is full, so all its entries seem to be flows.
    assert count_flows("sred", 2, packets=900, seeds=[1], settings=literal) == [900]
    (mended,) = count_flows("sred", 2, packets=900, seeds=[1])
    assert mended == pytest.approx(2, rel=0.2)


@pytest.mark.parametrize(
    ("counter", "rates", "settings", "sentence"),
    [
        ("gred", 2, {}, "unknown counter 'gred'; did you mean 'sred'?"),
        ("sred", 2, {"entries": 0}, "sred: entries: wanted a whole number from 1 to"),
        ("sred", 2, {"weight": 1.5}, "sred: weight: wanted a number from"),
        (
            "nred",
            2,
            {"levels": "many"},
            'nred: levels: wanted a whole number from 1 to 16, not "many"',
        ),
        ("nred", 2, {"entries": 3}, 'nred has no parameter "entries"; choose from bins, levels'),
        ("exact", 0, {}, "rates: wanted at least one rate above 0"),
        ("exact", [1, -1], {}, "rates: wanted numbers of at least 0"),
    ],
)
def test_what_does_not_fit_is_refused(
    counter: str, rates: int | list[float], settings: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        count_flows(counter, rates, settings=settings)


def test_a_pace_that_no_clock_holds_is_refused() -> None:
    with pytest.raises(ValueError, match="gap_s: wanted 1e-9 to 1 s"):
        count_flows("exact", 2, gap_s=0)


@pytest.mark.skipif(cost.valgrind() is None, reason=cost.MISSING)
def test_a_packet_costs_as_many_instructions_whatever_the_size_of_the_zombie_list() -> None:
    # Two draws, a comparison and sometimes a write: nothing that looks along the list.
    found = [cost.per_packet("sred", size, flows=16) for size in (1000, 10_000, 100_000)]
    print(f"instructions per packet: {found}")
    assert 20 < found[0] < 300
    assert max(found) < 1.01 * min(found)


@pytest.mark.skipif(cost.valgrind() is None, reason=cost.MISSING)
def test_bins_cost_the_same_for_any_number_of_flows_and_an_exact_table_does_not() -> None:
    few, many = (cost.per_packet("nred", 8192, flows) for flows in (10, 1000))
    assert many < 1.01 * few
    few, many = (cost.per_packet("exact", 8192, flows) for flows in (10, 1000))
    assert many > 1.5 * few


def test_the_figure_is_on_the_page() -> None:
    drawn = (ROOT / FOLDER / f"{counting.FIGURE}.svg").read_text(encoding="utf-8")
    assert set(re.findall(r">([^<>]+)</text>", drawn)) >= set(NAMES), "draw it: make gallery"
    page = (ROOT / "docs" / "queues" / "counting.md").read_text(encoding="utf-8")
    assert f"](../images/gallery/{counting.FIGURE}.svg)" in page

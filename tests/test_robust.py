"""Claims and numbers over what a paper leaves open."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import fairhaul
from fairhaul import cli, report
from fairhaul.jobs.store import Store
from fairhaul.statistics.splits import best_split, number_of
from fairhaul.studies import papers
from fairhaul.studies.papers import robust_outcome
from fairhaul.studies.papers.robust import Robust, draw, robust

OWN = Path(__file__).parents[1] / "docs" / "own-paper"


@pytest.fixture(scope="module")
def found() -> Robust:
    return robust(papers.paper_of(OWN), "table1", settings=4)


def test_settings_are_drawn_from_the_ranges() -> None:
    experiment = papers.paper_of(OWN).experiments["table1"]
    drawn = draw(experiment, 10)
    assert len(drawn) == 10
    delays = sorted(float(str(setting["bottleneck.delay"]).split()[0]) for setting in drawn)
    parts = [int((delay - 1) / 0.8) for delay in delays]
    assert parts == list(range(10)), "one in each tenth of the range"
    words = [setting["flow.*.recovery"] for setting in drawn]
    assert sorted(words) == ["newreno"] * 5 + ["sack"] * 5


def test_every_claim_and_number_has_a_value_in_every_setting(found: Robust) -> None:
    assert found.runs == 4 * 6
    assert [claim.text for claim in found.claims] == [
        "a larger buffer makes the flows more equal",
        "the link is never idle",
    ]
    assert all(len(claim.holds) == 4 for claim in found.claims)
    assert [(n.column, n.paper) for n in found.numbers] == [
        ("near / far", 3.1),
        ("Jain's index", 0.79),
        ("near / far", 1.2),
        ("Jain's index", 0.99),
    ]
    assert all(len(number.ours) == 4 for number in found.numbers)
    assert found.distances[found.nearest] == min(found.distances)
    first = [(n.ours[0] or 0.0) / n.paper - 1 for n in found.numbers]
    assert found.distances[0] == pytest.approx(math.sqrt(sum(d * d for d in first) / 4))


def test_a_setting_gives_what_its_scenario_gives(found: Robust) -> None:
    settings = {
        **{"flow.*.controller": "reno", "bottleneck.queue.capacity": "20 packets"},
        **found.settings[2],
        **{"duration": "40 s", "warmup": "10 s", "seed": 3},
    }
    alone = fairhaul.run(OWN / "two-flows.toml", settings).measures[0]
    assert found.numbers[1].ours[2] == pytest.approx(alone["fairness"]["jain"])


def test_the_page_and_the_tables_say_what_was_found(found: Robust, tmp_path: Path) -> None:
    answer = robust_outcome.answer(found)
    assert f"All claims hold in {found.all_hold} of 4 settings" in answer
    assert "All 4 printed numbers come out within 10 %" in answer
    page = report.write(tmp_path / "report.html", found).read_text()
    assert "bottleneck.delay" in page
    assert "1 ms to 9 ms" in page
    assert (tmp_path / "figures" / "numbers.svg").exists()
    rows = robust_outcome.number_rows(found)
    assert [row[2] for row in rows] == ["3.1", "0.79", "1.2", "0.99"]


def test_the_command_keeps_its_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", str(OWN), "--robust", "--settings", "2", "--out", str(tmp_path)]
    assert cli.status_of([*command, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert len(Store(tmp_path)) == 12
    assert cli.status_of(command) == 0
    printed = capsys.readouterr().out
    assert "Printed numbers" in printed
    assert len(Store(tmp_path)) == 12, "nothing was run again"
    again = robust(papers.paper_of(OWN), "table1", settings=2, out=tmp_path)
    assert again.values() == first["values"]


def test_what_is_not_open_cannot_be_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.status_of(["reproduce", "synctcp", "--robust"]) == 2
    assert "declares no open settings" in capsys.readouterr().err
    assert cli.status_of(["reproduce", "fhstcp", "--robust", "--only", "figure3"]) == 2
    assert "these do: table1" in capsys.readouterr().err


def test_the_rule_by_which_groups_differ_most_is_found() -> None:
    settings = [{"rate": f"{n} Mbit/s", "kind": "a" if n % 2 else "b"} for n in range(1, 9)]
    split = best_split(settings, [n >= 6 for n in range(1, 9)])
    assert split is not None
    assert (split.key, split.rule, split.right) == ("rate", "from 6 Mbit/s", 8)
    assert (split.selected, split.others) == ((3, 3), (0, 5))
    # One way in 8 over 3 = 56 to choose the three, and 2 x 7 limits and 2 words were tried.
    assert split.p == pytest.approx(16 / 56)
    assert not split.is_beyond_chance
    split = best_split(settings, [n % 2 == 1 for n in range(1, 9)])
    assert split is not None
    assert (split.key, split.rule) == ("kind", "is a")
    assert best_split(settings, [True] * 8) is None
    # A limit that says hardly more than "never": 1 of 9 settings more or less.
    many = [{"rate": n} for n in range(40)]
    rare = best_split(many, [n in (3, 20, 33) for n in range(40)])
    assert rare is not None
    assert not rare.is_beyond_chance
    common = best_split(many, [n < 20 or n == 30 for n in range(40)])
    assert common is not None
    assert common.is_beyond_chance
    assert (common.rule, common.selected, common.others) == ("below 20", (20, 20), (1, 20))
    assert [number_of(value) for value in (3, "2.5 ms", "80 ms..200 ms", "red", True)] == [
        *(3.0, 2.5, None, None, None)
    ]

"""What the tools of docs/search.md read and count: mutants, coverage and the ledger of the soak."""

from __future__ import annotations

import json
from pathlib import Path

from tools import seconds
from tools.coverage import Reached, read_lcov
from tools.mutants import SENDERS, Mutant, Verdict, chosen, listed, shares, verdicts_of
from tools.soak import INVARIANTS, OBJECTS, Row, next_seed, read_fuzz, sums, table

PAGE = Path(__file__).parents[1] / "docs" / "search.md"


def test_a_time_has_a_unit() -> None:
    assert [seconds(text) for text in ("90s", "1.5m", "8h")] == [90, 90, 28_800]


def test_a_mutant_is_named_by_its_place_among_the_same_changes_of_its_file() -> None:
    names = ["crates/cc/src/a.rs:3:5: replace + with - in f"]
    names += ["crates/cc/src/a.rs:9:1: replace + with - in f", "crates/cc/src/b.rs:1:1: replace f"]
    mutants = listed(json.dumps([{"name": name} for name in names]))
    assert [mutant.key for mutant in mutants] == [
        ("crates/cc/src/a.rs", "replace + with - in f", 1),
        ("crates/cc/src/a.rs", "replace + with - in f", 2),
        ("crates/cc/src/b.rs", "replace f", 1),
    ]
    outcomes = {
        "outcomes": [
            {"scenario": "Baseline", "summary": "Success"},
            {"scenario": {"Mutant": {"name": names[1]}}, "summary": "MissedMutant"},
            {"scenario": {"Mutant": {"name": names[2]}}, "summary": "CaughtMutant"},
        ]
    }
    verdicts = verdicts_of(outcomes, mutants, "c")
    assert [verdict.outcome for verdict in verdicts] == ["survived", "killed"]
    assert shares(verdicts, {"cc": 3, "path": 0, "sim": 0})[0] == [
        "`cc`", "3", "2", "0", "1", "1", "50 %",
    ]  # fmt: skip


def test_all_mutants_of_a_crate_of_rules_are_tried_and_a_sample_of_the_senders() -> None:
    mutants = [
        Mutant(file=f"crates/{crate}/src/a.rs", change="x", number=number)
        for crate, count in (("cc", 50), ("sim", 3 * SENDERS))
        for number in range(count)
    ]
    order = chosen(mutants)
    assert order == chosen(reversed(mutants))
    assert sum(mutant.crate == "cc" for mutant in order) == 50
    assert sum(mutant.crate == "sim" for mutant in order) == SENDERS


def test_a_survivor_that_same_record_finds_is_killed() -> None:
    mutant = Mutant(file="crates/cc/src/a.rs", change="x", number=1)
    first = Verdict(mutant=mutant, outcome="survived", commit="c")
    again = Verdict(mutant=mutant, outcome="survived", same_record="killed", commit="c")
    assert (first.killed, again.killed) == (False, True)


def test_coverage_counts_lines_and_sides_of_branches_before_the_tests() -> None:
    source = "fn a() {\n  if b {\n    c()\n  }\n}\n#[cfg(test)]\nmod tests {}\n"
    report = "SF:/a.rs\nDA:1,5\nDA:2,5\nDA:3,0\nDA:4,0\nDA:5,5\nDA:7,1\n"
    report += "BRDA:2,0,0,0\nBRDA:2,0,1,5\nend_of_record\nSF:/other.rs\nDA:1,1\nend_of_record\n"
    found = read_lcov(report, {"/a.rs": source})
    assert list(found) == ["/a.rs"]
    assert found["/a.rs"].counts() == (5, 3, 2, 1)
    assert list(found["/a.rs"].unreached()) == [(3, 2)]
    assert list(Reached(lines={1: 1, 2: 0}).unreached()) == [(2, 1)]


def test_the_ledger_has_what_make_fuzz_prints() -> None:
    printed = (
        "Scenarios, seed 7, for 60s:\n"
        "60 s: 120 cases, 2.0 per second: 90 passed, 29 refused, 0 not finished, 1 failed; x\n"
        "  scenario: 4000 inputs, no failure\n"
        "  record: FAILED; see target/fuzz-record.log and fuzz/artifacts/record\n"
        "  objects that want much: 30 inputs, no failures\n"
    )
    assert read_fuzz(printed) == {
        INVARIANTS: (120, 1),
        "reader of a scenario": (4000, 0),
        "reader of a record": (0, 1),
        OBJECTS: (30, 0),
    }
    row = Row(part=INVARIANTS, seed=3, inputs=10, findings=1, seconds=1800, commit="c")
    assert sums([row, row]) == [[INVARIANTS, "1", "20", "2", "1.00"]]
    assert (next_seed([]), next_seed([row])) == (1, 4)


def test_the_page_has_the_sums_of_the_ledger() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")

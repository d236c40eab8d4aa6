"""Flows off the clean path behave as RFCs and Linux have it: the scenarios of `off_the_path`.

Each scenario says what is expected and where that comes from: an RFC, or the figure of Linux.
`fairhaul check --strict tests/off_the_path` shows them all, and `--engine sim,linux` shows Linux
beside the simulator.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import fairhaul
from fairhaul.studies.expectations.checking import Check

CASES = Path(__file__).with_name("off_the_path")


def unmet(found: Check) -> list[str]:
    """Give a line for each expectation that is not met: its file, its bound and the estimate."""
    return [
        f"{Path(checked.case.file).name} ({checked.case.title}): {one.expectation.what} "
        f"{one.verdict}: expected {one.expectation.bound()}, measured {one.by['sim'].estimate}"
        for checked in found.cases
        for one in checked.expectations
        if one.verdict != "met"
    ]


def test_every_expectation_off_the_clean_path_is_met() -> None:
    found = fairhaul.check(CASES, seeds=5)
    assert len({case.case.file for case in found.cases}) == len(list(CASES.glob("*.toml")))
    for case in found.cases:
        if any(one.verdict != "met" for one in case.expectations):
            more = fairhaul.check(case.case.file, seeds=20)
            assert replace(more, strict=True).passed(), "\n".join(unmet(more))


def test_what_is_not_met_is_named_with_its_file_and_its_number() -> None:
    wrong = {"bottleneck.rate": "10 Mbit/s", "duration": "12 s", "warmup": "2 s"}
    line = unmet(fairhaul.check(CASES / "lost-acknowledgements.toml", wrong, seeds=5))[0]
    assert line.startswith("lost-acknowledgements.toml (Four controllers with lost ack")
    assert "The flow has nearly the whole link, Mbit/s. not met: expected >= 44.5, meas" in line

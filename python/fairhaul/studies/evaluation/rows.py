"""The rows of an evaluation: one for each expectation, over all points of its scenario's sweep.

They stand under the headings of RFC 9743 (BCP 133), which `criteria.toml` lists. Rows for senders
with ECT(1) do not apply to a controller that cannot be one.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Literal

from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import variant
from fairhaul.studies.expectations import WORST_FIRST, Expectation, Judged, Verdict, verdict_of
from fairhaul.studies.expectations.cases import Case
from fairhaul.studies.expectations.checking import Check, Checked, CheckedCase
from fairhaul.studies.expectations.words import measured
from fairhaul.text.phrases import value_text

SOURCE = re.compile(r"RFC 9743, (\d+(?:\.\d+)+L?)")
# What a row says of a controller that cannot be what it is about.
DOES_NOT_APPLY: Literal["does not apply"] = "does not apply"
RowVerdict = Verdict | Literal["does not apply"]
# Margins are drawn up to this number.
MOST_MARGIN = 4.0


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A heading of RFC 9743: its section, its title, and how strongly it is wanted."""

    section: str
    title: str
    level: Literal["MUST", "SHOULD", ""] = ""
    """Empty where the document only says what to expect."""
    missing: str = ""
    """Why no run can be evidence for it; empty where runs are."""


_FILE = Path(__file__).with_name("criteria.toml")
HEADINGS = tuple(
    Heading(**keys) for keys in tomllib.loads(_FILE.read_text(encoding="utf-8"))["heading"]
)


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was found for a row and a controller, at the point of the sweep where it is worst."""

    verdict: RowVerdict
    points: int
    worst: Checked | None
    """None where the row does not apply."""
    point: str
    """What the sweep set at the worst point; empty without a sweep."""
    reason: str = ""
    """Why the row does not apply; empty where it does."""

    @property
    def by(self) -> Mapping[Engine, Judged]:
        """The results of each engine at the worst point; none where the row does not apply."""
        return {} if self.worst is None else self.worst.by

    @property
    def margin(self) -> tuple[float, float, float] | None:
        """The mean and the ends of the interval over the bound, or the bound over them.

        1 is the bound, and more than 1 is within it. None if there is no such number.
        """
        judged = next(iter(self.by.values()), None)
        if self.worst is None or judged is None or judged.estimate is None:
            return None
        of, expectation = judged.estimate, self.worst.expectation
        ends = of.ends() or (of.mean, of.mean)
        low, high = sorted(_margin(value, expectation) for value in ends)
        return _margin(of.mean, expectation), low, high

    def text(self) -> str:
        """Write what was measured by each engine, and where."""
        if self.worst is None:
            return ""
        by, form = self.worst.by.items(), self.worst.expectation.form
        parts = [
            measured(judged, form) + (f" ({engine})" if len(by) > 1 else "")
            for engine, judged in by
        ]
        text = ", ".join(parts) or "not run"
        if self.worst.engines_disagree:
            text += "; the engines disagree"
        return f"{text} at {self.point}" if self.point else text

    def to_dict(self) -> dict[str, Any]:
        """Give the verdict, and the numbers of the worst point."""
        return {
            "verdict": self.verdict,
            "points": self.points,
            "worst_point": self.point or None,
            "reason": self.reason or None,
            "results": {} if self.worst is None else self.worst.to_dict()["results"],
        }


@dataclass(frozen=True, kw_only=True)
class Row:
    """An expectation of a scenario, and what was found for each controller."""

    section: str
    label: str
    """The section and a letter, such as `5.1.1a`."""
    file: str
    title: str
    expectation: Expectation
    found: Mapping[str, Found]
    """By controller or stack."""

    def to_dict(self) -> dict[str, Any]:
        """Give the row as it is printed in JSON."""
        return {
            "label": self.label,
            "scenario": self.file,
            **self.expectation.to_dict(),
            "found": {name: of.to_dict() for name, of in self.found.items()},
        }


def _margin(value: float, expectation: Expectation) -> float:
    if expectation.at_least is not None:
        margin = value / expectation.at_least if expectation.at_least else MOST_MARGIN
    else:
        most = expectation.at_most or 0.0
        margin = most / value if value else MOST_MARGIN
    return min(max(margin, 0.0), MOST_MARGIN)


def rows_of(
    checks: Mapping[str, Check], of_some: Sequence[Case], reasons: Mapping[str, str]
) -> list[Row]:
    """Give a row for each expectation of each file, in the order of the headings.

    The rows of `of_some` do not apply to the controllers that `reasons` names.
    """
    files_of = {name: by_file(check) for name, check in checks.items()}
    every = [checked.case for check in checks.values() for checked in check.cases]
    cases = {case.file: case for case in reversed([*every, *of_some])}
    found: list[tuple[str, Case, int, dict[str, Found]]] = []
    for file in sorted(cases):
        for place, expectation in enumerate(cases[file].expectations):
            each = {
                name: found_at(files[file], place) if file in files else not_of(reasons[name])
                for name, files in files_of.items()
            }
            found.append((_section(file, expectation), cases[file], place, each))
    order = [heading.section for heading in HEADINGS]
    found.sort(key=lambda row: order.index(row[0]))
    letters: defaultdict[str, Iterator[str]] = defaultdict(lambda: iter(ascii_lowercase))
    return [
        Row(
            section=section,
            label=f"{section}{next(letters[section])}",
            file=Path(case.file).name,
            title=case.scenario.title,
            expectation=case.expectations[place],
            found=each,
        )
        for section, case, place, each in found
    ]


def not_of(reason: str) -> Found:
    """Say that a row does not apply, and why."""
    return Found(verdict=DOES_NOT_APPLY, points=0, worst=None, point="", reason=reason)


def verdict_of_rows(verdicts: Sequence[RowVerdict]) -> RowVerdict | None:
    """Judge a heading by the verdicts of its rows; None without rows."""
    applied: list[Verdict] = [each for each in verdicts if each != DOES_NOT_APPLY]
    return verdict_of(applied) or (DOES_NOT_APPLY if verdicts else None)


def _section(file: str, expectation: Expectation) -> str:
    if (match := SOURCE.match(expectation.source)) is None:
        raise ValueError(f"{file}: source = {expectation.source!r} does not begin with a section")
    return match[1]


def by_file(check: Check) -> dict[str, list[CheckedCase]]:
    """Give the cases of each file: the points of its sweep."""
    files: dict[str, list[CheckedCase]] = {}
    for case in check.cases:
        files.setdefault(case.case.file, []).append(case)
    return files


def found_at(cases: Sequence[CheckedCase], place: int) -> Found:
    """Judge an expectation over all points of a sweep."""
    worst = min(cases, key=lambda case: _rank(case.expectations[place]))
    settings = {
        key.rpartition(".")[2]: value
        for key, value in variant(worst.case.scenario).items()
        if not key.startswith("flow.mine*")
    }
    verdict = verdict_of([case.expectations[place].verdict for case in cases])
    assert verdict is not None, "a file has at least one point"
    return Found(
        verdict=verdict,
        points=len(cases),
        worst=worst.expectations[place],
        point=", ".join(f"{key} = {value_text(value)}" for key, value in settings.items()),
    )


def worst_of(cases: Sequence[CheckedCase]) -> CheckedCase:
    """Give the point of a sweep that has the worst of all expectations."""
    return min(cases, key=lambda case: min(map(_rank, case.expectations)))


def _rank(checked: Checked) -> tuple[int, float]:
    """Order points from the worst verdict and the smallest margin on."""
    found = Found(verdict=checked.verdict, points=1, worst=checked, point="")
    margin = found.margin
    return WORST_FIRST.index(checked.verdict), margin[0] if margin else -1.0

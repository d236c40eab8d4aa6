"""What an evaluation runs for a transport stack beside the criteria, and the rows of it.

These are the scenarios for stacks (`expectations/stacks`) and, if the stack has a BBR, the cases of
BBR's draft. Their rows stand under the documents that their expectations name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairhaul.studies.evaluation.rows import Row, by_file, found_at, not_of, worst_of
from fairhaul.studies.expectations.bbr_cases import FLOW, bbr_setting, write_cases
from fairhaul.studies.expectations.checking import Check, CheckedCase
from fairhaul.studies.expectations.stack_cases import MINE, files_for, stack_setting

# The flows that the criteria judge.
JUDGED = "mine*"
DOCUMENTS: Mapping[str, str] = {
    "RFC 9002": "loss detection and congestion control",
    "RFC 6298": "timeouts",
    "RFC 9438": "CUBIC",
    "RFC 9406": "HyStart++",
    "RFC 9743": "beside CUBIC, and on another path",
    "RFC 9000": "the connection",
    "BBRV3": "BBR version 3, the cases of the draft",
}
SOURCE = re.compile("|".join(DOCUMENTS))
OF_ANOTHER = "the scenario is about another controller or protocol"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Scenarios with a controller or a stack in their judged flows."""

    name: str
    """The controller or the stack, as it was given."""
    files: Sequence[Path]
    settings: Sequence[tuple[str, str]]
    flow: str
    """A pattern of the names of the judged flows."""
    by_criteria: bool
    """Whether these are the scenarios of the criteria."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A plan, and what was found."""

    plan: Plan
    check: Check

    def worst(self) -> Check:
        """Give the check with one point of each sweep, at which most is not met."""
        cases = [worst_of(of) for of in by_file(self.check).values()]
        return replace(self.check, cases=tuple(cases))


def plans_of(stack: str, folder: Path) -> Iterator[Plan]:
    """Give the plans for a stack; the cases of BBR are written into a folder."""
    settings = [stack_setting(stack)]
    files = files_for(stack)
    yield Plan(name=stack, files=files, settings=settings, flow=MINE, by_criteria=False)
    if cases := write_cases(stack, folder):
        settings = [bbr_setting(stack)]
        yield Plan(name=stack, files=cases, settings=settings, flow=FLOW, by_criteria=False)


def stack_rows(parts: Sequence[Part]) -> list[Row]:
    """Give a row for each expectation of each file, in the order of the documents."""
    stacks = {part.plan.name: not_of(OF_ANOTHER) for part in parts}
    files: dict[str, dict[str, list[CheckedCase]]] = {}
    for part in parts:
        for file, cases in by_file(part.check).items():
            files.setdefault(Path(file).name, {})[part.plan.name] = cases
    rows = []
    for name, by_stack in files.items():
        first = next(iter(by_stack.values()))[0].case
        for place, expectation in enumerate(first.expectations):
            judged = {stack: found_at(cases, place) for stack, cases in by_stack.items()}
            found = stacks | judged
            section = _document(name, expectation.source)
            rows.append((section, name, first.scenario.title, expectation, found))
    order = list(DOCUMENTS)
    rows.sort(key=lambda row: order.index(row[0]))
    return [
        Row(
            section=section,
            label=f"S{number}",
            file=name,
            title=title,
            expectation=expectation,
            found=found,
        )
        for number, (section, name, title, expectation, found) in enumerate(rows, start=1)
    ]


def _document(file: str, source: str) -> str:
    if (match := SOURCE.match(source)) is None:
        raise ValueError(f"{file}: source = {source!r} does not begin with a document")
    return match[0]

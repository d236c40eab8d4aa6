"""A check in words: the expectations of each scenario, and the number of each verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairhaul.report.outcome import Outcome, Section
from fairhaul.statistics.estimate import LEAST_RUNS, legend
from fairhaul.studies.expectations import MET, NOT_MET, UNDECIDED
from fairhaul.studies.expectations.words import measured
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine
    from fairhaul.studies.expectations.checking import Check, Checked, CheckedCase


def outcome_of(done: Check) -> Outcome:
    """Put the verdicts into words and tables."""
    counts = ", ".join(f"{done.count(v)} {v}" for v in (MET, NOT_MET, UNDECIDED))
    few = f" Fewer than {LEAST_RUNS} seeds decide nothing." if done.seeds < LEAST_RUNS else ""
    return Outcome(
        study="check",
        title=f"Check of {len(done.cases)} scenarios",
        question="Are the runs as their scenarios expect?",
        answer=f"Expectations: {counts}.{few}",
        evidence=lambda: [*(_section(case, done.engines) for case in done.cases), _how(done)],
        values=done.values,
    )


def _section(case: CheckedCase, engines: Sequence[Engine]) -> Section:
    columns = ["measured", "verdict"]
    if len(engines) > 1:
        columns = [f"{word} ({engine})" for engine in engines for word in columns]
    table = Table(
        title=f"{case.case.file}: {case.case.title}",
        columns=["expectation", "expected", *columns],
        rows=[_row(checked, engines) for checked in case.expectations],
        words=4,
    )
    disagree = [c.expectation.what for c in case.expectations if c.engines_disagree]
    points = [
        *(f"Not run on {engine}: {why}." for engine, why in case.refused.items()),
        *(f"The engines disagree beyond their intervals: {what}." for what in disagree),
    ]
    return Section(heading="", tables=[table], points=points)


def _row(checked: Checked, engines: Sequence[Engine]) -> list[str]:
    """Lay out an expectation: what, its bounds, and of each engine the number and the verdict."""
    row = [checked.expectation.what, checked.expectation.bound()]
    for engine in engines:
        judged = checked.by.get(engine)
        row += ["-", "not run"] if judged is None else [measured(judged), judged.verdict]
    return row


def _how(done: Check) -> Section:
    return Section(heading="", text=[legend(done.seeds)])

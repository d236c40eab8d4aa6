"""A check in words: the expectations of each scenario, and how their results are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairhaul.figures import figures as drawn
from fairhaul.report.outcome import Outcome, Section
from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import Engine
from fairhaul.statistics.estimate import LEAST_RUNS, LEVEL, Estimate, legend, text
from fairhaul.studies.expectations import MET, NOT_MET, UNDECIDED, WORST_FIRST, Judged
from fairhaul.text.digits import Significant
from fairhaul.text.phrases import count_of
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.expectations.checking import Check, Checked, CheckedCase

STATIONARY = (
    "Where endless flows had fewer than 20 cycles in the time of a number, it is shown how "
    "many runs are stationary: the other runs say little about the long term, which an expectation "
    "of a start or a change does not need."
)


AGAIN = (
    "Where it says how many runs a number is of, the first runs left it undecided: it was judged "
    "once more, by a 99 % interval."
)


def outcome_of(done: Check) -> Outcome:
    """Put the verdicts into words and tables."""
    counts = ", ".join(f"{done.count(v)} {v}" for v in (MET, NOT_MET, UNDECIDED))
    return Outcome(
        study="check",
        title=f"Check of {count_of(len(done.cases), 'scenario')}",
        question="Are the runs as their scenarios expect?",
        answer=f"{few(done.seeds)}Expectations: {counts}.",
        evidence=lambda: [
            *(
                _section(number, case, done.engines)
                for number, case in enumerate(sorted(done.cases, key=_rank), start=1)
            ),
            Section(heading="", text=[legend(done.seeds), *_again(done), *_stationary(done)]),
        ],
        values=done.values,
    )


def few(seeds: int) -> str:
    """Say with what an answer begins that so few seeds cannot give; nothing of enough seeds."""
    return f"Fewer than {LEAST_RUNS} seeds decide nothing. " if seeds < LEAST_RUNS else ""


def _stationary(done: Check) -> list[str]:
    """Say what numbers of stationary runs mean, if some are shown."""
    return [] if all(all(of.stationary) for of in _every(done)) else [STATIONARY]


def _again(done: Check) -> list[str]:
    """Say what a second look is, if there was one."""
    return [AGAIN] if any(of.estimate and again(of.estimate) for of in _every(done)) else []


def _every(done: Check) -> list[Judged]:
    expectations = [checked for case in done.cases for checked in case.expectations]
    return [of for checked in expectations for of in checked.by.values()]


def _rank(case: CheckedCase) -> int:
    """Order scenarios by their worst verdict."""
    return min(map(_place, case.expectations), default=len(WORST_FIRST))


def _place(checked: Checked) -> int:
    return WORST_FIRST.index(checked.verdict)


def _called(file: str) -> str:
    """Name a file as it was given, or one of the package by its folder and name."""
    inside = Path(__file__).parent
    return str(Path(file).relative_to(inside)) if Path(file).is_relative_to(inside) else file


def _section(number: int, case: CheckedCase, engines: Sequence[Engine]) -> Section:
    columns = ["measured", "verdict"]
    if len(engines) > 1:
        columns = [f"{word} ({engine})" for engine in engines for word in columns]
    table = Table(
        title=f"{_called(case.case.file)}: {case.case.title}",
        columns=["expectation", "expected", *columns],
        rows=[_row(checked, engines) for checked in sorted(case.expectations, key=_place)],
        words=4,
        least=[*columns[::2], "expected"],
    )
    disagree = [c.expectation.what for c in case.expectations if c.engines_disagree]
    points = [
        *(f"Not run on {engine}: {why}." for engine, why in case.refused.items()),
        *(f"The engines disagree beyond their intervals: {what}." for what in disagree),
    ]
    section = Section(heading="", tables=[table], points=points)
    if NOT_MET not in case.verdicts or "sim" not in engines:
        return section
    # A picture of what is not as expected: the run of the scenario's own seed.
    run = case.case.scenario
    return replace(
        section,
        figures=lambda: for_each([run], lambda _, of: drawn.of_run(of, f"{number}-"), jobs=1)[0],
    )


def _row(checked: Checked, engines: Sequence[Engine]) -> list[str]:
    """Lay out an expectation: what, its bounds, and of each engine the number and the verdict."""
    row = [checked.expectation.what, checked.expectation.bound()]
    for engine in engines:
        judged = checked.by.get(engine)
        form = checked.expectation.form
        row += ["-", "not run"] if judged is None else [measured(judged, form), judged.verdict]
    return row


def measured(judged: Judged, form: Significant) -> str:
    """Write the number of an expectation over the runs of an engine, with its interval.

    Where runs are not stationary, the text says how many are, and where a transport stack closed a
    connection, in how many.
    """
    if judged.estimate is None:
        return "not known: no run has this number" if judged.values else "no valid run"
    missing = judged.values.count(None)
    lacking = f" ({missing} of {len(judged.values)} runs lack it)" if missing else ""
    steady = judged.stationary
    short = "" if all(steady) else f", {sum(steady)} of {len(steady)} runs stationary"
    of = f" of {judged.estimate.runs} runs" if again(judged.estimate) else ""
    return text(judged.estimate, form) + of + lacking + short + closed(judged)


def closed(judged: Judged) -> str:
    """Say in how many runs a transport stack closed a connection; nothing if in none."""
    of = f"{judged.closed} of {len(judged.values)} runs"
    return f"; a connection was closed in {of}" if judged.closed else ""


def again(of: Estimate) -> bool:
    """Whether an estimate is of a second look at what the first runs left undecided."""
    return of.level != LEVEL


def verdicts(checked: Checked) -> str:
    """Write the verdict of each engine with what was measured."""
    form = checked.expectation.form
    parts = [
        f"{judged.verdict} on {engine}: {measured(judged, form)}"
        for engine, judged in checked.by.items()
    ]
    if not parts:
        parts = ["undecided: no engine could run it"]
    few = any(len(judged.values) < LEAST_RUNS for judged in checked.by.values())
    if few:
        parts.append(f"fewer than {LEAST_RUNS} runs decide nothing")
    if checked.engines_disagree:
        parts.append("the intervals of the two engines have no number in common")
    return "; ".join(parts)

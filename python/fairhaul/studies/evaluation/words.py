"""The sentences and cells of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence

from fairhaul.statistics.estimate import LEAST_RUNS, legend
from fairhaul.studies.evaluation import Evaluation
from fairhaul.studies.evaluation.criteria import HEADINGS, Heading
from fairhaul.studies.evaluation.rows import Row
from fairhaul.studies.expectations import MET, NOT_MET, UNDECIDED

NOT_EVIDENCED = "not evidenced"


def verdict(done: Evaluation, heading: Heading, controller: str) -> str:
    """Give the verdict on a heading."""
    return done.verdict(heading.section, controller) or NOT_EVIDENCED


def overview(done: Evaluation) -> list[list[str]]:
    """Give a row for each heading: section, level, title, and the verdict of each controller."""
    return [
        [
            heading.section,
            heading.level or "-",
            heading.title,
            *(verdict(done, heading, name) for name in done.controllers),
        ]
        for heading in HEADINGS
    ]


def overview_columns(done: Evaluation) -> list[str]:
    """Give the heads of the columns of the overview."""
    return ["section", "level", "criterion", *done.controllers]


def counts(done: Evaluation, controller: str) -> str:
    """Say how many headings have which verdict."""
    verdicts = [verdict(done, heading, controller) for heading in HEADINGS]
    parts = [f"{verdicts.count(one)} {one}" for one in (MET, NOT_MET, UNDECIDED, NOT_EVIDENCED)]
    return f"{controller}: {', '.join(parts)}"


def answer(done: Evaluation) -> str:
    """Say the result, and what the verdict of several engines is."""
    text = f"Of {len(HEADINGS)} criteria: {'; '.join(counts(done, n) for n in done.controllers)}."
    if len(done.engines) > 1:
        text += f" A criterion is met if it is met in {' and in '.join(done.engines)}."
    return text


def shortcomings(done: Evaluation) -> list[str]:
    """Give a line for each row that is not met."""
    return [
        f"{row.label}, {name}: {found.verdict}. Expected: {row.expectation.what} "
        f"({row.expectation.bound()}). Measured: {found.text()}."
        for name in done.controllers
        for row in done.rows
        if (found := row.found[name]).verdict != MET
    ]


def columns(done: Evaluation) -> list[str]:
    """Give the heads of the table of a heading."""
    return ["", "bound", "what is expected", *done.controllers, "scenario"]


def row(of: Row, controllers: Sequence[str]) -> list[str]:
    """Lay out a row: its bound, what is expected, and what was found for each controller."""
    found = [f"{of.found[name].verdict}: {of.found[name].text()}" for name in controllers]
    bound = of.expectation.bound()
    if of.expectation.relative_to:
        bound += " x cubic's"
    return [of.label, bound, of.expectation.what, *found, of.file]


def sources(rows: Sequence[Row]) -> str:
    """Say where the bounds of the rows of a heading come from."""
    return "Bounds: " + "; ".join(f"{row.label} {row.expectation.source}" for row in rows) + "."


def method(done: Evaluation) -> list[str]:
    """Say how the verdicts came about."""
    lines = [
        f"Each scenario ran with {done.seeds} seeds. {legend(done.seeds)} A row is met if the "
        "whole interval is within the bound, not met if the whole interval is outside, and "
        "undecided otherwise; with a sweep the worst point is shown. A criterion is met if all of "
        "its rows are.",
        "RFC 9743 sets no thresholds. The bounds are ours unless a source is named; where the "
        'bound is "x cubic\'s", the number is divided by that of cubic in the same place, seed '
        "by seed.",
    ]
    if done.seeds < LEAST_RUNS:
        lines.append(f"Fewer than {LEAST_RUNS} seeds decide nothing.")
    return lines


def commands(done: Evaluation) -> list[str]:
    """Give the command that repeats the runs of a scenario, FILE, with each controller."""
    return [
        f"fairhaul check scenarios/FILE {_options(settings)} --seeds {done.seeds}"
        for settings in done.settings
    ]


def _options(settings: Sequence[str]) -> str:
    return " ".join(f"--set '{setting}'" for setting in settings)

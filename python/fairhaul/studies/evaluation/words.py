"""An evaluation in words: the overview, how it was measured, and each criterion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING

from fairhaul.figures.charts import Panel, Scale, panels
from fairhaul.figures.figure import Figure
from fairhaul.figures.words import reach
from fairhaul.report.outcome import Outcome, Section
from fairhaul.statistics.estimate import LEAST_RUNS, legend
from fairhaul.studies.evaluation.rows import (
    DOES_NOT_APPLY,
    HEADINGS,
    MOST_MARGIN,
    Heading,
    Row,
)
from fairhaul.studies.evaluation.stacks import DOCUMENTS
from fairhaul.studies.expectations import MET, NOT_MET, UNDECIDED, WORST_FIRST
from fairhaul.studies.expectations.words import STATIONARY, few
from fairhaul.text.phrases import count_of
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.evaluation import Evaluation

NOT_EVIDENCED = "not evidenced"
# How the headings are named on which all controllers have the same verdict.
LEADS = (
    ("Met", MET),
    ("Not evidenced here", NOT_EVIDENCED),
    ("Does not apply", DOES_NOT_APPLY),
)
PARTS = {
    "5.1": "Single algorithm",
    "5.2": "Mixed algorithms",
    "5.3": "Other criteria",
    "6": "General use",
    "7": "Special cases",
}


def outcome_of(done: Evaluation) -> Outcome:
    """Put an evaluation into words and tables."""
    return Outcome(
        study="evaluate",
        title=f"Evaluation of {', '.join(done.controllers)} by RFC 9743",
        question="Which criteria of RFC 9743 are met?",
        answer=answer(done),
        evidence=lambda: [
            _overview(done),
            *([_of_stacks(done)] if done.stacks else []),
            _method(done),
            *(_part(done, part) for part in PARTS),
            *([_documents(done)] if done.stacks else []),
        ],
        values=done.values,
    )


def answer(done: Evaluation) -> str:
    """Say how many headings have which verdict, and what the verdict of several engines is."""
    counts = []
    for name in done.controllers:
        verdicts = [_verdict(done, heading, name) for heading in HEADINGS]
        kinds = (MET, NOT_MET, UNDECIDED, NOT_EVIDENCED)
        parts = [f"{verdicts.count(verdict)} {verdict}" for verdict in kinds]
        if DOES_NOT_APPLY in verdicts:
            parts.append(f"{verdicts.count(DOES_NOT_APPLY)} that {DOES_NOT_APPLY}")
        counts.append(f"{name}: {', '.join(parts)}")
    text = f"{few(done.seeds)}Of {len(HEADINGS)} criteria: {'; '.join(counts)}."
    if done.stacks:
        each = "; ".join(f"{name}: {_counted(done.stack_rows, name)}" for name in done.stacks)
        text += f" Of the expectations of scenarios for transport stacks: {each}."
    if len(done.engines) > 1:
        text += f" A criterion is met if it is met in {' and in '.join(done.engines)}."
    return text


def _verdict(done: Evaluation, heading: Heading, controller: str) -> str:
    return done.verdict(heading.section, controller) or NOT_EVIDENCED


def _overview(done: Evaluation) -> Section:
    """Give a verdict on each heading, the failing ones first, and a line for each failing row.

    Headings that all controllers meet, or that no run is evidence for, are named below the table.
    """
    verdicts = {of.section: [_verdict(done, of, n) for n in done.controllers] for of in HEADINGS}
    alike = {section: each[0] for section, each in verdicts.items() if len({*each}) == 1}
    named = {MET, NOT_EVIDENCED, DOES_NOT_APPLY}
    shown = [of for of in HEADINGS if alike.get(of.section) not in named]
    order = (*WORST_FIRST, DOES_NOT_APPLY)
    shown.sort(key=lambda of: min(map(order.index, verdicts[of.section])))
    notes = [
        f"{lead}: {', '.join(sections)}."
        for lead, verdict in LEADS
        if (sections := [section for section, of in alike.items() if of == verdict])
    ]
    overview = Table(
        title=f"Criteria, {count_of(done.seeds, 'seed')}",
        columns=["section", "level", "criterion", *done.controllers],
        rows=[[of.section, of.level or "-", of.title, *verdicts[of.section]] for of in shown],
        words=3 + len(done.controllers),
        prose=True,
        notes=notes,
    )
    points = [*_failing(done.rows, done.controllers), *_inapplicable(done)]
    return Section(heading="", tables=[overview], points=points)


def _failing(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Give a line for each row that is not met, and name the rows that are undecided."""
    failing = [
        f"{row.label}, {name}: not met. Expected: {row.expectation.what} "
        f"({row.expectation.bound()}). Measured: {row.found[name].text()}."
        for name in names
        for row in rows
        if row.found[name].verdict == NOT_MET
    ]
    for name in names:
        labels = [row.label for row in rows if row.found[name].verdict == UNDECIDED]
        if labels and len(labels) < len(rows):
            failing.append(
                f"Undecided for {name}: {', '.join(labels)}; the report (--report) has each."
            )
    return failing


def _counted(rows: Sequence[Row], name: str) -> str:
    """Say how many rows have which verdict, of the verdicts that there are."""
    verdicts = [row.found[name].verdict for row in rows]
    kinds = (MET, NOT_MET, UNDECIDED)
    counts = [f"{verdicts.count(of)} {of}" for of in kinds if of in verdicts]
    if others := verdicts.count(DOES_NOT_APPLY):
        counts.append("1 does not apply" if others == 1 else f"{others} do not apply")
    return ", ".join(counts)


def _of_stacks(done: Evaluation) -> Section:
    """Count the verdicts of each document, and give a line for each row that is not met."""
    rows = [
        [document, title, *(_counted(of, name) for name in done.stacks)]
        for document, title, of in _by_document(done)
    ]
    table = Table(
        title="Documents, and the expectations of each",
        columns=["document", "about", *done.stacks],
        rows=rows,
        words=2 + len(done.stacks),
        prose=True,
    )
    points = _failing(done.stack_rows, done.stacks)
    return Section(heading="Scenarios for transport stacks", tables=[table], points=points)


def _by_document(done: Evaluation) -> Iterator[tuple[str, str, list[Row]]]:
    for document, title in DOCUMENTS.items():
        if of := [row for row in done.stack_rows if row.section == document]:
            yield document, title, of


def _documents(done: Evaluation) -> Section:
    """Give a table of each document, and the commands that repeat the runs."""
    tables = [
        _table(f"{document}: {title}", of, done.stacks)
        for document, title, of in _by_document(done)
    ]
    each = [f"fairhaul check --stack {quote(name)} --seeds {done.seeds}" for name in done.stacks]
    text = (
        "The scenarios are in studies/expectations/stacks of the package, and the cases of BBR "
        "in scenarios/conformance/bbr; for a stack their packets have 1500 B, and their rates are "
        "half more. The bounds are ours where no document has one. These commands repeat the runs, "
        "except for the cases of BBR:"
    )
    heading = "Scenarios for transport stacks, one by one"
    return Section(heading=heading, text=[text], tables=tables, commands=each, detailed=True)


def _inapplicable(done: Evaluation) -> list[str]:
    """Say for each controller which rows do not apply, and why."""
    points = []
    for name in done.controllers:
        rows = [row for row in done.rows if row.found[name].verdict == DOES_NOT_APPLY]
        if rows:
            labels = ", ".join(row.label for row in rows)
            points.append(
                f"Does not apply to {name}: {labels}, because {rows[0].found[name].reason}."
            )
    return points


def _method(done: Evaluation) -> Section:
    """Say how the verdicts came about, and how the runs are repeated."""
    text = [
        f"Seeds of each scenario: {done.seeds}. {legend(done.seeds)} A row is met if the "
        "whole interval is within the bound, not met if the whole interval is outside, and "
        "undecided otherwise; with a sweep the worst point is shown. A criterion is met if all of "
        f"its rows are. {STATIONARY}",
        "RFC 9743 sets no thresholds. The bounds are ours unless a source is named; where the "
        'bound is "x cubic\'s", the number is divided by that of cubic in the same place, seed '
        "by seed.",
    ]
    text.append("Each row names its scenario, FILE; its runs are repeated by:")
    return Section(heading="How it was measured", text=text, commands=commands(done), detailed=True)


def commands(done: Evaluation) -> list[str]:
    """Give the command that repeats the runs of a scenario, FILE, with each controller."""
    check = f"fairhaul check {quote(str(done.folder / 'FILE'))}{done.options}"
    each = (" ".join(f"--set {quote(of)}" for of in settings) for settings in done.settings)
    return [f"{check} {settings} --seeds {done.seeds}" for settings in each]


def _part(done: Evaluation, part: str) -> Section:
    headings = [heading for heading in HEADINGS if heading.section.startswith(f"{part}.")]
    rows = [row for heading in headings for row in done.of(heading.section)]
    return Section(
        heading=f"{part} {PARTS[part]}",
        points=[
            f"{heading.section} {heading.title}: not evidenced, {heading.missing}."
            for heading in headings
            if heading.missing
        ],
        figures=lambda: [_margins(done, part, rows)] if rows else [],
        tables=[
            _table(f"{heading.section} {heading.title}", done.of(heading.section), done.controllers)
            for heading in headings
            if not heading.missing
        ],
        detailed=True,
    )


def _table(title: str, rows: Sequence[Row], names: Sequence[str]) -> Table:
    columns = ["", "bound", "what is expected", *names, "scenario"]
    sources = "; ".join(f"{row.label} {row.expectation.source}" for row in rows)
    return Table(
        title=title,
        columns=columns,
        rows=[_row(row, names) for row in rows],
        words=len(columns),
        prose=True,
        notes=[f"Bounds: {sources}."],
    )


def _row(of: Row, controllers: Sequence[str]) -> list[str]:
    """Lay out a row: its bound, what is expected, and what was found for each controller."""
    each = [of.found[name] for name in controllers]
    found = [": ".join(filter(None, [one.verdict, one.text()])) for one in each]
    relative = _relative(of.expectation.relative_to)
    return [of.label, of.expectation.bound() + relative, of.expectation.what, *found, of.file]


def _relative(setting: str) -> str:
    """Say what a number was divided by."""
    key, _, value = setting.partition("=")
    if key.endswith("controller"):
        return f" x {value}'s"
    return f" x that with {key.rpartition('.')[2]} = {value}" if setting else ""


def _margins(done: Evaluation, part: str, rows: list[Row]) -> Figure:
    """Draw how far each number is from its bound, with its interval."""
    titles = {heading.section: heading.title for heading in HEADINGS}
    names = [f"{row.label} {titles[row.section]}" for row in rows]
    each = []
    for controller in done.controllers:
        marks = []
        for name, row in zip(names, rows, strict=True):
            mean, low, high = row.found[controller].margin or (None, None, None)
            marks.append({"row": name, "paper": 1.0, "mean": mean, "low": low, "high": high})
        scale = Scale(title=f"Margin of {controller} (1: the bound)", low=0.0, high=MOST_MARGIN)
        each.append(Panel(scale=scale, rows=marks))
    lines = f" Dots are means; {reach('lines', exact=done.seeds >= LEAST_RUNS)}."
    return Figure(
        name=f"margins-{part.replace('.', '-')}",
        title="Margins: 1 is the bound, and more is within it",
        caption="Measured / bound where the bound is the least, bound / measured where it is the "
        f"most; margins above {MOST_MARGIN:g} are drawn there.{lines if done.seeds > 1 else ''}"
        + (f" Those of {done.engines[0]} are shown." if len(done.engines) > 1 else ""),
        chart=panels(names, each),
    )

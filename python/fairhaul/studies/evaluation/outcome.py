"""An evaluation in words: the overview, how it was measured, and each criterion."""

from __future__ import annotations

from fairhaul.figures.charts import Panel, Scale, panels
from fairhaul.figures.figure import Figure
from fairhaul.report.outcome import Outcome, Section
from fairhaul.studies.evaluation import Evaluation, words
from fairhaul.studies.evaluation.criteria import HEADINGS, Heading
from fairhaul.studies.evaluation.rows import MOST_MARGIN, Row
from fairhaul.text.table import Table

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
        answer=words.answer(done),
        evidence=lambda: _sections(done),
        values=done.values,
    )


def _sections(done: Evaluation) -> list[Section]:
    overview = Table(
        title=f"All criteria, {done.seeds} seeds",
        columns=words.overview_columns(done),
        rows=words.overview(done),
        words=3 + len(done.controllers),
        prose=True,
    )
    return [
        Section(heading="", tables=[overview], points=words.shortcomings(done)),
        Section(
            heading="How it was measured",
            text=[
                *words.method(done),
                "Each row names its scenario, FILE; its runs are repeated, from the directory of "
                "the results, by:",
            ],
            commands=words.commands(done),
            detailed=True,
        ),
        *(_part(done, part) for part in PARTS),
    ]


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
        tables=[_table(done, heading) for heading in headings if not heading.missing],
        detailed=True,
    )


def _table(done: Evaluation, heading: Heading) -> Table:
    rows, columns = done.of(heading.section), words.columns(done)
    return Table(
        title=f"{heading.section} {heading.title}",
        columns=columns,
        rows=[words.row(row, done.controllers) for row in rows],
        words=len(columns),
        prose=True,
        notes=[words.sources(rows)],
    )


def _margins(done: Evaluation, part: str, rows: list[Row]) -> Figure:
    """Draw how far each number is from its bound, with its interval."""
    each = []
    for name in done.controllers:
        marks = []
        for row in rows:
            margin = row.found[name].margin
            mean, low, high = margin or (None, None, None)
            marks.append({"row": row.label, "paper": 1.0, "mean": mean, "low": low, "high": high})
        each.append(Panel(scale=Scale(title=name, low=0.0, high=MOST_MARGIN), rows=marks))
    return Figure(
        name=f"margins-{part.replace('.', '-')}",
        title="Margins: 1 is the bound, and more is within it",
        caption="Measured / bound where the bound is the least, bound / measured where it is the "
        f"most, with 95 % intervals; margins above {MOST_MARGIN:g} are drawn there."
        + (f" Those of {done.engines[0]} are shown." if len(done.engines) > 1 else ""),
        chart=panels([row.label for row in rows], each),
    )

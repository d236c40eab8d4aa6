"""The report of a paper reproduced: its claims, its experiments, and how to run it again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairhaul import _core, report
from fairhaul.comparison.answer import duration_text
from fairhaul.papers.experiment import Verdict
from fairhaul.papers.run import CHOSEN, DIFFERS, Part, Reproduction
from fairhaul.papers.table import Cell, Table
from fairhaul.report import Section

UNKNOWN = "Why is not settled here."
PAGE = "report.html"
AGREES = {True: "✓ agrees", False: "≠ differs", None: ""}
LEGEND = (
    "✓ agrees: the paper's value, as far as it is printed, lies in our 95 % interval, which ± "
    "gives; ≠ differs: it lies outside."
)


def write(done: Reproduction, out: Path) -> Path:
    """Write the report into the directory `out`; give the path of its page."""
    sections = [_claims(done), *(_part(part) for part in done.parts)]
    sections += [_differences(done), _choices(done), _again(done)]
    return report.write(
        out / PAGE,
        f"{done.paper.title} [{done.paper.key}], reproduced",
        done.paper.question,
        done.answer(),
        [section for section in sections if section is not None],
    )


def _claims(done: Reproduction) -> Section | None:
    if not done.claims:
        return None
    rows = [[claim.text, str(claim.verdict), claim.seen] for claim in done.claims]
    table = report.Table(columns=["claim", "here", "seen"], rows=rows, words=3, prose=True)
    text = ["Each is judged by the 95 % intervals; where these overlap, it is not settled."]
    return Section(heading="What the paper claims", text=text, tables=[table])


def _part(part: Part) -> Section:
    one = part.experiment
    text = [f"{one.about} {part.how()}."]
    text += [LEGEND] if any(row.has_paper() for t in part.tables for row in t.rows) else []
    return Section(
        heading=one.heading,
        text=text,
        tables=[table_of(table) for table in part.tables],
        figures=one.figures(part.found),
    )


def table_of(table: Table) -> report.Table:
    """Lay out a table: for each row the paper's numbers, ours, and whether they agree."""
    paired = any(row.has_paper() for row in table.rows)
    rows: list[list[str]] = []
    groups: list[int] = []
    for row in table.rows:
        groups.append(len(rows))
        who = ["ours"] if paired else []
        if row.has_paper():
            rows.append([row.label, "paper", *(_lines(cell.paper_text()) for cell in row.cells)])
        label = "" if row.has_paper() else row.label
        rows.append([label, *who, *(_lines(cell.ours_text()) for cell in row.cells)])
        if row.has_paper() and any(cell.agrees() is not None for cell in row.cells):
            rows.append(["", "", *(_verdict(cell) for cell in row.cells)])
    return report.Table(
        title=table.title,
        columns=[table.parameter, *([""] if paired else []), *table.columns],
        rows=rows,
        words=2 if paired else 1,
        groups=groups if paired else (),
        notes=table.notes,
    )


def _lines(text: str) -> str:
    """Put the two ends of a range below each other."""
    return text.replace(" to ", " to\n")


def _verdict(cell: Cell) -> str:
    return AGREES[cell.agrees()]


def _differences(done: Reproduction) -> Section | None:
    text = [
        f"{claim.verdict}: {claim.text}. {claim.seen} {claim.why or UNKNOWN}"
        for claim in done.claims
        if claim.verdict in {Verdict.PART, Verdict.NOT}
    ]
    lines = done.differences()
    if lines:
        text.append(f"{DIFFERS}:")
    return Section(heading="Where ours differs, and why", text=text, points=lines) if text else None


def _choices(done: Reproduction) -> Section | None:
    lines = done.remarks()[CHOSEN]
    text = ["Nothing was turned after a run to come closer to the paper."]
    return Section(heading=CHOSEN, text=text, points=lines) if lines else None


def _again(done: Reproduction) -> Section:
    cost = done.cost
    text = [
        f"Fairhaul {_core.__version__}: {done.command}",
        f"{done.how} Seeds are counted up from that of each scenario; the same version gives the "
        "same record, to the last bit, on every machine.",
        f"{cost.runs} runs with {cost.packets / 1e6:.4g} million packets took "
        f"{duration_text(cost.clock_s)}, and {duration_text(cost.cpu_s)} of processor time.",
    ]
    files = _files(done.parts)
    return Section(heading="How to run it again", text=text, tables=[files])


def _files(parts: Sequence[Part]) -> report.Table:
    rows = [
        [part.name, str(len(part.scenarios)), str(part.seeds), part.how().rpartition(" of ")[2]]
        for part in parts
    ]
    columns = ["experiment", "scenarios", "seeds", "virtual time of a run"]
    return report.Table(columns=columns, rows=rows)

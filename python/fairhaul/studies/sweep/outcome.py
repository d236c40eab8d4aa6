"""A sweep in words: its answer, its table, its figures, and where its results came from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from fairhaul.figures.axes import axes, label
from fairhaul.figures.figure import Figure
from fairhaul.figures.swept import answering, figures
from fairhaul.figures.words import too_short
from fairhaul.jobs.store import Store
from fairhaul.report.outcome import Outcome, Section
from fairhaul.results.summary import scenario_result
from fairhaul.results.table import Row, grid, parties, unfinished
from fairhaul.statistics.estimate import legend
from fairhaul.studies.sweep import Sweep
from fairhaul.studies.sweep.findings import findings
from fairhaul.text.phrases import count_of, listed, value_text
from fairhaul.text.table import Table

# Findings that the answer has; the report has all.
MOST_FINDINGS = 3


def outcome_of(done: Sweep) -> Outcome:
    """Put the results of a sweep into words and tables."""
    told = findings(done.rows, done.view.y)
    return Outcome(
        study="sweep",
        title=done.plan.points[0].title,
        question=_question(done.rows),
        answer=_answer(done.rows, told[:MOST_FINDINGS]),
        evidence=lambda: _sections(done, told[MOST_FINDINGS:]),
        values=lambda: {"scenarios": [scenario_result(row.runs) for row in done.rows if row.runs]},
    )


def _sections(done: Sweep, more: Sequence[str]) -> list[Section]:
    swept = cache(lambda: figures(done.rows, done.view))
    return [
        Section(
            heading="Over the swept keys",
            points=more,
            figures=lambda: [*answering(swept()), *_slider(done)],
            detailed=True,
        ),
        Section(
            heading="More over the swept keys",
            figures=lambda: swept()[len(answering(swept())) :],
            folded=True,
            detailed=True,
        ),
        Section(
            heading="Every point",
            text=[_how(done.rows)],
            tables=[replace(grid(done.rows), title="")],
        ),
        Section(
            heading="Where the results come from",
            tables=[_sessions(Store(done.directory))],
            folded=True,
            detailed=True,
        ),
    ]


def _slider(done: Sweep) -> list[Figure]:
    """Draw the goodputs with a slider over the points."""
    from fairhaul.figures.steps import goodputs

    table = [row for row in done.rows if row.runs]
    names = [label(row, axes(table)) for row in table]
    digests = {row.point.digest for row in table}
    rows = Store(done.directory).rows("scenario", digests)
    scenarios = [json.loads(str(row["resolved"])) for row in rows]
    slider = goodputs(names, [parties(row.summary) for row in table], scenarios)
    return [slider] if slider else []


def _question(table: Sequence[Row]) -> str:
    keys = [axis.name for axis in axes(table)]
    return f"How do the results depend on {listed(keys)}?" if keys else "What do the runs give?"


def _answer(table: Sequence[Row], first: Sequence[str]) -> str:
    """Say what differs beyond chance, and which points are the fairest and the least fair."""
    runs = sum(len(row.runs) for row in table)
    count = f"{count_of(len(table), 'point')}, {count_of(runs, 'run')}."
    return " ".join([count, *unfinished(table), *first, *_range(table)]) + _too_short(table)


def _range(table: Sequence[Row]) -> list[str]:
    judged = [(row.summary["fairness"]["jain"], row) for row in table if row.runs]
    known = [(jain["mean"], row) for jain, row in judged if jain is not None]
    one_flow = all(len(parties(row.summary)) < 2 for row in table if row.runs)
    if len(known) < 2 or one_flow:
        return []
    keys = axes(table)

    def where(row: Row) -> str:
        values = row.point.variant
        return ", ".join(f"{axis.name} = {value_text(values.get(axis.key))}" for axis in keys)

    (low, worst), (high, best) = (
        function(known, key=lambda pair: pair[0]) for function in (min, max)
    )
    return [
        f"Jain's index is {low:.3f} to {high:.3f}: lowest with {where(worst)}; highest with "
        f"{where(best)}."
    ]


def _too_short(table: Sequence[Row]) -> str:
    """Say at how many points runs are not stationary, and the duration that would suffice."""
    short = [row for row in table if not all(row.stationary)]
    if not short:
        return ""
    where = f"At {len(short)} of {len(table)} points runs are"
    if len(short) == len(table):
        where = "At every point runs are"
    runs = [run for row in short for run in row.runs if run["stationary"] is False]
    wanted = [run["wanted_duration_s"] for run in runs]
    known = [seconds for seconds in wanted if seconds is not None]
    return f" {too_short(where, max(known) if len(known) == len(runs) else None)}"


def _how(table: Sequence[Row]) -> str:
    counts = sorted({len(row.runs) for row in table if row.runs}) or [0]
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"Seeds of each point: {seeds}. " + (legend(counts[-1]) if counts[-1] > 1 else "")


def _sessions(store: Store) -> Table:
    used = set(store.column("result", "session"))
    sessions = [row for row in store.rows("session") if row["id"] in used]
    return Table(
        columns=["began", "command", "version", "machine", "processor", "Git"],
        rows=[
            [str(row[key]) or "-" for key in ("began", "command", "build", "machine")]
            + [f"{row['cores']} x {row['processor']}", str(row["git"]) or "-"]
            for row in sorted(sessions, key=lambda row: str(row["began"]))
        ],
        words=6,
        prose=True,
    )

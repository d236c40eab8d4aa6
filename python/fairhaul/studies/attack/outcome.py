"""An attack in words: the worst place and its run over time, the weaknesses, the map."""

from __future__ import annotations

import shlex
from itertools import pairwise
from typing import TYPE_CHECKING

from fairhaul.figures import figures as drawn
from fairhaul.figures.charts import Scale
from fairhaul.figures.charts.fields import heat
from fairhaul.figures.figure import Figure
from fairhaul.report.outcome import Outcome, Section
from fairhaul.runs.runs import for_each
from fairhaul.scenario.link import link
from fairhaul.statistics.estimate import legend
from fairhaul.studies.attack import Attack, words
from fairhaul.studies.attack.box import Range
from fairhaul.studies.attack.search import CELLS
from fairhaul.text.table import Table

if TYPE_CHECKING:
    pass


def outcome_of(done: Attack) -> Outcome:
    """Put an attack into words and tables."""
    of = done.objective
    return Outcome(
        study="attack",
        title=f"Attack on {done.attacked.name}: {of.name}",
        question=f"Where is the {of.meaning} largest with {done.attacked.name}?",
        answer=words.answer(done),
        evidence=lambda: [s for s in (_worst(done), _weaknesses(done), _map(done)) if s],
        values=done.values,
    )


def _worst(done: Attack) -> Section | None:
    if done.worst is None:
        return None
    run = done.attacked.scenario(done.worst.place, "", done.worst.trials[0].seed)
    value = words.number(done, done.worst.estimate)
    lines = [
        f"{done.objective.name}: {value} over {len(done.worst.trials)} seeds; figures show seed "
        f"{run.seed}."
    ]
    lines += [words.on_kernel(done, done.kernel)] if done.kernel else []
    return Section(
        heading="The smallest scenario",
        text=lines,
        commands=[f"fairhaul run {shlex.quote(str(done.file))}"] if done.file else [],
        figures=lambda: for_each([run], lambda _, of: drawn.of_run(of, "worst-"), jobs=1)[0],
        studio=link(run),
    )


def _weaknesses(done: Attack) -> Section | None:
    if not done.weaknesses:
        return None
    rows = [words.row(done, held, done.value_in_search(held)) for held in done.weaknesses]
    title = f"Distinct weaknesses of {done.attacked.name}: {done.objective.name}"
    table = Table(title=title, columns=words.COLUMNS, rows=rows, words=words.WORDS)
    return Section(
        heading="Distinct weaknesses",
        text=[f"{done.objective.name}: {done.objective.meaning}. {legend(5)}"],
        tables=[table],
        points=[words.sentence(done, held) for held in done.weaknesses[1:]],
    )


def _map(done: Attack) -> Section:
    box = done.question.box
    text = [
        f"Searched: {box.text()}. {done.runs} runs with {done.packets:.3g} packets, figures "
        f"included; {len(done.archive.cells)} cells of the archive, seed {done.question.seed}, "
        f"budget {done.question.budget_s:g} s."
    ]
    return Section(heading="What was searched", text=text, figures=lambda: [_figure(done)])


def _figure(done: Attack) -> Figure:
    """Draw the worst place of each cell of the archive."""
    box = done.question.box
    xs, ys = _labels(box.bdp), _labels(box.buffer)
    rows = [
        {
            "x": xs[min(cell[0], len(xs) - 1)],
            "y": ys[min(cell[1], len(ys) - 1)],
            "value": elite.trial.value,
            "text": f"{elite.trial.value:.2f}",
        }
        for cell, elite in done.archive.ranked()
    ]
    most = max(done.archive.ranked()[0][1].trial.value, 1e-9)
    chart = heat(
        rows,
        xs,
        ys,
        "Bandwidth-delay product (packets)",
        Scale(title="Buffer (BDP)", low=0.0, high=most),
    )
    return Figure(
        name="map",
        title="The worst place of each cell",
        caption=f"{done.objective.name}: {done.objective.meaning}, with the seed of the search.",
        chart=chart,
    )


def _labels(of: Range) -> list[str]:
    """Give the ranges of the cells along one side of the archive."""
    if of.is_fixed:
        return [_rounded(of.low)]
    edges = [of.low * (of.high / of.low) ** (part / CELLS) for part in range(CELLS + 1)]
    return [f"{_rounded(low)}-{_rounded(high)}" for low, high in pairwise(edges)]


def _rounded(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"

"""The report of an attack: the worst place and its run over time, the weaknesses, the map."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from fairhaul.figures import figures as drawn
from fairhaul.figures.charts import Scale
from fairhaul.figures.charts.fields import heat
from fairhaul.figures.figure import Figure, Section, Table
from fairhaul.files.files import replace
from fairhaul.report import write as write_page
from fairhaul.runs.runs import for_each
from fairhaul.scenario.link import link
from fairhaul.statistics.estimate import legend
from fairhaul.studies.attack import Attack, words
from fairhaul.studies.attack.box import Range
from fairhaul.studies.attack.place import scenario
from fairhaul.studies.attack.search import CELLS

PAGE = "report.html"


def write(done: Attack, out: Path, name: str) -> Path:
    """Write the page, its figures and the scenario into a directory; give the path of the page."""
    out.mkdir(parents=True, exist_ok=True)
    if done.scenario is not None:
        replace(out / name, done.scenario.encode())
    sections = [section for section in (_worst(done), _weaknesses(done), _map(done)) if section]
    of = done.objective
    return write_page(
        out / PAGE,
        f"Attack on {done.attacked.name}: {of.name}",
        f"Where is the {of.meaning} largest with {done.attacked.name}?",
        words.answer(done),
        sections,
    )


def _worst(done: Attack) -> Section | None:
    if done.worst is None:
        return None
    place, seed = done.worst.place, done.worst.trials[0].seed
    own, rival = done.attacked.transports(place, "")
    run = scenario(place, own, rival, done.attacked.title(place), seed)
    (figures,) = for_each([run], lambda _, record: drawn.of_run(record, "worst-"), jobs=1)
    value = words.number(done, done.worst.estimate)
    lines = [
        f"{done.objective.name}: {value} over {len(done.worst.trials)} seeds; the figures show "
        f"seed {seed}."
    ]
    lines += [words.on_kernel(done, done.kernel)] if done.kernel else []
    return Section(heading="The smallest scenario", text=lines, figures=figures, studio=link(run))


def _weaknesses(done: Attack) -> Section | None:
    if not done.weaknesses:
        return None
    rows = [words.row(done, held, done.value_in_search(held)) for held in done.weaknesses]
    return Section(
        heading="Distinct weaknesses",
        text=[legend(5)],
        points=[words.sentence(done, held) for held in done.weaknesses],
        tables=[Table(columns=words.COLUMNS, rows=rows, words=words.WORDS)],
    )


def _map(done: Attack) -> Section:
    box = done.question.box
    text = [
        f"Searched: {box.text()}. {done.runs} runs with {done.packets:.3g} packets, seed "
        f"{done.question.seed}, budget {done.question.budget_s:g} s."
    ]
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
    figure = Figure(
        name="map",
        title="The worst place of each cell",
        caption=f"{done.objective.name}: {done.objective.meaning}, with the seed of the search.",
        chart=chart,
    )
    return Section(heading="What was searched", text=text, figures=[figure])


def _labels(of: Range) -> list[str]:
    """Give the ranges of the cells along one side of the archive."""
    if of.is_fixed:
        return [_rounded(of.low)]
    edges = [of.low * (of.high / of.low) ** (part / CELLS) for part in range(CELLS + 1)]
    return [f"{_rounded(low)}-{_rounded(high)}" for low, high in pairwise(edges)]


def _rounded(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"

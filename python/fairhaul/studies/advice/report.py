"""The report of an advice: answer, candidates, settings, commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from fairhaul.figures.axes import SweptAxis
from fairhaul.figures.charts import Look, Panel, Scale, ends, panels, powers
from fairhaul.figures.charts.fields import scattered
from fairhaul.figures.figure import Figure, Section, Table
from fairhaul.figures.look import colour
from fairhaul.host.deployable import Way
from fairhaul.report import write as write_page
from fairhaul.statistics.estimate import legend
from fairhaul.studies.advice import words
from fairhaul.studies.advice.changes import NAMES
from fairhaul.studies.advice.tournament import Advice
from fairhaul.text.phrases import quantity, rate_unit, size_text

PAGE = "report.html"


def write(advice: Advice, ways: Mapping[str, Way], out: Path) -> Path:
    """Write the page and its figures into a directory; give the path of the page."""
    question = advice.question
    path = f"{quantity(question.rate_bps, 'bit/s')} and {1000 * max(question.rtts_s):g} ms"
    size = size_text(question.size_bytes)
    sections = [
        Section(
            heading="Candidates",
            text=[
                words.neighbours(advice),
                words.simulated(advice),
                f"Means over {len(advice.settings)} settings. {legend(len(advice.settings))}",
            ],
            points=[line for line in (*words.certainty(advice), words.excluded(advice)) if line],
            tables=[
                Table(columns=words.COLUMNS, rows=[words.row(e, advice) for e in advice.entries])
            ],
            figures=[_candidates(advice)],
        ),
        Section(
            heading="When the answer would change",
            points=list(advice.changes) or ["No other allowed candidate is faster anywhere."],
            text=[f"Drawn for each setting: {advice.known.text()}."],
            figures=_settings(advice),
        ),
        Section(
            heading="Commands",
            points=[
                f"{what}: {command}" if command else what
                for what, command in words.commands(advice, ways)
            ],
        ),
    ]
    return write_page(
        out / PAGE,
        f"Advice for a path of {path}",
        f"Which congestion control for {size} over {path}?",
        words.answer(advice),
        sections,
    )


def _candidates(advice: Advice) -> Figure:
    names = [entry.name for entry in advice.entries]
    scale, unit = rate_unit(max(e.goodput.mean for e in advice.entries))
    goodput = [
        {"row": e.name, "paper": None, **_scaled(e.goodput.to_dict(), scale)}
        for e in advice.entries
    ]
    harm = [
        {"row": e.name, "paper": None, **_scaled(e.harm.to_dict(), 100)} for e in advice.entries
    ]
    each = [
        Panel(scale=_scale(f"Goodput ({unit})", goodput), rows=goodput),
        Panel(scale=_scale("Loss of competing flows (%)", harm), rows=harm),
    ]
    return Figure(
        name="candidates",
        title="Goodput, and what competing flows lose",
        caption="Means over the settings, with 95 % intervals of the mean.",
        chart=panels(names, each),
    )


def _scaled(mean: Mapping[str, float | None], by: float) -> dict[str, float | None]:
    return {
        key: None if (value := mean[key]) is None else value * by for key in ("mean", "low", "high")
    }


def _scale(title: str, rows: Sequence[Mapping[str, object]]) -> Scale:
    values = [row[key] for row in rows for key in ("mean", "low", "high")]
    known = [float(value) for value in values if isinstance(value, int | float)]
    low, high = min([0.0, *known]), ends(list(known))[1]
    return Scale(title=title, low=low, high=high)


def _axis(axis: SweptAxis) -> Scale:
    numbers = list(axis.numbers or ())
    if min(numbers) > 0 and max(numbers) / min(numbers) >= 4:
        return powers(axis.title, numbers)
    low, high = ends(numbers)
    return Scale(title=axis.title, low=low, high=high, form=".1~e" if high < 0.01 else "")


def _settings(advice: Advice) -> list[Figure]:
    """Draw the goodput of each candidate over each property of the path that was drawn."""
    looks = [
        Look(label=entry.name, colour=colour(index)) for index, entry in enumerate(advice.entries)
    ]
    most = max(run.goodput_bps for entry in advice.entries for run in entry.runs)
    scale, unit = rate_unit(most)
    sides = []
    for key, name in ((key, NAMES[key]) for key in advice.settings[0]):
        values = [setting[key] for setting in advice.settings]
        numbers = [float(str(value).split()[0]) for value in values]
        if len(set(numbers)) < 2:
            continue
        unit = str(values[0]).partition(" ")[2]
        axis = SweptAxis(key=key, name=name, values=values, numbers=numbers, unit=unit)
        clouds = [
            (
                look,
                [
                    {"x": number, "mean": scale * run.goodput_bps}
                    for number, run in zip(numbers, entry.runs, strict=True)
                ],
            )
            for look, entry in zip(looks, advice.entries, strict=True)
        ]
        sides.append((_axis(axis), clouds))
    if not sides:
        return []
    y = Scale(title=f"Goodput ({unit})", low=0.0, high=1.05 * scale * most or 1.0)
    return [
        Figure(
            name="settings",
            title="Goodput over what was drawn",
            caption="Each point is one run of a candidate over one setting.",
            chart=scattered(sides, y),
        )
    ]

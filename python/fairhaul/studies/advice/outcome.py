"""An advice in words: answer, candidates, settings, commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.figures.axes import SweptAxis
from fairhaul.figures.charts import Look, Scale, ends, powers
from fairhaul.figures.charts.fields import scattered
from fairhaul.figures.figure import Figure
from fairhaul.figures.look import colour
from fairhaul.figures.side_by_side import side_by_side
from fairhaul.report.outcome import Outcome, Section
from fairhaul.statistics.estimate import legend
from fairhaul.studies.advice import words
from fairhaul.studies.advice.changes import NAMES
from fairhaul.text.durations import duration_text
from fairhaul.text.phrases import listed, quantity, rate_unit, size_text
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.advice.tournament import Advice


def outcome_of(advice: Advice) -> Outcome:
    """Put an advice into words and tables."""
    question = advice.question
    path = f"{quantity(question.rate_bps, 'bit/s')} and {1000 * max(question.rtts_s):g} ms"
    commands = [command for _, command in words.commands(advice) if command]
    return Outcome(
        study="advise",
        title=f"Advice for a path of {path}",
        question=f"Which congestion control for {size_text(question.size_bytes)} over {path}?",
        answer=f"{words.answer(advice)} {words.neighbours(advice)}",
        evidence=lambda: _sections(advice),
        values=lambda: advice.values() | {"commands": commands},
    )


def _sections(advice: Advice) -> list[Section]:
    names = {entry.name for entry in advice.entries}
    slower = [name for name in advice.first if name not in names]
    first = f"Slower, or more harmful, in the first round: {listed(slower)}." if slower else ""
    count = len(advice.settings)
    table = Table(
        title=f"The final, over {count} settings",
        columns=words.COLUMNS,
        rows=[words.row(entry, advice) for entry in advice.entries],
    )
    return [
        Section(
            heading="",
            text=[words.simulated(advice), f"Means over {count} settings. {legend(count)}"],
            tables=[table],
            points=[*words.certainty(advice), *filter(None, (words.excluded(advice), first))],
            figures=lambda: [_candidates(advice)],
        ),
        Section(
            heading="When the answer would change",
            points=list(advice.changes) or ["No other allowed candidate is faster anywhere."],
            text=[
                f"Each run of the final lasts {duration_text(advice.duration_s)}, over {count} "
                f"settings. Drawn for each setting: {advice.known.text()}."
            ],
            figures=lambda: _settings(advice),
        ),
        Section(
            heading="Commands",
            commands=[
                line
                for what, command in words.commands(advice)
                for line in (f"# {what}", *([command] if command else []))
            ],
        ),
    ]


def _candidates(advice: Advice) -> Figure:
    scale, unit = rate_unit(max(e.goodput.mean for e in advice.entries))
    return side_by_side(
        "candidates",
        "Goodput, and what competing flows lose",
        "Means over the settings, with 95 % intervals of the mean.",
        [entry.name for entry in advice.entries],
        {
            f"Goodput ({unit})": ([entry.goodput for entry in advice.entries], scale),
            "Loss of competing flows (%)": ([entry.harm for entry in advice.entries], 100),
        },
    )


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

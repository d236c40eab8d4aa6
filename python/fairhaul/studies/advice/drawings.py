"""The figures of an advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.figures.axes import axis_of
from fairhaul.figures.charts import Scale
from fairhaul.figures.clouds import clouds_over
from fairhaul.figures.figure import Figure
from fairhaul.figures.side_by_side import side_by_side
from fairhaul.studies.advice.path import NAMES
from fairhaul.text.phrases import rate_unit

if TYPE_CHECKING:
    from fairhaul.studies.advice.results import Advice


def of_candidates(advice: Advice) -> Figure:
    """Draw the goodput of each candidate beside what the others lose."""
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


def over_settings(advice: Advice) -> list[Figure]:
    """Draw the goodput of each candidate over each property of the path that was drawn."""
    most = max(run.goodput_bps for entry in advice.entries for run in entry.runs)
    scale, unit = rate_unit(most)
    keys = [
        axis_of(key, NAMES[key].removeprefix("a "), [setting[key] for setting in advice.settings])
        for key in advice.settings[0]
    ]
    drawn = [axis for axis in keys if len(set(axis.values)) > 1]
    if not drawn:
        return []
    clouds = {
        entry.name: [
            (setting, scale * run.goodput_bps)
            for setting, run in zip(advice.settings, entry.runs, strict=True)
        ]
        for entry in advice.entries
    }
    y = Scale(title=f"Goodput ({unit})", low=0.0, high=1.05 * scale * most or 1.0)
    return [
        Figure(
            name="settings",
            title="Goodput over what was drawn",
            caption="Each point is one run of a candidate over one setting.",
            chart=clouds_over(drawn, clouds, y),
        )
    ]

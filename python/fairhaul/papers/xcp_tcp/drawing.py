"""Shares of the link over time as the paper draws them, 20 ms and 100 ms beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.papers.xcp_tcp.shares import CLASSES, MEAN_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.papers.experiment import Found, Key
    from fairhaul.report import Figure
    from fairhaul.report.plots import Curve

LEGEND = (
    "Points are means over 10 s, in % of the link, and bands their 95 % intervals over seeds; thin "
    "lines the most in any second of those 10; dashed lines what is due to each class."
)


def draw(found: Found, keys: Mapping[str, Key], title: str, file: str) -> Figure:
    """Draw the shares of some cases beside each other, by what each is called."""
    from fairhaul.report import Figure, plots

    panels = {
        f"{letter}) {name}": _lines(found, key)
        for letter, (name, key) in zip("abcd"[: len(keys)], keys.items(), strict=True)
    }
    end = max(phase.end_s for key in keys.values() for phase in found.kept[key])
    x = plots.Scale(title="Time (s)", low=0, high=end)
    y = plots.Scale(title="Share of the link (%)", low=0, high=105, ticks=[0, 25, 50, 75, 100])
    return Figure(name=file, title=title, caption=LEGEND, chart=plots.beside(panels, x, y))


def _lines(found: Found, key: Key) -> list[Curve]:
    from fairhaul.papers import figures
    from fairhaul.report.charts import Look
    from fairhaul.report.look import colour
    from fairhaul.report.plots import Curve

    phases = found.kept[key]
    middles = range(MEAN_S // 2, phases[-1].end_s, MEAN_S)
    lines = []
    for i, who in enumerate(CLASSES):
        steps = [
            {"x": x, "mean": phase.due(who), "low": None, "high": None}
            for phase in phases
            for x in (phase.start_s, phase.end_s)
        ]
        plain = Look(label="", colour=colour(i), thin=True)
        dashed = Look(label="", colour=colour(i), thin=True, dash=(4, 4))
        peaks = figures.curve(found, plain, {x: (key, f"{who} peak at {x}") for x in middles})
        bare = [{**row, "low": None, "high": None} for row in peaks.points]
        look = Look(label=who, colour=colour(i))
        lines += [
            Curve(look=dashed, points=steps),
            Curve(look=plain, points=bare),
            figures.curve(found, look, {x: (key, f"{who} at {x}") for x in middles}),
        ]
    return lines

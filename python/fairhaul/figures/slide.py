"""Figures for slides: in the shape of a slide, and on a dark ground.

A slide is drawn small, so that its type is large when it fills a screen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairhaul.figures import look
from fairhaul.scenario.read import ScenarioError
from fairhaul.text.nearest import hint

# In points; the files have three pixels for each.
SIZES = {"16:9": (800, 450), "4:3": (720, 540)}
NATURAL = "natural"
THEMES = ("auto", "light", "dark")
LEAST_HEIGHT = 24


@dataclass(frozen=True, kw_only=True)
class Style:
    """The shape and the colours of figures.

    `size` is that of the figure or of a slide. `theme` is light or dark; with auto the files are
    light, and the page is what its reader prefers.
    """

    size: str = NATURAL
    theme: str = "auto"

    def __post_init__(self) -> None:
        for word, known in ((self.size, (NATURAL, *SIZES)), (self.theme, THEMES)):
            if word not in known:
                raise ScenarioError(f"{word!r}: {hint(word, known)}")

    @property
    def colours(self) -> Mapping[str, str]:
        """The colours of the files."""
        return look.DARK if self.theme == "dark" else look.LIGHT

    def is_slide(self) -> bool:
        """Whether figures are put on slides."""
        return self.size != NATURAL


def reshaped(chart: Mapping[str, Any], drawn: str, style: Style) -> dict[str, Any]:
    """Give the chart with views that make it about as wide and high as the slide.

    `drawn` is its drawing in its own shape, which says how much of it are axes and labels.
    """
    wanted, own = SIZES[style.size], _size(drawn)
    wider, higher = wanted[0] - own[0], wanted[1] - own[1]
    if chart.get("usermeta", {}).get("square"):
        more = min(wider, higher)
        return {**chart, "width": chart["width"] + more, "height": chart["height"] + more}
    rows = chart.get("vconcat", [])
    if rows and "hconcat" in rows[0]:
        wide, high = wider / len(rows[0]["hconcat"]), higher / len(rows)
        return {**chart, "vconcat": [_grown(row, wide, high) for row in rows]}
    for key, grows, stays in (
        ("vconcat", ("height", higher), ("width", wider)),
        ("hconcat", ("width", wider), ("height", higher)),
    ):
        if key in chart:
            return {**chart, key: _shared(chart[key], grows, stays)}
    (view,) = _shared([chart], ("height", higher), ("width", wider))
    return view


def _grown(row: Mapping[str, Any], wide: float, high: float) -> dict[str, Any]:
    """Make the views of a row wider and higher."""
    views = [
        {
            **view,
            "width": max(LEAST_HEIGHT, view["width"] + wide),
            "height": max(LEAST_HEIGHT, view["height"] + high),
        }
        for view in row["hconcat"]
    ]
    return {**row, "hconcat": views}


def _shared(
    views: list[Mapping[str, Any]], grows: tuple[str, float], stays: tuple[str, float]
) -> list[dict[str, Any]]:
    """Share the room in one direction between the views; all get that in the other."""
    (along, more), (across, room) = grows, stays
    total = sum(view[along] for view in views)
    part = max(0.0, (total + more) / total)
    return [
        {
            **view,
            along: max(LEAST_HEIGHT, view[along] * part),
            across: max(LEAST_HEIGHT, view[across] + room),
        }
        for view in views
    ]


def on_slide(drawn: str, style: Style) -> str:
    """Put a drawing into the middle of a slide, as large as it fits."""
    width, height = SIZES[style.size]
    own = _size(drawn)
    scale = min(width / own[0], height / own[1])
    wide, high = own[0] * scale, own[1] * scale
    place = f'x="{(width - wide) / 2:.2f}" y="{(height - high) / 2:.2f}"'
    shape = f'width="{wide:.2f}" height="{high:.2f}"'
    head, _, body = drawn.partition(">")
    head = re.sub(r' (?:width|height)="[^"]*"', "", head)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<rect width="{width}" height="{height}" fill="var(--paper)"/>'
        f"{head.replace('<svg', f'<svg {place} {shape}', 1)}>{body}</svg>"
    )


def _size(drawn: str) -> tuple[float, float]:
    """Read the width and the height of a drawing."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn)
    if found is None:
        raise ValueError("a drawing without its size")
    return float(found[1]), float(found[2])

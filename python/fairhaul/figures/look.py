"""How figures look: colours, type, and a chart drawn as SVG, PNG and PDF.

Flows have the colours `c1` to `c8`, cases and controllers `k1` to `k8` and other shapes of points,
so that a colour means one thing on a page. Those of flows can be distinguished with any kind of
colour vision; each has a lighter form for a dark page. A ninth line begins again with dashes.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

# Light: as dark on white as a label needs to be. Dark: the same hues on a dark page.
LIGHT = {
    **{"c1": "#0067a5", "c2": "#c44f00", "c3": "#00805c", "c4": "#a8377f"},
    **{"c5": "#8a6100", "c6": "#2b7bae", "c7": "#7a5fc0", "c8": "#5f5f1f"},
    **{"k1": "#3d4451", "k2": "#b3253b", "k3": "#00757d", "k4": "#7a4b2a"},
    **{"k5": "#4b4fb0", "k6": "#587b2e", "k7": "#9a4f63", "k8": "#2f5d8a"},
    **{"ink": "#1b1f24", "soft": "#5c6670", "quiet": "#6b7580", "line": "#c9ced4"},
    **{"grid": "#eaedf0", "shade": "#f1f3f5", "paper": "#ffffff"},
    **{"start": "#d9ecd6", "repair": "#f8d7c3"},
}
DARK = {
    **{"c1": "#5cb3f0", "c2": "#ff8d4d", "c3": "#35c79b", "c4": "#ee8cc4"},
    **{"c5": "#e3b341", "c6": "#9bd3f5", "c7": "#b5a2f2", "c8": "#c9c97a"},
    **{"k1": "#c3cad3", "k2": "#ff7d8e", "k3": "#4fd0d8", "k4": "#d3a27f"},
    **{"k5": "#a3a8ff", "k6": "#a9cf7d", "k7": "#e3a3b4", "k8": "#8fb8e0"},
    **{"ink": "#e8eaed", "soft": "#a5adb6", "quiet": "#8b949e", "line": "#444c56"},
    **{"grid": "#262c33", "shade": "#1c2127", "paper": "#14171b"},
    **{"start": "#23402a", "repair": "#5a3322"},
}
COLOURS = 8
GREY = "var(--quiet)"
DASHES = ([1, 0], [6, 3], [2, 2])
SHAPES = ("square", "triangle-up", "diamond", "cross", "triangle-down")

SCREEN_TYPE = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif'
FILE_TYPE = "Helvetica, Arial, Liberation Sans, sans-serif"

# Pixels per unit of a figure's file: 8 inches wide at 300 dots an inch.
PNG_SCALE = 3


def colour(index: int) -> str:
    """Name the colour of the line `index`."""
    return f"var(--c{index % COLOURS + 1})"


def case_colour(index: int) -> str:
    """Name the colour of the case `index`."""
    return f"var(--k{index % COLOURS + 1})"


def shape(index: int) -> str:
    """Name the shape of the points of the case `index`."""
    return SHAPES[index % len(SHAPES)]


def colours_of(flows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Give each measured flow a colour, and those of the background grey."""
    numbers = itertools.count()
    return [colour(next(numbers)) if flow["role"] == "measured" else GREY for flow in flows]


def dash(index: int) -> list[int]:
    """Give the dashes of the line `index`."""
    return DASHES[index // COLOURS % len(DASHES)]


def styled(chart: Mapping[str, Any], font: str) -> dict[str, Any]:
    """Give `chart` in the type and lines of a report."""
    spec = {key: value for key, value in chart.items() if key != "$schema"}
    text = {"font": font, "fontSize": 12}
    axis = {
        **{"labelFont": font, "labelFontSize": 11.5, "labelColor": "var(--soft)"},
        **{"titleFont": font, "titleFontSize": 12, "titleFontWeight": "normal"},
        **{"titleColor": "var(--soft)", "titlePadding": 8, "labelPadding": 5},
        **{"domainColor": "var(--line)", "tickColor": "var(--line)", "tickSize": 4},
        **{"gridColor": "var(--grid)", "labelOverlap": True},
    }
    spec["config"] = {
        "font": font,
        "axis": axis,
        "axisY": {"domain": False, "ticks": False, "minExtent": 44},
        "axisX": {"grid": False},
        "view": {"stroke": None},
        "text": text,
        "line": {"strokeCap": "round", "strokeJoin": "round"},
        "legend": {"disable": True},
    }
    spec["background"] = "var(--paper)"
    spec["padding"] = 4
    return spec


def without_pointer(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what only answers the pointer: layers and parameters named `hover…`."""

    def kept(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {k: v if k == "data" else kept(v) for k, v in value.items()}
        if isinstance(value, list):
            return [kept(inner) for inner in value if not _answers_pointer(inner)]
        return value

    frozen: dict[str, Any] = kept(spec)
    return frozen


def _answers_pointer(value: Any) -> bool:
    return isinstance(value, Mapping) and str(value.get("name", "")).startswith("hover")


def svg(chart: Mapping[str, Any]) -> str:
    """Draw `chart`, its colours still names."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(json.dumps(without_pointer(styled(chart, FILE_TYPE)))))


def painted(text: str, colours: Mapping[str, str] = LIGHT) -> str:
    """Replace the names of colours by the colours."""
    return re.sub(r"var\(--(\w+)\)", lambda name: colours[name[1]], text)


def on_any_page(named: str) -> str:
    """Paint what `svg` drew for a light page; where the reader prefers a dark one, it is dark."""
    names = sorted(set(re.findall(r"var\(--(\w+)\)", named)))
    rules = [
        f'[{what}="{LIGHT[name]}"]{{{what}:{DARK[name]}}}'
        for name in names
        for what in ("fill", "stroke")
    ]
    style = f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"
    return painted(named).replace("</svg>", f"{style}</svg>")


def files(named: str, colours: Mapping[str, str] = LIGHT) -> dict[str, bytes]:
    """Make the files for a paper or a slide of what `svg` drew: their bytes by ending."""
    import vl_convert

    drawn = painted(named, colours)
    return {
        "svg": drawn.encode(),
        "png": vl_convert.svg_to_png(drawn, scale=PNG_SCALE, ppi=72),
        "pdf": vl_convert.svg_to_pdf(drawn),
    }

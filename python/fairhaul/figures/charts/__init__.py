"""The kinds of chart in a report, without knowing what a run is; a new kind goes here.

    over_time    lanes, lines, strips and threads over the time of a run
    curve        lines with bands over any quantity
    estimates    bars, dots and panels: means with their intervals, by case
    relations    one quantity against another, boxes and distributions
    steps        several cases of which a slider shows one

Each function gives a Vega-Lite specification. Lines are labelled where they end; only where that
says too little does the caption explain them. Layers named `hover…` answer the pointer.
"""

from fairhaul.figures.charts.axes import Scale, ends, powers, ticks
from fairhaul.figures.charts.curve import Curve, band, beside, curves, line
from fairhaul.figures.charts.estimates import Panel, bars, dots, panels
from fairhaul.figures.charts.over_time import Lane, lanes, lines, strip, threads
from fairhaul.figures.charts.parts import (
    INK,
    TIME,
    WIDTH,
    Look,
    Span,
    head,
    hover,
    labels,
    looks,
    spread_out,
)

__all__ = [
    "INK",
    "TIME",
    "WIDTH",
    "Curve",
    "Lane",
    "Look",
    "Panel",
    "Scale",
    "Span",
    "band",
    "bars",
    "beside",
    "curves",
    "dots",
    "ends",
    "head",
    "hover",
    "labels",
    "lanes",
    "line",
    "lines",
    "looks",
    "panels",
    "powers",
    "spread_out",
    "strip",
    "threads",
    "ticks",
]

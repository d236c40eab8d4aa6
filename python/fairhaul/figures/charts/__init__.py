"""The kinds of chart in a report, without knowing what a run is; a new kind goes here.

    over_time    lanes, lines, strips and threads over the time of a run
    curve        lines with bands over any quantity
    estimates    bars, dots and panels: means with their intervals, by case
    relations    one quantity against another, boxes and distributions
    steps        several cases of which a slider shows one

Each function gives a Vega-Lite specification. Lines are labelled where they end; only where that
says too little does the caption explain them. Layers named `hover…` answer the pointer.
"""

from fairhaul.figures.charts.axes import Scale as Scale
from fairhaul.figures.charts.axes import ends as ends
from fairhaul.figures.charts.axes import powers as powers
from fairhaul.figures.charts.axes import powers_and_zero as powers_and_zero
from fairhaul.figures.charts.axes import ticks as ticks
from fairhaul.figures.charts.curve import Curve as Curve
from fairhaul.figures.charts.curve import band as band
from fairhaul.figures.charts.curve import beside as beside
from fairhaul.figures.charts.curve import curves as curves
from fairhaul.figures.charts.curve import line as line
from fairhaul.figures.charts.estimates import Panel as Panel
from fairhaul.figures.charts.estimates import bars as bars
from fairhaul.figures.charts.estimates import dots as dots
from fairhaul.figures.charts.estimates import panels as panels
from fairhaul.figures.charts.over_time import Lane as Lane
from fairhaul.figures.charts.over_time import lanes as lanes
from fairhaul.figures.charts.over_time import lines as lines
from fairhaul.figures.charts.over_time import strip as strip
from fairhaul.figures.charts.over_time import threads as threads
from fairhaul.figures.charts.over_time import timeline as timeline
from fairhaul.figures.charts.parts import INK as INK
from fairhaul.figures.charts.parts import TIME as TIME
from fairhaul.figures.charts.parts import WIDTH as WIDTH
from fairhaul.figures.charts.parts import Look as Look
from fairhaul.figures.charts.parts import Span as Span
from fairhaul.figures.charts.parts import case_looks as case_looks
from fairhaul.figures.charts.parts import flow_look as flow_look
from fairhaul.figures.charts.parts import head as head
from fairhaul.figures.charts.parts import hover as hover
from fairhaul.figures.charts.parts import labels as labels
from fairhaul.figures.charts.parts import limits as limits
from fairhaul.figures.charts.parts import looks as looks
from fairhaul.figures.charts.parts import spread_out as spread_out

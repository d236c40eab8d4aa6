"""FHSTCP: its Table 1, its Figure 3 and its claims, each an experiment that can be run alone."""

from __future__ import annotations

from fairhaul.papers.fhstcp import (
    ablation,
    advantages,
    figure3,
    friendliness,
    kernel,
    rtt,
    sensitivity,
    table1,
)
from fairhaul.papers.run import Paper

PAPER = Paper(
    name="fhstcp",
    question=(
        "Does FHSTCP share a fast link fairly between flows of different round-trip times, leave "
        "standard TCP alone, and still fill the link as HSTCP does?"
    ),
    experiments={
        "table1": table1.EXPERIMENT,
        "figure3": figure3.EXPERIMENT,
        "sensitivity": sensitivity.EXPERIMENT,
        "rtt": rtt.EXPERIMENT,
        "advantages": advantages.EXPERIMENT,
        "ablation": ablation.EXPERIMENT,
        "friendliness": friendliness.EXPERIMENT,
        "kernel": kernel.EXPERIMENT,
    },
)

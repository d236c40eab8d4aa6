"""Sync-TCP: its start, what its delays see, and its clocks, each an experiment of its own."""

from __future__ import annotations

from fairhaul.papers.run import Paper
from fairhaul.papers.synctcp import clocks, kernel, reverse, sensitivity, start

PAPER = Paper(
    name="synctcp",
    question=(
        "Does Sync-TCP, which reads one-way delays and starts as standard TCP does, fill a fast "
        "link sooner than standard TCP and lose less on the way?"
    ),
    experiments={
        "start": start.EXPERIMENT,
        "sensitivity": sensitivity.EXPERIMENT,
        "reverse": reverse.EXPERIMENT,
        "clocks": clocks.EXPERIMENT,
        "kernel": kernel.EXPERIMENT,
    },
)

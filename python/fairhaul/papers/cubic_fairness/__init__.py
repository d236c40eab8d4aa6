"""CUBIC beside NewReno: the paper's four fairness ratios, its validation, its two claims of queues.

What the paper leaves out decides some of its numbers, so each of it is changed in turn.
"""

from __future__ import annotations

from fairhaul.papers.cubic_fairness import fairness, kernel, sensitivity, short_path, validation
from fairhaul.papers.run import Paper

PAPER = Paper(
    name="cubic-fairness",
    question=(
        "Does CUBIC share a link fairly with NewReno, on a fast and on a middling one, with RED "
        "and with DropTail?"
    ),
    experiments={
        "validation": validation.EXPERIMENT,
        "fairness": fairness.EXPERIMENT,
        "sensitivity": sensitivity.EXPERIMENT,
        "short-path": short_path.EXPERIMENT,
        "kernel": kernel.EXPERIMENT,
    },
)

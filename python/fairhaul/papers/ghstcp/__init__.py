"""gHSTCP: its modes, its two claims apart, and the scenarios of its experiments."""

from __future__ import annotations

from fairhaul.papers.ghstcp import above, filling, scenarios, switching
from fairhaul.papers.run import Paper

PAPER = Paper(
    name="ghstcp",
    question=(
        "Does refined gHSTCP switch its modes only where it should, take a free link as soon as "
        "HSTCP, and leave TCP Reno more of a full one than HSTCP and parallel TCP do?"
    ),
    experiments={
        "switching": switching.EXPERIMENT,
        "filling": filling.EXPERIMENT,
        "above": above.EXPERIMENT,
        "scenario1": scenarios.SCENARIO_1,
        "scenario2": scenarios.SCENARIO_2,
    },
)

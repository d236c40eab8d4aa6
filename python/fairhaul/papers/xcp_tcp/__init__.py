"""XCP beside TCP: the paper's figures, and what they hang on, each an experiment of its own."""

from __future__ import annotations

from fairhaul.papers.run import Paper
from fairhaul.papers.xcp_tcp import floor, over_time, protocols, sensitivity, short

PAPER = Paper(
    name="xcp-tcp",
    question=(
        "Does a router of XCP that counts flows and drops packets of TCP give XCP and TCP the "
        "share that is due to each?"
    ),
    experiments={
        "figures": over_time.EXPERIMENT,
        "floor": floor.EXPERIMENT,
        "protocols": protocols.EXPERIMENT,
        "sensitivity": sensitivity.EXPERIMENT,
        "short": short.EXPERIMENT,
    },
)

"""The path and the connections of an explanation as a scenario that can be run."""

from __future__ import annotations

from collections.abc import Sequence

from fairhaul.scenario.read import ScenarioError, written
from fairhaul.studies.explanation.model import Model, controller_of, model_of
from fairhaul.studies.explanation.results import Explained

# How long the transfer of a scenario takes, in seconds.
LEAST_S, MOST_S = 10, 300
PACKET = "A packet with 52 B of headers; a frame has 18 B more of headers and its check."


def scenario_text(explained: Sequence[Explained], model: Model | None = None) -> str:
    """Write a scenario with the path of the largest connection and the connections beside it.

    Args:
        explained: the connections, the largest first.
        model: the path after a correction; by default that of the connections.

    Raises:
        ScenarioError: rate or round-trip time are not known.
    """
    try:
        of = model or model_of(explained)
    except ScenarioError as error:
        raise ScenarioError(f"--scenario: {error.args[0]}") from None
    largest = explained[0]
    unknown = [f"{key}: {why}" for key, why in largest.unknown.items()]
    if of.is_bound:
        unknown.append(f"The rate is at least {of.rate_bps:.0f} bit/s.")
    head = {
        "title": f"The path from {largest.sender} to {largest.receiver}",
        "duration": f"{min(max(largest.duration_s, LEAST_S), MOST_S):.0f} s",
    }
    comments = {"packet": [PACKET], "bottleneck": unknown, "flow": [controller_of(largest)[1]]}
    return written(head | of.sections(), comments)

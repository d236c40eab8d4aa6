"""The path and the connections of an explanation as a scenario that can be run."""

from __future__ import annotations

from collections.abc import Sequence

from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.explanation.results import (
    USUAL_BURST,
    Explained,
    recognised_text,
    size_text,
    with_largest,
)

# How much faster than its policer a link is taken to be, here and in an advice.
POLICED_LINK = 4
# A controller that is recognised with a smaller confidence is not used.
LIKELY = 0.5
# The buffer of a scenario where it is not known.
USUAL_BUFFER = "1 bdp"


def scenario_text(explained: Sequence[Explained]) -> str:
    """Write a scenario with the path of the largest connection and the connections beside it.

    Raises:
        ScenarioError: rate or round-trip time are not known.
    """
    if not explained:
        raise ScenarioError("no connection carries data, so there is no path")
    largest = explained[0]
    path = largest.path
    rate = path.policer.rate_bps if path.policer else path.rate_bps
    if rate is None or path.rtt_s is None:
        missing = "rate" if rate is None else "round-trip time"
        raise ScenarioError(f"--scenario: the {missing} of the path is not known")
    beside = with_largest(explained)
    link_bps = POLICED_LINK * rate.value if path.policer else rate.value
    comments = [f"# {key}: {why}" for key, why in largest.unknown.items()]
    if rate.high is None:
        comments.append(f"# The rate is at least {rate.value:.0f} bit/s.")
    buffer = path.buffer_bytes
    capacity = USUAL_BUFFER if buffer is None else size_text(buffer.value)
    lines = [
        f'title = "The path from {largest.sender} to {largest.receiver}"',
        f'duration = "{min(max(largest.duration_s, 10), 300):.0f} s"',
        "",
        *comments,
        "[bottleneck]",
        f'rate = "{link_bps:.0f} bit/s"',
        f'delay = "{250 * path.rtt_s.value:.6g} ms"',
    ]
    loss = path.loss
    if loss is not None and loss.low > 0:
        lines.append(f"loss = {loss.value:.3g}")
    lines += [f'queue = {{ kind = "droptail", capacity = "{capacity}" }}']
    if path.policer is not None:
        burst = path.policer.burst_bytes
        size = size_text(USUAL_BURST if burst is None else burst.value)
        lines.append(f'policer = {{ rate = "{rate.value:.0f} bit/s", burst = "{size}" }}')
    controller, why = _controller(largest)
    lines += [
        "",
        f"# {why}",
        "[[flow]]",
        'name = "transfer"',
        f'controller = "{controller}"',
        f'rtt = "{1000 * path.rtt_s.value:.6g} ms"',
    ]
    if len(beside) > 1:
        lines.append(f"count = {len(beside)}")
    return "\n".join(lines) + "\n"


def _controller(of: Explained) -> tuple[str, str]:
    """Give the controller of a connection, and a sentence on how it is known."""
    if of.controller is not None:
        return of.controller, "As the sender reported it."
    if of.recognised and of.recognised[0].confidence >= LIKELY:
        name = of.recognised[0].controller
        return name, f"Recognised by its window: {recognised_text(of.recognised)}."
    return "cubic", "The controller was not recognised; cubic is the default of Linux."

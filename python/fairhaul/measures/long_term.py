"""Whether a run is long enough for its figures to say something about the long term.

A flow forgets how it started by learning the path anew, again and again: with each loss event if
its controller probes by losses, and otherwise in the time that its controller needs for that, which
the engine states as the `probe_cycle` of a flow. Twenty of these cycles are enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from fairhaul.measures.limits import is_limited_by_others

# With fewer cycles a flow has not forgotten how it started.
ENOUGH_CYCLES = 20

# Cycles are not evenly spaced: a duration estimated from them is longer by this factor.
MARGIN = 1.25

Object = Mapping[str, Any]


def cycles(spec: Object, flow: Object, length_s: float) -> float | None:
    """How often a flow, with the figures `flow`, learned the path anew in `length_s` seconds.

    A loss event ends a cycle of round trips early, but not a period of time. None where the loss
    events are not known.
    """
    events, cycle = flow["loss_events"], spec.get("probe_cycle")
    if cycle is None or events is None:
        return None if events is None else float(events)
    rounds = cycle["rounds"] + cycle["rounds_per_packet"] * (flow["cwnd_mean"] or 0.0)
    trips = length_s / flow["rtt_mean_s"] if flow["rtt_mean_s"] else 0.0
    return min(
        max(events, trips / rounds) if rounds else inf,
        length_s / cycle["seconds"] if cycle["seconds"] else inf,
    )


def is_stationary(scenario: Object, flows: Sequence[Object]) -> bool | None:
    """Whether every measured bulk flow had enough cycles; None without such a flow.

    Only an endless flow can forget its start. A finite transfer has a completion time, and cycles
    say little about a flow that an application or a constant rate limits. A flow that its buffers
    or its pacing limit is steady without them.
    """
    bulk = _measured(scenario, flows, traffic="bulk")
    return _fewest_cycles(bulk) >= ENOUGH_CYCLES if bulk else None


def wanted_s(scenario: Object, flows: Sequence[Object]) -> float | None:
    """About how long the run has to be to be stationary, by the cycles of its slowest flow.

    None if it is stationary, and if a flow had no cycle.
    """
    fewest = _fewest_cycles(_measured(scenario, flows, traffic="bulk"))
    if not 0 < fewest < ENOUGH_CYCLES:
        return None
    return float(scenario["warmup_s"] + measured_s(scenario) * MARGIN * ENOUGH_CYCLES / fewest)


def is_completed(scenario: Object, flows: Sequence[Object]) -> bool | None:
    """Whether every measured flow of a given size was completed; None without such a flow."""
    sized = _measured(scenario, flows, traffic="sized")
    return all(flow["completion_s"] is not None for flow in sized) if sized else None


def measured_s(scenario: Object) -> float:
    """The length of the time over which figures are taken."""
    return float(scenario["duration_s"] - scenario["warmup_s"])


def _fewest_cycles(flows: Sequence[Object]) -> float:
    """The cycles of the flow that had the fewest, among the flows that the network limits."""
    limited = (flow for flow in flows if not is_limited_by_others(flow["limits"]))
    return min((flow["cycles"] or 0.0 for flow in limited), default=inf)


def _measured(scenario: Object, flows: Sequence[Object], *, traffic: str) -> list[Object]:
    """The measured flows of one kind of traffic; what programs send has none."""
    return [
        flow
        for spec, flow in zip(scenario["flows"], flows, strict=True)
        if flow["role"] == "measured"
        and spec["traffic"]["kind"] == traffic
        and "program" not in spec
    ]

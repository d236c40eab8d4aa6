"""Synchronization of losses: loss episodes, and which flows reduced their window in each.

Flows with synchronized losses share a link differently from flows without, so this explains a
fairness figure. Only bulk flows are counted; a short transfer ends before it could synchronize.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairhaul.measures.losses import Loss
    from fairhaul.measures.types import LossEpisodes


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """The loss episodes of a run: number, maximum length, and each flow's part of them."""

    count: int
    window_s: float | None
    joined: Mapping[str, float]

    def to_dict(self) -> LossEpisodes[float]:
        """Give the object in the figures of a run, without the flows' parts."""
        return {"count": self.count, "window_s": self.window_s}


def episodes(
    losses: Sequence[Loss], flows: Sequence[Mapping[str, Any]], scenario: Mapping[str, Any]
) -> Episodes:
    """Find the loss episodes of a run; `flows` have its mean round-trip times.

    The event table has the reactions of senders, not the drops of the queue. A reduction follows
    its drop (or mark) by about one round trip, a timeout by the length of the timer, so each is
    dated back by that time; otherwise two flows of 80 and 200 ms that lost at the same time would
    seem to have lost separately. An episode begins with the first drop and lasts one round trip of
    the slowest bulk flow: a full queue drops packets until the last sender has reacted.
    """
    rounds = {
        flow["name"]: flow["rtt_mean_s"] or spec["rtt_s"]
        for spec, flow in zip(scenario["flows"], flows, strict=True)
        if spec["traffic"]["kind"] == "bulk"
    }
    if not rounds:
        return Episodes(count=0, window_s=None, joined={})
    window = max(rounds.values())
    dated = sorted(
        (at - (value if what == "timeout" else rounds[flow]), flow)
        for at, what, flow, value in losses
        if flow in rounds and at >= scenario["warmup_s"]
    )
    gathered = _gather(dated, window)
    counts = Counter(flow for members in gathered for flow in members)
    joined = {flow: counts[flow] / len(gathered) for flow in rounds if gathered}
    return Episodes(count=len(gathered), window_s=window, joined=joined)


def _gather(dated: Sequence[tuple[float, str]], window: float) -> list[set[str]]:
    """Group the drops within `window` of the first drop."""
    gathered: list[set[str]] = []
    until = float("-inf")
    for at, flow in dated:
        if at > until:
            gathered.append(set())
            until = at + window
        gathered[-1].add(flow)
    return gathered

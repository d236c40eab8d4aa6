"""How closely losses coincide: loss episodes, and which flows reduced in each.

Flows that lose at the same instants share by other laws than flows that lose apart, so this is
what explains a fairness figure. Only bulk flows are looked at; a short transfer ends before it
could fall into step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.losses import stood

if TYPE_CHECKING:
    from fairhaul.record import Record


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """The loss episodes of a run: how many, how long at most, and each flow's part of them."""

    count: int
    window_s: float | None
    joined: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Give what stands in the measures of a run; the flows' parts stand with the flows."""
        return {"count": self.count, "window_s": self.window_s}


def episodes(record: Record, flows: Sequence[Mapping[str, Any]]) -> Episodes:
    """Find the loss episodes of `record`, whose measured `flows` say how long a round was.

    The event table has what senders did, not what the queue dropped. A reduction follows its drop
    (or mark) by about a round, a timeout by the length of the timer, so each is dated back by
    that much: else two flows of 80 and 200 ms that lost together would seem to have lost apart.
    An episode begins with the first drop so dated and lasts one round of the slowest bulk flow,
    which is how long a full queue goes on dropping until the last sender has heard of it.
    """
    import polars as pl

    scenario = record.meta["scenario"]
    rounds = {
        flow["name"]: flow["rtt_mean_s"] or spec["rtt_s"]
        for spec, flow in zip(scenario["flows"], flows, strict=True)
        if spec["traffic"]["kind"] == "bulk"
    }
    if not rounds:
        return Episodes(count=0, window_s=None, joined={})
    window = max(rounds.values())
    inside = pl.col("flow").is_in(list(rounds)) & (pl.col("t_s") >= scenario["warmup_s"])
    losses = stood(record).filter(inside).select("t_s", "kind", "flow", "value")
    dated = sorted(
        (at - (value if what == "timeout" else rounds[flow]), flow)
        for at, what, flow, value in losses.iter_rows()
    )
    found = _gather(dated, window)
    joined = {
        flow: sum(flow in members for members in found) / len(found) for flow in rounds if found
    }
    return Episodes(count=len(found), window_s=window, joined=joined)


def _gather(dated: Sequence[tuple[float, str]], window: float) -> list[set[str]]:
    """Put drops that lie within `window` of the first of them together."""
    found: list[set[str]] = []
    until = float("-inf")
    for at, flow in dated:
        if at > until:
            found.append(set())
            until = at + window
        found[-1].add(flow)
    return found

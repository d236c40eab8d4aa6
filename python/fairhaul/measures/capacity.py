"""The rate of each link, and the capacity of its queue in every unit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean
from typing import Any, TypedDict

# The traffic of the flows by which `capacity = "1 bdp"` goes: the first kinds that cross the link.
BULK, SIZED = frozenset({"bulk", "limited"}), frozenset({"sized"})


class Capacity(TypedDict):
    """What a link and its queue are made for; None without a limit."""

    rate_bps: int
    capacity_packets: int | None
    capacity_s: float | None
    capacity_bdp: float | None
    """Over the rate times the mean two-way propagation delay; None without a bulk flow."""


def capacities(scenario: Mapping[str, Any]) -> list[Capacity]:
    """Give the rate and the capacity of each link of a described scenario."""
    rtts_s: defaultdict[int, defaultdict[str, list[float]]]
    rtts_s = defaultdict(lambda: defaultdict(list))
    for flow in scenario["flows"]:
        for hop in (*flow["forward"], *flow["reverse"]):
            if "link" in hop:
                rtts_s[hop["link"]][flow["traffic"]["kind"]].append(flow["rtt_s"])
    return [
        {
            "rate_bps": link["rate_bps"],
            "capacity_packets": link["capacity_packets"],
            "capacity_s": link["capacity_s"],
            "capacity_bdp": _in_bdp(link["capacity_s"], rtts_s[number]),
        }
        for number, link in enumerate(scenario["links"])
    ]


def _in_bdp(capacity_s: float | None, rtts_s: Mapping[str, list[float]]) -> float | None:
    for kinds in (BULK, SIZED):
        crossing = [rtt_s for kind in kinds for rtt_s in rtts_s.get(kind, ())]
        if crossing:
            rtt_s = fmean(crossing)
            return capacity_s / rtt_s if capacity_s is not None and rtt_s else None
    return None

"""Scenarios 1 and 2 [GHSTCP, test in the emulation network]: Flow-1 beside two of TCP Reno."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairhaul.studies.papers.measured import goodput_factor

if TYPE_CHECKING:
    from fairhaul.record.record import Record


def numbers(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give the goodputs of Flow-1's transfer and of the Reno flows, and how fair they are."""
    worth = goodput_factor(record) / 1e6
    groups: dict[str, float] = {}
    for flow in figures["flows"]:
        groups[flow["group"]] = groups.get(flow["group"], 0.0) + worth * flow["goodput_bps"]
    first, *rest = groups.values()
    used, fair = 100 * figures["links"][0]["utilization"], figures["fairness"]
    return {
        "Flow-1 Mbit/s": first,
        "each of Flow-2 Mbit/s": sum(rest) / len(rest),
        "link used %": used,
        "Jain's index": fair["jain"],
        "of max-min share": fair["entitlement"],
        "used x Jain": used / 100 * fair["jain"],
    }

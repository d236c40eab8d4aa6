"""What keeps flows from sending more, and for which part of the time."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import TYPE_CHECKING

from fairhaul.record.columns import columns_of

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.described import DescribedFlow

CONGESTION_WINDOW = "congestion window"
LIMITS = (CONGESTION_WINDOW, "pacing cap", "receive window", "send buffer", "application")
# A flow whose congestion window keeps it back for less of the time is limited by other things.
SELDOM = 0.05


def limits(record: Record) -> dict[str, dict[str, float]]:
    """Give the part of the time, 0 to 1, for which each limit kept each flow back, by its name."""
    times: dict[str, dict[str, float]] = {}
    for flow, limit, time_s in columns_of(record.raw("limit")).rows("flow", "limit", "time_s"):
        times.setdefault(flow, {})[limit] = time_s
    return {
        flow: {limit: mine.get(limit, 0.0) / sum(mine.values()) for limit in LIMITS}
        for flow, mine in times.items()
    }


def inside(flow: DescribedFlow, value: float, *, of_stack: bool = True) -> float | None:
    """Give a figure that only the inside of a sender shows.

    None of programs, of a transport stack unless it shows it (`of_stack`), and where it is not a
    number, as the window of a stack that shows none.
    """
    hidden = "program" in flow or ("stack" in flow and not of_stack)
    return None if hidden or isnan(value) else value


def is_limited_by_others(parts: Mapping[str, float]) -> bool:
    """Whether something else than its congestion window limits a flow, by the parts of its time."""
    return bool(parts) and parts[CONGESTION_WINDOW] < SELDOM


def limited_by(parts: Mapping[str, float] | None) -> str:
    """Name the limit that kept a flow back for longest, and its part of the time if not nearly all.

    Nothing where the congestion window did, which is what congestion control is for.
    """
    if not parts:
        return ""
    limit = max(parts, key=parts.__getitem__)
    if limit == CONGESTION_WINDOW or not parts[limit]:
        return ""
    return limit if parts[limit] > 1 - SELDOM else f"{limit} {parts[limit]:.0%}"

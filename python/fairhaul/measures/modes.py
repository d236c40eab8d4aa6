"""How often controllers that have several modes change their mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.record.columns import columns_of

if TYPE_CHECKING:
    from fairhaul.record.record import Record


def changes_per_s(record: Record) -> dict[str, float]:
    """Give the mode changes per second in the measured time, for flows whose controller has modes.

    The first mode of a connection is not a change.
    """
    scenario = record.meta["scenario"]
    events = columns_of(record.raw("event")).rows("t_s", "kind", "flow", "value")
    modes = [(t, flow, mode) for t, kind, flow, mode in events if kind == "mode"]
    last: dict[str, float] = {}
    changes: dict[str, int] = {}
    for t, flow, mode in sorted(modes, key=lambda event: event[0]):
        is_change = mode != last.get(flow, mode) and t >= scenario["warmup_s"]
        changes[flow] = changes.get(flow, 0) + is_change
        last[flow] = mode
    length = scenario["duration_s"] - scenario["warmup_s"]
    return {flow: count / length for flow, count in changes.items()}

"""The losses of a run as its senders detected them, without undone reductions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fairhaul.record.columns import columns_of

if TYPE_CHECKING:
    from fairhaul.record.record import Record

# A loss, or the echo of a mark that a queue sets instead of a drop: one reduction of the window.
REDUCTIONS = ("reduction", "marked")
LOSSES = (*REDUCTIONS, "timeout")


class Loss(NamedTuple):
    """A reduction of the window or a timeout: a row of the event table."""

    t_s: float
    kind: str
    flow: str
    value: float


def not_undone(record: Record) -> list[Loss]:
    """Give the reductions and timeouts of `record` that were not undone, in the order of time.

    An event `undone` has a start time: packets were late and not lost. It undoes the reductions of
    its flow since that time; in a flow of many connections, those of every connection in that time,
    which is about one round trip.
    """
    rows = columns_of(record.raw("event")).rows(*Loss._fields)
    events = [Loss._make(row) for row in rows if row[1] in (*LOSSES, "undone")]
    # At one time an event `undone` is the last.
    events.sort(key=lambda event: (event.t_s, event.kind == "undone"))
    losses: list[Loss] = []
    # Backwards in time: since when the next `undone` of each flow undoes its losses.
    undone_since: dict[str, float] = {}
    for event in reversed(events):
        if event.kind == "undone":
            undone_since[event.flow] = event.value
        elif event.kind in LOSSES and undone_since.get(event.flow, math.inf) > event.t_s:
            losses.append(event)
    losses.reverse()
    return losses

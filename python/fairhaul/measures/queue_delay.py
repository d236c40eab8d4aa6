"""Percentiles of the time that packets took to pass a link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from fairhaul.record.columns import columns_of

if TYPE_CHECKING:
    from fairhaul.record.record import Record


class Percentiles(TypedDict):
    """The percentiles of the delay at one direction of a link, seconds."""

    queue_p50_s: float | None
    queue_p95_s: float | None
    queue_p99_s: float | None


# Those of a link that no packet has left.
UNKNOWN: Percentiles = {"queue_p50_s": None, "queue_p95_s": None, "queue_p99_s": None}


def percentiles(record: Record) -> dict[str, Percentiles]:
    """Give the percentiles of the delay at each link that packets left, by its name, seconds."""
    return {
        name: {"queue_p50_s": p50, "queue_p95_s": p95, "queue_p99_s": p99}
        for name, (p50, p95, p99) in quantiles(record, (0.50, 0.95, 0.99)).items()
    }


def quantiles(record: Record, parts: Sequence[float]) -> dict[str, list[float]]:
    """Give the delays at each link below which these parts of its packets were, seconds.

    A delay is from the arrival of a packet until its last bit leaves the link. Within a row of the
    record's histogram delays are taken to be evenly spread, so that an error is below 1.6 %.
    """
    import numpy as np

    columns = columns_of(record.raw("queue_delay"))
    owner, numbers = columns.words["link"], columns.numbers
    found: dict[str, list[float]] = {}
    for place, name in enumerate(owner.names):
        rows = owner.indices == place
        packets = numbers["packets"][rows]
        if not packets.sum():
            continue
        # Twice each edge, since there are gaps between the rows.
        edges = np.column_stack([numbers["from_s"][rows], numbers["below_s"][rows]]).ravel()
        counted = np.cumsum(packets)
        found[name] = np.interp(
            np.array(parts) * counted[-1],
            np.column_stack([counted - packets, counted]).ravel(),
            edges,
        ).tolist()
    return found

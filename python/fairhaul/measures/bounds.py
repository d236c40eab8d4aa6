"""The bounds of figures, where they are not zero and infinity."""

from __future__ import annotations

from collections.abc import Mapping

from fairhaul.statistics.estimate import (
    AT_LEAST_1,
    AT_MOST_1,
    FRACTION,
    Bounds,
)

# What figures can be; all others are at least 0.
BOUNDS: Mapping[str, Bounds] = {
    "share": FRACTION,
    "link_share": FRACTION,
    "loss_rate": FRACTION,
    "loss_sync": FRACTION,
    "utilization": FRACTION,
    "drop_rate": FRACTION,
    "mark_rate": FRACTION,
    "max_min_ratio": AT_LEAST_1,
    "harm": AT_MOST_1,
}


INDICES = ("jain", "jain_by_window", "entitlement")

"""What is kept of a run: percentiles of the time that packets took to pass the bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.measures.queue_delay import quantiles

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

LINK = "bottleneck"
# The median, which is compared, and what shows the shape of the distribution.
PARTS = (0.5, 0.01, 0.05, 0.1, 0.95, 0.99)


def delays_s(_: Scenario, record: Record) -> list[float]:
    """Give the delays below which `PARTS` of the packets were, the median first."""
    return quantiles(record, PARTS)[LINK]

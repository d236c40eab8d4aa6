"""What is kept of a run of the probes of the round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.measures.measures import measure

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

LINK = "bottleneck"


def probed(_: Scenario, record: Record) -> dict[str, float]:
    """Give the values of a run, after the warm-up; `queue_s` is the mean time in the queue."""
    figures = measure(record)
    link = next(link for link in figures["links"] if link["name"] == LINK)
    return {
        "utilization": link["utilization"],
        "fairness": figures["fairness"]["jain"] or 0.0,
        "queue_s": link["queue_mean_s"] or 0.0,
        "retransmits": float(sum(flow["retransmits"] or 0 for flow in figures["flows"])),
    }

"""NewReno beside another flow of the same round trip: where they run, and the numbers of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairhaul.measures import ENOUGH_LOSS_EVENTS, measure
from fairhaul.papers import losses

if TYPE_CHECKING:
    from fairhaul.papers.experiment import Found, Key, Settings
    from fairhaul.record import Record

FAST, MIDDLE = "1 Gbit/s", "20 Mbit/s"
RED, DROPTAIL = "RED", "DropTail"
RATES, QUEUES = (FAST, MIDDLE), (RED, DROPTAIL)

# Two flows of the same round trip: the throughput of NewReno over that of CUBIC.
PAPER = {
    (FAST, RED): 0.09,
    (FAST, DROPTAIL): 0.14,
    (MIDDLE, RED): 0.69,
    (MIDDLE, DROPTAIL): 0.40,
}

# The bandwidth-delay product at 100 ms, packets of 1000 bytes.
BDP = {FAST: 12_500, MIDDLE: 250}

# Of a data packet; what is delivered counts without.
HEADERS = 40

# The quarter with which NewReno alone uses what the paper says it does.
BUFFER = "0.25 bdp"

# Long enough for some twenty loss events: one in 26 s on the fast link, in 4 s on the slow one.
TIMES: dict[str, Settings] = {
    FAST: {"duration": "700 s", "warmup": "100 s"},
    MIDDLE: {"duration": "600 s", "warmup": "100 s"},
}
QUICK: dict[str, Settings] = {
    FAST: {"duration": "160 s", "warmup": "80 s"},
    MIDDLE: {"duration": "600 s", "warmup": "100 s"},
}


# RED as in ns-2.26: it counts packets, and takes them for half as large as they are when it chooses
# its thresholds, 625 and 1875 packets at 1 Gbit/s, 12.5 and 37.5 at 20 Mbit/s.
NS2: Settings = {"mean_packet": 500, "queue_in_bytes": False, "drop_in_bytes": False}


def queue(kind: str, capacity: str = BUFFER) -> Settings:
    """Give the queue of a link: DropTail, or RED with ns-2's automatic parameters."""
    return {"kind": kind.lower(), "capacity": capacity, **(NS2 if kind == RED else {})}


def link(rate: str, kind: str, quick: bool) -> Settings:
    """Give the settings of a link: its queue, how long it runs, where slow start ends."""
    return {
        "bottleneck.rate": rate,
        "bottleneck.queue": queue(kind),
        "flow.*.initial_ssthresh": BDP[rate],
        **(QUICK if quick else TIMES)[rate],
    }


def pair_numbers(record: Record) -> dict[str, float | None]:
    """Give the numbers of a run of two flows, of which the first is NewReno."""
    measures: Any = measure(record)
    reno, other = flows = measures["flows"]
    rates = [flow["throughput_bps"] for flow in flows]
    capacity = record.meta["scenario"]["links"][0]["rate_bps"]
    specs = record.meta["scenario"]["flows"]
    packets = [_queued(flow, spec) for flow, spec in zip(flows, specs, strict=True)]
    recorded = measures["links"][0]["queue_mean_packets"]
    return {
        "ratio": rates[0] / rates[1] if rates[1] else None,
        "NewReno": 100 * rates[0] / capacity,
        "other": 100 * rates[1] / capacity,
        "utilisation": 100 * measures["links"][0]["utilization"],
        "loss NewReno": reno["loss_rate"],
        "loss other": other["loss_rate"],
        "loss ratio": other["loss_rate"] / reno["loss_rate"] if reno["loss_rate"] else None,
        "sent share": rates[1] / sum(rates),
        "queue share": packets[1] / sum(packets) if sum(packets) else None,
        "queue": recorded,
        "queue found": sum(packets) / recorded if recorded else None,
        "loss events": float(min(flow["loss_events"] for flow in flows)),
        "timeouts": float(sum(flow["timeouts"] for flow in flows)),
        **losses.numbers(measures, (reno["name"], other["name"])),
    }


def _queued(flow: dict[str, Any], spec: dict[str, Any]) -> float:
    """Give the mean number of packets of a flow in the queue, by Little's law.

    The record has the backlog of the link and not of its flows. What arrives of a flow in a second
    times the time that it waits is what it has in the queue; it waits for what its round trips are
    above propagation. Access links and the way back add less than a packet of the bottleneck.
    """
    arrived = flow["throughput_bps"] / 8 / (spec["packet_bytes"] - HEADERS)
    waited = (flow["rtt_mean_s"] or spec["rtt_s"]) - spec["rtt_s"]
    return float(arrived * max(waited, 0.0))


def stationary(found: Found, key: Key) -> bool:
    """Whether in the mean of the seeds each flow saw enough loss events to forget its start."""
    return found.mean(key, "loss events") >= ENOUGH_LOSS_EVENTS


def marked(found: Found, key: Key, label: str) -> str:
    """Mark the label of a row that is not stationary."""
    return label if stationary(found, key) else f"{label} *"


NOT_STATIONARY = (
    f"* Not stationary: a flow saw fewer than {ENOUGH_LOSS_EVENTS} loss events, so that the number "
    "says how it began as much as how it shares."
)

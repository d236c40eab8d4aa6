"""Recoveries and timeouts in the record of a run in Linux, compared with those in its packets.

The events come from samples of the sender's state, the counters of drops and retransmissions from
the packets themselves. From the counters alone follows when a sender must have reduced its window:
with the first retransmission after a drop; and when its timer has expired: a retransmission after
a silence of at least 200 ms, the shortest timeout of Linux.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl
import pytest

from fairhaul.record.record import Record
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_one
from tests.linux_program import needs_linux

SCENARIO: Mapping[str, Any] = {
    "title": "Loss episodes",
    "duration": "20 s",
    "warmup": "0 s",
    "packet": "1500 B",
    "profile": "linux-tcp",
    "bottleneck": {
        "rate": "20 Mbit/s",
        "delay": "10 ms",
        "queue": {"kind": "droptail", "capacity": "0.5 bdp"},
    },
    "flow": [{"name": "F", "rtt": "40 ms", "controller": "reno"}],
}
BIN_S = 0.02
# Slow start loses so many packets that retransmissions are dropped, too.
AFTER_S = 3
# From the sender to the bottleneck, and through a full queue: packets that were sent before the
# reduction are dropped until then.
TO_BOTTLENECK_S, QUEUE_S = 0.005, 0.02
SHORTEST_TIMEOUT_S = 0.2


def recorded(**changed: Any) -> Record:
    """Run the scenario with some keys of the bottleneck, the flow or the top changed."""
    link = {**SCENARIO["bottleneck"], **changed.pop("bottleneck", {})}
    flow = {**SCENARIO["flow"][0], **changed.pop("flow", {})}
    given = {**SCENARIO, **changed, "bottleneck": link, "flow": [flow]}
    [record] = for_each([read_one(given)], lambda _, record: record, engine="linux")
    return record


def bins(record: Record, counter: str) -> list[int]:
    """Give the numbers of the bins in which a counter of the flow is not zero."""
    series = record.tables()["flow_series"].with_row_index("bin")
    return series.filter(pl.col(counter) > 0, pl.col("t_s") > AFTER_S)["bin"].to_list()


def dropped(record: Record) -> list[int]:
    """Give the numbers of the bins in which the bottleneck dropped packets."""
    series = record.tables()["link_series"].filter(pl.col("link") == "bottleneck")
    chosen = (pl.col("dropped") > 0, pl.col("t_s") > AFTER_S)
    return series.with_row_index("bin").filter(*chosen)["bin"].to_list()


def events(record: Record, *kinds: str) -> list[int]:
    """Give the numbers of the bins of the events of these kinds."""
    found = record.tables()["event"].filter(pl.col("kind").cast(pl.String).is_in(kinds))
    return [int(t_s / BIN_S) for t_s in found["t_s"] if t_s > AFTER_S]


def reductions_in_packets(drops: Sequence[int], retransmissions: Sequence[int]) -> list[int]:
    """Give the bins in which each loss episode is detected: its first retransmission."""
    found: list[int] = []
    lasts = round((TO_BOTTLENECK_S + QUEUE_S) / BIN_S)
    for drop in drops:
        if found and drop <= found[-1] + lasts:
            continue
        later = [bin_ for bin_ in retransmissions if bin_ >= drop]
        if later:
            found.append(later[0])
    return found


def timeouts_in_packets(sent: Sequence[int], retransmissions: Sequence[int]) -> list[int]:
    """Give the bins with a retransmission after a silence of the shortest timeout."""
    silence = int(SHORTEST_TIMEOUT_S / BIN_S)
    resumed = [now for last, now in pairwise(sent) if now - last >= silence]
    return [bin_ for bin_ in resumed if bin_ in retransmissions]


def test_drops_until_the_reduction_reaches_the_bottleneck_are_one_episode() -> None:
    assert reductions_in_packets([10, 11, 12, 40], [12, 13, 43]) == [12, 43]
    assert timeouts_in_packets([1, 2, 13, 14, 30], [2, 13, 14]) == [13]


def compare(record: Record) -> tuple[int, int]:
    """Check the reductions and the timeouts; gives their numbers.

    A sample is taken as a packet arrives, so it shows what the packet before it has done: an event
    may be in the bin after that of the retransmission.
    """
    assert record.meta["trust"]["valid"]
    retransmissions = bins(record, "retransmitted")
    timeouts = timeouts_in_packets(bins(record, "sent"), retransmissions)
    reductions = [
        bin_
        for bin_ in reductions_in_packets(dropped(record), retransmissions)
        if bin_ not in timeouts
    ]
    for found, expected in (
        (events(record, "reduction"), reductions),
        (events(record, "timeout"), timeouts),
    ):
        assert len(found) == len(expected), (found, expected)
        assert all(0 <= event - packet <= 1 for event, packet in zip(found, expected, strict=True))
    return len(reductions), len(timeouts)


@needs_linux
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_random_loss_is_one_reduction(seed: int) -> None:
    record = recorded(seed=seed, bottleneck={"loss": 0.001})
    reductions, timeouts = compare(record)
    assert reductions >= 10
    assert timeouts == 0
    # All of them end: nothing was reduced by mistake, so nothing is undone.
    assert len(events(record, "recovered")) == reductions
    assert events(record, "undone") == []


@needs_linux
@pytest.mark.parametrize("controller", ["reno", "cubic", "highspeed"])
def test_every_overflow_of_a_queue_is_one_reduction(controller: str) -> None:
    record = recorded(flow={"controller": controller})
    reductions, timeouts = compare(record)
    assert reductions >= 4
    assert timeouts == 0
    assert len(events(record, "recovered")) == reductions


@needs_linux
def test_every_retransmission_after_a_silence_is_a_timeout() -> None:
    outage = [{"at": "5 s", "loss": 1}, {"at": "6.5 s", "loss": 0}]
    _, timeouts = compare(recorded(bottleneck={"schedule": outage}))
    # 1.5 s are a timeout of about 0.3 s, and of twice and four times that.
    assert timeouts == 3

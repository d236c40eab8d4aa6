"""What a delivered packet costs behind each queue, in instructions."""

from __future__ import annotations

import pytest

from fairhaul.gallery import cost
from fairhaul.look import catalogue

QUEUES = [entry["name"] for entry in catalogue()["queues"]]

# Eight flows, so that every packet waits for its turn at the link.
SCENARIO = """
duration = "DURATION"
[bottleneck]
rate = "50 Mbit/s"
delay = "5 ms"
queue = { kind = "QUEUE", capacity = "1 bdp" }
[[flow]]
name = "F"
count = 8
rtt = "40 ms"
controller = "CONTROLLER"
"""


def cost_of(queue: str) -> float:
    controller = "xcp" if queue.startswith("xcp") else "reno"
    scenario = SCENARIO.replace("QUEUE", queue).replace("CONTROLLER", controller)
    return cost.per_delivery(scenario, "2 s", "4 s")


@pytest.mark.skipif(cost.valgrind() is None, reason=cost.MISSING)
@pytest.mark.parametrize("queue", [queue for queue in QUEUES if queue != "droptail"])
def test_a_queue_costs_little_more_than_droptail(queue: str) -> None:
    # A queue that decides on arrival has its law beside; one that decides at departure an event for
    # every packet at the link, too, and FQ-CoDel its lists; XCP its header, its answer and the
    # sender's part.
    ratio = cost_of(queue) / cost_of("droptail")
    print(f"{queue}: {cost_of(queue):.0f} instructions a packet, {ratio:.2f} of droptail's")
    assert ratio < {"fq_codel": 1.75, "xcp": 2.0, "xcp_tcp": 2.0}.get(queue, 1.5)

"""The cost of a delivered packet with each queue, in instructions."""

from __future__ import annotations

from functools import cache

from tools.bench import cost

# Eight flows, so that every packet waits in the queue.
SCENARIO = """
duration = "DURATION"
profile = "plain"
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


@cache
def per_packet(queue: str) -> float:
    """Count the instructions of a delivered packet behind `queue`.

    Raises:
        RuntimeError: There is no valgrind, or the engine could not be built or run.
    """
    controller = "xcp" if queue.startswith("xcp") else "reno"
    scenario = SCENARIO.replace("QUEUE", queue).replace("CONTROLLER", controller)
    return cost.per_delivery(scenario, "2 s", "4 s")


def target(queue: str) -> float:
    """Give how much a packet behind `queue` may cost, over one behind DropTail."""
    return 2.0 if queue.startswith("xcp") else 1.5

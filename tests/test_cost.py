"""What a delivered packet costs behind each queue, in instructions."""

from __future__ import annotations

import pytest

from tools import names
from tools.bench import cost
from tools.bench.queues import per_packet


@pytest.mark.skipif(cost.valgrind() is None, reason=cost.MISSING)
@pytest.mark.parametrize("queue", [queue for queue in names("queues") if queue != "droptail"])
def test_a_queue_costs_little_more_than_droptail(queue: str) -> None:
    # A queue that decides on arrival adds its law; one that decides at departure an event for every
    # packet at the link, too. FQ-CoDel adds its lists, XCP its header, its answer and the part of
    # the sender, and its queue that limits TCP a count of flows. `fq` and `dualpi2` have several
    # queues and their turns, and CAKE a clock for each of its tins, too.
    classes = {"fq": 1.8, "dualpi2": 1.8, "cake": 2.4}
    most = {"fq_codel": 1.6, "xcp": 2.0, "xcp_tcp": 2.1, **classes}.get(queue, 1.5)
    ratio = per_packet(queue) / per_packet("droptail")
    print(f"{queue}: {per_packet(queue):.0f} instructions a packet, {ratio:.2f} of droptail's")
    assert ratio < most

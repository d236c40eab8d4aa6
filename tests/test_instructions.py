"""What a packet of small workloads costs, against what is on record."""

from __future__ import annotations

import pytest

from tools.bench import cost, counts
from tools.bench.loads import COUNTED, Load


@pytest.mark.skipif(cost.valgrind() is None, reason=cost.MISSING)
@pytest.mark.parametrize("load", COUNTED, ids=lambda load: load.name)
def test_a_packet_costs_what_is_on_record(load: Load) -> None:
    now = counts.of_packet(load)
    print(f"{load.name}: {now:.1f} instructions a packet")
    wrong = counts.judge(load.name, now)
    assert wrong is None, wrong


@pytest.mark.parametrize(("change", "wanted"), [(0.06, "above"), (-0.11, "below")])
def test_a_change_of_cost_names_the_command_that_records_it(change: float, wanted: str) -> None:
    _, recorded = counts.recorded_counts()
    for name, before in recorded.items():
        wrong = counts.judge(name, before * (1 + change))
        assert wrong is not None
        assert wanted in wrong
        assert counts.COMMAND in wrong
        assert counts.judge(name, before * (1 + 0.8 * change)) is None

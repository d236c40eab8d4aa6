"""No run takes much more processor time than is estimated: a few scenarios of `make fuzz`."""

from __future__ import annotations

from tests.drawn_costs import ESTIMATED_S, MOST, drawn, timed

SEED, CASES = 2, 40


def test_no_drawn_scenario_takes_more_than_twenty_times_its_estimate() -> None:
    found = timed(SEED, range(CASES))
    # Most runs are long enough to be judged.
    assert sum(run.ratio > 0 for run in found) > CASES / 2
    assert found[0].ratio <= MOST, str(found[0])


def test_drawn_scenarios_are_the_same_each_time_and_their_estimates_are_small() -> None:
    (content, scenario), (again, _) = drawn(SEED, 3), drawn(SEED, 3)
    assert content == again
    assert ESTIMATED_S / 4 < dict(scenario.estimate())["seconds"] <= ESTIMATED_S

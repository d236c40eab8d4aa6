"""`attack --objective disagree`: impairments, what counts as equal, and a place on both engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fairhaul.scenario.read import ScenarioError, read_one
from fairhaul.studies.attack import read_question
from fairhaul.studies.attack.box import read_box
from fairhaul.studies.attack.differences import Difference, differences, largest
from fairhaul.studies.attack.impairments import NONE
from fairhaul.studies.attack.place import IMPAIRMENTS, Place
from fairhaul.studies.attack.trials import Trials
from tests.linux_program import needs_linux

ONE: Mapping[str, Any] = {
    **{"rate": "5 Mbit/s", "rtt": "40 ms", "buffer": "1 bdp", "loss": 0, "flows": 1, "rivals": 0},
    **{"size": 0, "queue": "droptail", "rival": "self", "impairment": NONE, "offload": "off"},
}
QUESTION = read_question("cubic", "disagree", within=ONE)
PLACE = QUESTION.box.place([0.5] * len(QUESTION.box.names))


def place(**keys: Any) -> Place:
    """A place of the box with one value for everything but what is given."""
    box = read_box({**ONE, "rivals_rtt": 1, "rivals_start": 0, "strength": 0, **keys}, "box")
    return box.place([])


@pytest.mark.parametrize("strength", [0, 1])
@pytest.mark.parametrize("name", IMPAIRMENTS)
def test_every_impairment_is_a_scenario(name: str, strength: int) -> None:
    at = place(impairment=name, strength=strength, size="2 bdp")
    described = read_one(QUESTION.attacked.keys(at, 1)).described
    without = read_one(QUESTION.attacked.keys(place(size=at.size_bdp and "2 bdp"), 1)).described
    assert described != without
    assert at.text() != PLACE.text()
    assert "{" not in at.text()


def test_the_value_of_an_impairment_grows_with_its_strength() -> None:
    values = [
        IMPAIRMENTS["jitter"].value(place(impairment="jitter", strength=part))
        for part in (0, 0.5, 1)
    ]
    # From 0.01 to 0.3 of 40 ms, in equal ratios.
    assert values == pytest.approx([0.0004, 0.04 * (0.01 * 0.3) ** 0.5, 0.012], rel=0.01)


def test_a_transfer_ends_and_is_measured_from_its_begin() -> None:
    keys = QUESTION.attacked.keys(place(size="10 bdp"), 1)
    # 5 Mbit/s x 40 ms = 16.7 packets of 1500 B.
    assert keys["flow"][0]["traffic"] == "250500 B"
    assert keys["warmup"] == "0 s"


def test_hosts_have_offload_from_200_mbit_on() -> None:
    box = {"offload": {"any": ["on", "off"]}}
    at = [read_box({**ONE, **box, "rate": rate}, "box") for rate in ("100 Mbit/s", "1 Gbit/s")]
    points = [[0.9] * len(of.names) for of in at]
    assert [of.place(point).offload for of, point in zip(at, points, strict=True)] == ["off", "on"]


def figures(goodput: float, cwnd: float, events: float, completion: float | None) -> dict[str, Any]:
    group = {"goodput_bps": goodput, "cwnd": cwnd, "rtt_s": 0.05, "loss_events": events}
    return {"flows": {"own": {**group, "completion_s": completion}}}


def compared(sim: list[Any], linux: list[Any], at: Place = PLACE) -> dict[str, Difference]:
    runs = dict(zip(("attacked", "again", "linux", "linux again"), [*sim, *linux], strict=True))
    found = {one.figure: one for one in differences(at, runs)}
    assert largest(at, runs).value == max(one.value for one in found.values())
    return found


def test_what_two_seeds_differ_by_counts_as_equal() -> None:
    same = [figures(1e6, 20, 10, None)] * 2
    steady = compared(same, [figures(1.2e6, 20, 10, None)] * 2)
    # 0.2 beside 5 % of 1.2.
    assert steady["goodput_bps"].value == pytest.approx(0.2 / 0.06)
    assert steady["cwnd"].value == 0
    by_chance = compared(same, [figures(1.0e6, 20, 10, None), figures(1.4e6, 20, 10, None)])
    assert by_chance["goodput_bps"].value == pytest.approx(0.5)
    # 16 events and 25: the root of 25, twice, and one.
    events = compared(same[:1] * 2, [figures(1e6, 20, 25, None)] * 2)
    assert events["loss_events"].value == pytest.approx(15 / 11)
    assert "completion_s" not in events


def test_a_transfer_that_is_not_over_took_the_whole_run() -> None:
    at = place(size="10 bdp")
    found = compared([figures(1, 20, 1, 2.0)] * 2, [figures(1, 20, 1, None)] * 2, at)
    assert (found["completion_s"].sim, found["completion_s"].linux) == (2.0, at.duration_s)
    assert "goodput_bps" not in found


def test_an_unknown_impairment_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r'impairment: unknown word "jiter"; .*jitter'):
        read_box({"impairment": "jiter"}, "box")


@needs_linux
def test_both_engines_agree_on_a_plain_path() -> None:
    trials = Trials(attacked=QUESTION.attacked, objective=QUESTION.objective)
    ((trial,),) = trials.run([PLACE], [1])
    assert trials.runs == 4
    assert {case: of["kernel"] is not None for case, of in trial.runs.items()} == {
        **{"attacked": False, "again": False, "linux": True, "linux again": True}
    }
    assert trial.value < 1

"""The sweeps of docs/start.md: their cases, how rules are compared, and what combinations say."""

from __future__ import annotations

import pytest

from fairhaul import ScenarioError
from fairhaul.jobs.values import Running
from fairhaul.scenario.read import read
from tools.start.__main__ import SWEEPS
from tools.start.compared import ratios
from tools.start.result import Started
from tools.start.rules import LIMITED, RESUME, RULES, keys_of
from tools.start.runs import SCENARIOS, Runs, Sweep, is_short, runs_of
from tools.start.tables import losses

APPLICATION = SCENARIOS / "application.toml"
NOTHING = Started(
    completion_s=None,
    lost=0,
    lost_of_others=0,
    others_bps=0.0,
    delay_s=0.0,
    exit_cwnd=None,
    exit_s=None,
    loss_s=None,
    goodput_bps=0.0,
)


def test_a_size_is_left_out_where_it_would_take_more_than_a_minute() -> None:
    # 10 GB at 5 Gbit/s are 16 s, at 200 Mbit/s 400 s.
    assert is_short(("5 Gbit/s", "10 ms", "1 bdp", "10 GB"))
    assert not is_short(("200 Mbit/s", "10 ms", "1 bdp", "10 GB"))


def test_the_saved_window_is_what_fits_the_path() -> None:
    # 200 Mbit/s for 60 ms are 1.5 MB, 1000 packets.
    startup = keys_of(RESUME, "200 Mbit/s", "60 ms")["flow.F.startup"]
    assert (startup["saved_window"], startup["saved_rtt"]) == (1000, "60 ms")


def test_rules_are_compared_in_pairs_and_judged_together() -> None:
    def runs(times: list[float]) -> list[Started]:
        return [Started(**{**NOTHING, "completion_s": time}) for time in times]

    base = [1.0, 1.1, 1.2, 1.3, 1.4]
    cases: Runs = {
        ("a",): {"x": runs(base), "y": runs([2.0 * time + 0.001 * time**2 for time in base])},
        ("b",): {"x": runs(base), "y": runs([0.5 * time + 0.001 * time**2 for time in base])},
    }
    of = ratios(cases, "x", lambda run: run["completion_s"] or 0.0)["y"]
    assert of.ratio.mean == pytest.approx(1.0, abs=0.01)
    assert (of.less, of.more, of.cases) == ([("b",)], [("a",)], 2)


def test_losses_are_compared_for_each_first_value_and_all_judged_together() -> None:
    def runs(lost: list[int]) -> list[Started]:
        return [Started(**{**NOTHING, "lost": count}) for count in lost]

    some, none = runs([10, 12, 11, 10, 13]), runs([0, 0, 0, 0, 0])
    cases: Runs = {
        ("paced", "1 bdp"): {"x": some, "y": none},
        ("paced", "2 bdp"): {"x": some, "y": none},
        ("paced", "4 bdp"): {"x": none, "y": none},
        ("not paced", "1 bdp"): {"x": none, "y": some},
    }
    assert list(losses(cases, "x")) == [
        "- With paced, `y` loses fewer packets than x at 1 bdp and 2 bdp, and more nowhere.",
        "- With not paced, `y` loses fewer packets than x nowhere, and more at 1 bdp.",
    ]


def test_a_resumed_transfer_is_shorter_than_one_in_slow_start() -> None:
    sweep = Sweep(name="sized", rules=["standard", "search", RESUME])
    case = ("200 Mbit/s", "150 ms", "4 bdp", "10 MB")
    runs = runs_of(sweep, 1, Running(), lambda of: of == case)[case]
    times = {rule: of[0]["completion_s"] or float("inf") for rule, of in runs.items()}
    assert times[RESUME] < times["standard"] < float("inf")


def test_every_sweep_has_a_file_and_rules_that_it_can_run() -> None:
    for name, sweep in SWEEPS.items():
        assert read(SCENARIOS / f"{name}.toml")
        assert {*sweep.rules} <= {*RULES, *LIMITED, *(sweep.own or {})}


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"flow.F.slow_start": "search"}, "slow_start: not possible with bbr"),
        ({"flow.F.startup": "jumpstart"}, "startup: not possible with bbr"),
        ({"flow.F.rate_limited_increase": True}, "rate_limited_increase: not possible with bbr"),
    ],
)
def test_a_controller_that_sets_its_window_has_no_rule_of_the_start(
    keys: dict[str, object], says: str
) -> None:
    with pytest.raises(ScenarioError, match=says):
        read(APPLICATION, {"flow.F.controller": "bbr", **keys})


def test_rules_that_contradict_each_other_are_refused() -> None:
    both = {"flow.F.slow_start": "limited", "flow.F.startup": "rapid start"}
    with pytest.raises(ScenarioError, match="triples the window where slow_start"):
        read(APPLICATION, both)
    why = (
        r'slow_start: wanted .*, not \["search", "hystart\+\+"\]: one of them, because they exclude'
    )
    with pytest.raises(ScenarioError, match=why):
        read(APPLICATION, {"flow.F.slow_start": ["search", "hystart++"]})

"""Runs that are paused, looked at, changed and copied from Python."""

from __future__ import annotations

from typing import Any

import pytest

import fairhaul
from fairhaul import RunError, ScenarioError, Simulation
from fairhaul.scenario.own import Ack, Controller, Window

from .conftest import SMALL

TWO: dict[str, Any] = {
    "title": "two",
    "duration": "30 s",
    "profile": "plain",
    "bottleneck": {
        "rate": "10 Mbit/s",
        "delay": "10 ms",
        "queue": {"kind": "droptail", "capacity": "1 bdp"},
    },
    "flow": [
        {"name": "F1", "controller": {"kind": "aimd", "a": 1}, "rtt": "60 ms"},
        {"name": "F2", "controller": "cubic", "rtt": "60 ms"},
    ],
}


def tables(record: fairhaul.Record) -> list[Any]:
    return [record.flow_series, record.link_series, record.transfer, record.event]


def same(one: fairhaul.Record, other: fairhaul.Record) -> bool:
    pairs = zip(tables(one), tables(other), strict=True)
    return all(left.equals(right) for left, right in pairs)


def test_a_run_in_steps_and_its_copy_have_the_record_of_a_run_at_once() -> None:
    whole = fairhaul.run(TWO).records[0]
    sim = Simulation(TWO)
    assert sim.now_s == 0.0
    assert sim.flows["F1"].connections == 0
    sim.run_until("10 s")
    assert sim.now_s == 10.0
    assert sim.flows["F1"].cwnd > 2
    assert sim.flows["F1"].srtt_s >= sim.flows["F1"].min_rtt_s >= 0.06
    assert 0 <= sim.links["bottleneck"].queued <= 76
    fork = sim.clone()
    event = sim.run_until(event=["reduction"], flow="F2")
    assert event is not None
    assert (event.kind, event.flow, sim.now_s) == ("reduction", "F2", event.t_s)
    assert sim.flows["F2"].cwnd == event.value
    assert sim.flows["F2"].recovering
    sim.run_until(20)
    fork.run_until("25 s")
    records = [sim.finish(), fork.finish()]
    assert all(same(record, whole) for record in records)
    assert records[0].meta.keys() == whole.meta.keys()
    figures = [fairhaul.measure(record)["fairness"] for record in (*records, whole)]
    assert figures[0] == figures[1] == figures[2]


def test_what_is_changed_counts_from_then_on_and_is_noted() -> None:
    sim = Simulation(TWO)
    sim.run_until("10 s")
    fork = sim.clone()
    fork.set("flow.F1.controller.a", 30)
    fork.flows["F2"].cwnd = 2.5
    assert fork.flows["F2"].cwnd == 2.5
    assert sim.flows["F2"].cwnd != 2.5
    plain, changed = sim.finish(), fork.finish()
    assert changed.meta["changes"] == [{"t_s": 10.0, "key": "flow.F1.controller.a", "value": "30"}]
    assert "changes" not in plain.meta
    # A packet of the last round trip before the change may be lost after it.
    before = plain.flow_series["t_s"] < 9.5
    assert plain.flow_series.filter(before).equals(changed.flow_series.filter(before))
    first = [fairhaul.measure(record)["flows"][0]["goodput_bps"] for record in (plain, changed)]
    assert first[1] > 1.2 * first[0]


class Fixed(Controller):
    """A window that never moves, by its own rule."""

    slow_start = False

    def __init__(self, packets: float = 30.0) -> None:
        self.packets = packets

    def on_ack(self, window: Window, ack: Ack) -> None:
        window.cwnd = self.packets
        if self.packets < 0:
            raise ArithmeticError("no such window")


def test_controllers_of_ones_own_are_copied_and_changed_too() -> None:
    sim = Simulation(TWO, {"flow.F1.controller": "fixed"}, controllers={"fixed": Fixed})
    sim.run_until("5 s")
    fork = sim.clone()
    fork.set("flow.F1.controller.packets", 12)
    fork.run_until("6 s")
    sim.run_until("6 s")
    assert [sim.flows["F1"].cwnd, fork.flows["F1"].cwnd] == [30.0, 12.0]
    fork.set("flow.F1.controller.packets", -1)
    with pytest.raises(ArithmeticError, match="no such window") as raised:
        fork.run_until("7 s")
    assert "two, seed 1, at 6.0" in raised.value.__notes__[0]
    with pytest.raises(RuntimeError, match="the simulation has ended"):
        fork.run_until("8 s")
    sim.run_until("8 s")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sim: sim.run_until("5"), "has no unit"),
        (lambda sim: sim.run_until("1 s"), "the run is at 2 s already"),
        (lambda sim: sim.run_until(float("nan")), "the run is at 2 s already"),
        (lambda sim: sim.run_until(event="reductions"), "did you mean 'reduction'"),
        (lambda sim: sim.run_until(event="timeout", flow="F3"), "unknown flow 'F3'"),
        (lambda sim: sim.set("bottleneck.rate", "1 Mbit/s"), "only controllers can be changed"),
        (lambda sim: sim.set("flow.F1.controller.z", 1), 'has no parameter "z"'),
        (lambda _: Simulation(fairhaul.read(TWO)[0], {"seed": 2}), "takes no overrides"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(call: Any, message: str) -> None:
    sim = Simulation(TWO)
    sim.run_until("2 s")
    with pytest.raises(ScenarioError, match=message):
        call(sim)
    with pytest.raises(RunError, match="needs rates"):
        sim.set("flow.F1.controller", "bbr")
    with pytest.raises(ValueError, match="wanted packets above 0"):
        sim.flows["F1"].cwnd = float("nan")
    assert same(sim.finish(), fairhaul.run(TWO).records[0])


def test_a_controller_that_leaves_no_window_ends_a_run_in_steps_as_a_run_at_once() -> None:
    class Lost(Controller):
        def on_ack(self, window: Window, ack: Ack) -> None:
            window.cwnd = float("nan")

    scenario = {**TWO, "flow": [{"name": "F1", "controller": "lost", "rtt": "60 ms"}]}
    message = "two, seed 1, at .*: cwnd = NaN, .*windows must be above 0"
    with pytest.raises(RunError, match=message):
        fairhaul.run(scenario, controllers={"lost": Lost})
    with pytest.raises(RunError, match=message):
        Simulation(scenario, controllers={"lost": Lost}).run_until("10 s")
    with pytest.raises(RunError, match=message):
        Simulation(scenario, controllers={"lost": Lost}).finish()


def test_a_window_has_the_bound_of_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = fairhaul.Simulation(SMALL)
    sim.run_until(2)
    for window in (1e300, 1.1e9, float("inf"), float("nan"), 0, -1):
        with pytest.raises(ValueError, match="a window of at most 1,000,000,000"):
            sim.flows["near"].cwnd = window
    # A window below it takes the memory that a run may take, and no more; so does that of a copy.
    monkeypatch.setattr("fairhaul.scenario.memory.available_bytes", lambda: 100_000_000)
    small = fairhaul.Simulation(SMALL, {"bottleneck.queue.capacity": "unlimited"})
    small.run_until(2)
    for each in (small.clone(), small):
        with pytest.raises(fairhaul.RunError, match="more than its limit"):  # noqa: PT012
            each.flows["near"].cwnd = 1e9
            each.run_until(3)

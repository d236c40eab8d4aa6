"""Every sentence of a lesson that states a result is true of its run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fairhaul
from fairhaul.studio.lessons import HOME, lessons

if TYPE_CHECKING:
    from fairhaul.record.record import Record


class SetUp:
    """The figures and the record of one set-up."""

    def __init__(self, file: str) -> None:
        answer = fairhaul.run(Path(str(HOME)) / file)
        self.figures: Mapping[str, Any] = answer.measures[0]
        self.record: Record = answer.records[0]

    def flow(self, name: str) -> Mapping[str, Any]:
        return next(flow for flow in self.figures["flows"] if flow["name"] == name)

    def mbps(self, name: str) -> float:
        return float(self.flow(name)["goodput_bps"]) / 1e6

    def ratio(self, one: str, other: str) -> float:
        return self.mbps(one) / self.mbps(other)


def of_lesson(name: str) -> list[SetUp]:
    """Run the set-ups of a lesson."""
    lesson = next(it for it in lessons() if it.name == name)
    return [SetUp(file) for file in lesson.files]


def test_lessons_have_different_names_three_sentences_and_a_link() -> None:
    known = lessons()
    assert len({it.name for it in known}) == len(known) >= 12
    for lesson in known:
        assert lesson.text.count(". ") + 1 >= 3, lesson.name
        assert lesson.link.startswith("http")
        assert 1 <= len(lesson.texts) <= 2


def test_fhstcp_cures_the_unfairness_by_round_trip_times() -> None:
    highspeed, fhstcp = of_lesson("rtt")
    assert highspeed.flow("near")["link_share"] > 0.85  # nearly the whole link
    assert highspeed.ratio("near", "far") > 10
    assert fhstcp.ratio("near", "far") < 2.5


def test_slow_start_loses_half_a_window_and_ends_in_a_timeout() -> None:
    (run,) = of_lesson("slow-start")
    assert (run.flow("F")["loss_events"], run.flow("F")["timeouts"]) == (1, 1)
    series = run.record.flow_series
    largest = series["cwnd_packets"].max()
    assert isinstance(largest, float)
    assert series["lost"].sum() == pytest.approx(largest / 2, rel=0.1)


def test_aimd_comes_to_equal_windows() -> None:
    (run,) = of_lesson("aimd")
    assert run.figures["fairness"]["jain"] > 0.99


def test_common_losses_lead_towards_the_ratio_of_round_trip_times() -> None:
    common, independent = of_lesson("synchronised")
    assert all(flow["loss_sync"] > 0.95 for flow in common.figures["flows"])
    assert 1.7 < common.ratio("F1", "F3") < 2.5
    assert all(flow["loss_sync"] < 0.6 for flow in independent.figures["flows"])
    assert 0.8 < independent.ratio("F1", "F3") < 1.25


def test_red_makes_cubic_and_reno_more_equal_and_leaves_capacity() -> None:
    droptail, red = of_lesson("cubic-reno")
    assert droptail.ratio("cubic", "reno") > 4
    assert red.ratio("cubic", "reno") < 2
    utilization = [it.figures["links"][0]["utilization"] for it in (droptail, red)]
    assert utilization[1] < utilization[0] - 0.05


def test_codel_keeps_the_round_trip_short_at_a_tenth_of_the_throughput() -> None:
    droptail, codel = of_lesson("bufferbloat")
    assert 0.2 < droptail.flow("F")["rtt_mean_s"] < 0.3
    assert codel.flow("F")["rtt_mean_s"] < 0.06
    assert codel.mbps("F") > 0.9 * droptail.mbps("F")


def test_xcp_gives_equal_shares_without_a_loss() -> None:
    (run,) = of_lesson("xcp")
    assert run.figures["fairness"]["jain"] > 0.999
    assert run.record.link_series["dropped"].sum() == 0
    assert run.figures["links"][0]["queue_mean_packets"] < 10


def test_bbr_reduces_its_window_to_four_packets_every_ten_seconds() -> None:
    (run,) = of_lesson("bbr")
    series = run.record.flow_series
    low = series.filter((series["cwnd_packets"] < 4.5) & (series["t_s"] > 1))["t_s"]
    assert sorted({round(at / 10) for at in low}) == [1, 2]


def test_ghstcp_grows_quickly_while_the_queue_is_empty() -> None:
    (run,) = of_lesson("ghstcp")
    series = run.record.flow_series
    window = series.filter(series["flow"].cast(str) == "ghstcp")

    def growth(start: float, end: float) -> float:
        part = window.filter((window["t_s"] >= start) & (window["t_s"] < end))["cwnd_packets"]
        return float((part[-1] - part[0]) / (end - start))

    # The queue is empty from 19 s to 22 s, and grows from 23 s to 33 s.
    assert growth(19, 22) > 3 * growth(23, 33) > 0
    assert run.flow("reno")["link_share"] > 0.25


def test_a_clock_that_runs_fast_takes_the_throughput_of_synctcp() -> None:
    exact, drifting = of_lesson("synctcp")
    assert min(exact.mbps("A"), exact.mbps("B")) > 25
    assert drifting.mbps("A") < 0.02 * drifting.mbps("B")


def test_a_policer_drops_without_a_rise_of_the_round_trip_time() -> None:
    policer, queue = of_lesson("policer")
    assert policer.flow("F")["rtt_mean_s"] < 0.051
    assert queue.flow("F")["rtt_mean_s"] > 0.08
    assert policer.mbps("F") < 0.9 * queue.mbps("F")


def test_reno_follows_its_response_function_and_highspeed_sends_more() -> None:
    reno, highspeed = of_lesson("loss")
    rate = reno.flow("F")["loss_rate"]
    assert reno.flow("F")["cwnd_mean"] == pytest.approx(1.2 / rate**0.5, rel=0.2)
    assert highspeed.mbps("F") > 1.5 * reno.mbps("F")

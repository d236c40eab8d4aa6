"""Every sentence of a lesson that states a result is true of its run."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import pytest

import fairhaul
from fairhaul.studio import lessons as folder
from fairhaul.studio.lessons import Lesson, lessons

if TYPE_CHECKING:
    from fairhaul.answers.answers import Answer
    from fairhaul.record.record import Record

HOME = Path(str(folder.HOME))


class SetUp:
    """The figures and the record of one set-up."""

    def __init__(self, answer: Answer, seed: int = 1) -> None:
        self.figures: Mapping[str, Any] = answer.measures[seed - 1]
        self.record: Record = answer.records[seed - 1]

    def flow(self, name: str) -> Mapping[str, Any]:
        return next(flow for flow in self.figures["flows"] if flow["name"] == name)

    def mbps(self, name: str) -> float:
        return float(self.flow(name)["goodput_bps"]) / 1e6

    def ratio(self, one: str, other: str) -> float:
        return self.mbps(one) / self.mbps(other)

    def sum_mbps(self) -> float:
        return float(sum(flow["goodput_bps"] for flow in self.figures["flows"])) / 1e6


def lesson_of(name: str) -> Lesson:
    return next(it for it in lessons() if it.name == name)


def text_of(name: str) -> str:
    return lesson_of(name).text


def of_lesson(name: str) -> list[SetUp]:
    """Run the set-ups of a lesson."""
    return [SetUp(fairhaul.run(HOME / file)) for file in lesson_of(name).files]


def of_seeds(name: str) -> list[list[SetUp]]:
    """Run each set-up of a lesson with seeds 1 to 5."""
    answers = [fairhaul.run(HOME / file, seeds=5) for file in lesson_of(name).files]
    return [[SetUp(answer, seed) for seed in range(1, 6)] for answer in answers]


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


def test_losses_are_common_before_drop_tail_and_independent_before_red() -> None:
    (common, independent), text = of_seeds("synchronised"), text_of("synchronised")
    assert all(flow["loss_sync"] > 0.9 for run in common for flow in run.figures["flows"])
    assert all(flow["loss_sync"] < 0.5 for run in independent for flow in run.figures["flows"])
    ratios = [[run.ratio("F1", "F3") for run in runs] for runs in (common, independent)]
    for of, name in zip(ratios, "AB", strict=True):
        assert f"{of[0]:.2f} in {name}" in text
        assert f"{min(of):.2f} to {max(of):.2f} with a mean of {mean(of):.2f} in {name}" in text
    both = [run.sum_mbps() for run in (common[0], independent[0])]
    assert f"get {both[0]:.0f} Mbit/s in A and {both[1]:.0f} in B" in text


def test_the_set_ups_with_common_and_independent_losses_differ_in_the_queue_alone() -> None:
    one, other = (tomllib.loads(text) for text in lesson_of("synchronised").texts)
    differ = {key for key in one | other if one.get(key) != other.get(key)}
    assert differ == {"title", "bottleneck"}
    del one["bottleneck"]["queue"], other["bottleneck"]["queue"]
    assert one["bottleneck"] == other["bottleneck"]


def test_red_makes_cubic_and_reno_more_equal_at_the_price_of_its_thresholds() -> None:
    (droptail, red), text = of_lesson("cubic-reno"), text_of("cubic-reno")
    assert droptail.ratio("cubic", "reno") > 4
    assert red.ratio("cubic", "reno") < 2
    assert f"get {red.sum_mbps():.0f} instead of {droptail.sum_mbps():.0f} Mbit/s" in text
    link = red.record.meta["scenario"]["links"][0]
    low, high = (link["queue"][key] for key in ("min_threshold", "max_threshold"))
    assert f"an average of {low:.0f} packets, and drops more from {high:.0f} packets on" in text
    assert f"a buffer of {link['capacity_packets']} packets" in text
    thresholds = {"threshold_unit": "capacity", "min_threshold": 0.2, "max_threshold": 0.6}
    wide = SetUp(
        fairhaul.run(
            HOME / "cubic-reno-red.toml",
            {"bottleneck.queue": {"kind": "red", "capacity": "1 bdp", **thresholds}},
        )
    )
    assert f"0.2 and 0.6 of the capacity they get {wide.sum_mbps():.0f} Mbit/s" in text
    assert wide.ratio("cubic", "reno") == pytest.approx(red.ratio("cubic", "reno"), rel=0.1)


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


def test_highspeed_holds_a_window_at_a_higher_loss_rate_than_reno() -> None:
    """Reno's mean window is 1.22 / p^0.5, and that of HighSpeed TCP 0.12 / p^0.835 [RFC 3649, 5].

    A window of 5000 packets then requires p = 6.0e-8, and p = 3.0e-6.
    """
    window = 5000
    assert (0.12 / window) ** (1 / 0.835) > 40 * (1.22 / window) ** 2
    assert "hold a large window in spite of more losses" in text_of("loss")

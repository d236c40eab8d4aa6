"""The published orders: the law, how a concave part and a spread are found, and a row of each."""

from __future__ import annotations

import pytest

from fairhaul.jobs.values import Running
from tools.orders.runs import runs_of
from tools.orders.tables import concave_part, law, spread_of


def test_the_law_of_a_small_buffer() -> None:
    # 1 - 1 / (1 + 3 N) for a half, and 1 - 1 / (1 + N 1.7 / 0.3) for 0.7.
    assert [law(n, 0.5) for n in (1, 3, 6)] == pytest.approx([0.75, 0.9, 18 / 19])
    assert [law(n, 0.7) for n in (1, 3, 6)] == pytest.approx([0.85, 0.9444, 0.9714], abs=1e-4)


def test_throughput_is_concave_until_a_chord_is_less_steep() -> None:
    rtts = [0.0, 1.0, 2.0, 3.0, 4.0]
    assert concave_part(rtts, [100, 99, 96, 80, 40]) == 4, "everywhere"
    assert concave_part(rtts, [100, 98, 60, 40, 30]) == 2, "from 2 on it falls more slowly"
    assert concave_part(rtts, [100, 25, 12, 8, 6]) == 1, "nowhere, as 1 / RTT"
    assert concave_part(rtts, [100, 98.0, 96.5, 95.5, 60]) == 4, "half a hundredth is noise"


def test_streams_of_which_a_loss_cuts_one_follow_the_law() -> None:
    short = {"duration": "100 s", "warmup": "40 s", "flow.stream.count": 3}
    slow = runs_of("small-buffer", 1, Running(), {**short, "flow.stream.controller.b": 0.5})
    together = {**short, "flow.stream.controller.a": 1, "flow.stream.controller.b": 0.5}
    fast = runs_of("small-buffer", 1, Running(), together)
    (of_law,), (several,) = slow[()], fast[()]
    assert of_law["links"][0]["utilization"] == pytest.approx(law(3, 0.5), abs=0.025)
    assert several["links"][0]["utilization"] < law(3, 0.5) - 0.05, "several lose at once"


def test_more_streams_and_larger_buffers_carry_more_over_a_long_path() -> None:
    def goodput(buffer: str, streams: int) -> float:
        keys = {
            "duration": "10 s",
            "flow.transfer.rtt": "183 ms",
            "flow.transfer.receive_buffer": buffer,
            "flow.transfer.connections": streams,
        }
        (run,) = runs_of("streams", 1, Running(), keys)[()]
        return sum(flow["goodput_bps"] for flow in run["flows"])

    small, large, several = goodput("250 kB", 1), goodput("25 MB", 1), goodput("250 kB", 10)
    # 250 kB in 183 ms are 10.9 Mbit/s, of which the first round trips have less.
    assert small == pytest.approx(10.9e6, rel=0.1)
    assert several == pytest.approx(10 * small, rel=0.1)
    assert large > 5 * small


def test_a_shaper_before_the_entry_spares_bbr_its_losses() -> None:
    def retransmitted(shaper: str) -> float:
        keys = {"flow.from-*.controller": "bbr", "link.?.shaper.rate": shaper}
        runs = runs_of("shaping", 1, Running(), {**keys, "flow.from-*.traffic": "25 MB"})
        return spread_of(runs[()]).retransmitted

    assert retransmitted("10 Gbit/s") > 0.05
    assert retransmitted("237 Mbit/s") < 0.01

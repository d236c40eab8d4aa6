"""The comparison of the simulator's hosts with Linux: how cells are drawn, counted and judged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairhaul.scenario.read import read_one
from tests.linux_program import needs_linux
from tools.hosts.cells import LAB_MBPS, MOST_BYTES, Cell, cells_of, drawn
from tools.hosts.comparison import Compared, counts, markdown
from tools.hosts.figures import bursts
from tools.hosts.work import Measurement, compared

if TYPE_CHECKING:
    from pathlib import Path

CELL = Cell(
    number=0,
    controllers=("bbr",),
    rate_mbps=20.0,
    rtt_ms=10.0,
    mtu=1500,
    buffer_bdp=1.0,
    fq=False,
    moderation_us=0,
    large_buffers=False,
)


def test_cells_repeat_and_are_within_the_bounds() -> None:
    cells = [drawn(number, 7) for number in range(200)]
    assert cells == [drawn(number, 7) for number in range(200)]
    assert all(cell.rate_mbps * 1e3 * cell.rtt_ms / 8 <= 1.01 * MOST_BYTES for cell in cells)
    assert {len(cell.controllers) for cell in cells} == {1, 2}
    assert all(len(set(cell.controllers)) == len(cell.controllers) for cell in cells)
    for cell in cells[:20]:
        read_one(cell.scenario())


def test_the_lab_judges_cells_that_it_carries_without_noise_of_their_own() -> None:
    cells = cells_of("lab", 0, 10, 7)
    assert len(cells) == 10
    assert all(cell.rate_mbps <= LAB_MBPS for cell in cells)
    assert cells_of("linux", 3, 2, 7) == [drawn(3, 7), drawn(4, 7)]
    large = replace(CELL, large_buffers=True).scenario(real_time=True)["flow"][0]
    assert large["host"] == {"moderation": "0 us"}
    assert "send_buffer" not in large


def test_the_measured_time_depends_on_the_rate_and_has_20_round_trips() -> None:
    assert CELL.times_s() == (10.0, 30.0)
    assert replace(CELL, rate_mbps=1_000.0).times_s() == (3.333333, 10.0)
    assert replace(CELL, rate_mbps=10_000.0).times_s() == (0.666667, 2.0)
    # 1000 packets of 1500 B at 20 Mbit/s take 0.6 s; at 200 Mbit/s 0.06 s, so 20 times 10 ms.
    assert CELL.times_s(1000) == (0.2, 0.6)
    assert replace(CELL, rate_mbps=200.0).times_s(1000) == (0.2, 0.2)


def test_packets_that_leave_within_a_microsecond_are_a_burst() -> None:
    times_s = np.array([0.0, 0.0, 1e-9, 0.5, 0.5, 1.0])
    assert bursts(times_s).tolist() == [3, 2, 1]
    assert bursts(np.array([])).tolist() == []


def run_of(**figures: Any) -> dict[str, Any]:
    """A run with some figures, and none of the others."""
    names = ("burst_mean", "burst_largest", "acks_per_packet", "cwnd", "rtt_ms", "goodput", "share")
    further = ("new_burst_mean", "new_burst_largest", "loss_rate", "loss_events")
    return {name: figures.get(name) for name in (*names, *further)}


def test_means_may_differ_by_a_twentieth_and_the_largest_burst_not_at_all() -> None:
    # The mean over the seeds of 10.0 and 10.9 is 4.5 % above 10; 11 % is too much.
    sim = [run_of(cwnd=10.0, burst_largest=44), run_of(cwnd=10.9, burst_largest=45)]
    linux = [run_of(cwnd=10.0, burst_largest=45), run_of(cwnd=10.0, burst_largest=45)]
    one = Compared(cell=CELL, sim=sim, linux=linux)
    far = Compared(cell=CELL, sim=[run_of(cwnd=11.1, burst_largest=46)], linux=linux)
    assert [each.agrees for each in one.differences] == [True, True]
    assert [each.agrees for each in far.differences] == [False, False]
    found = counts([one, far])
    assert (found["cwnd"], found["whole cells"], found["all comparisons"]) == (
        (1, 2),
        (1, 2),
        (2, 4),
    )
    assert "**11.1 / 10.0**" in markdown([one, far])


@needs_linux
def test_a_cell_runs_on_both_engines_and_is_kept(tmp_path: Path) -> None:
    measurement = Measurement(seeds=1, most_packets=1000)
    [one] = compared([CELL], measurement, tmp_path)
    assert isinstance(one, Compared)
    assert {each.quantity for each in one.differences} == {
        *("burst_mean", "burst_largest", "acks_per_packet", "cwnd", "rtt_ms", "goodput"),
    }
    # BBR sends bursts of two packets at this rate, in both engines.
    assert [run["burst_largest"] for run in (*one.sim, *one.linux)] == [2, 2]
    # What is kept is not run again: a damaged engine would not be noticed.
    [again] = compared([CELL], measurement, tmp_path)
    assert again == one

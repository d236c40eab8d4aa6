"""The faults that the public L4S tests of 2021 showed are here, too."""

from __future__ import annotations

from collections.abc import Mapping

from click.testing import CliRunner

from tools.l4s import cells, faults, plan
from tools.l4s.__main__ import main

SHORT = {"duration": "40 s", "warmup": "10 s"}


def _means(
    name: str, short: Mapping[str, object] | None = None, begin: str = "", end: str = ""
) -> dict[str, float]:
    """Give the mean of every figure; all have to be within the spread of the published ones."""
    found = faults.figures(
        name, short=short, wanted=lambda what: what.startswith(begin) and what.endswith(end)
    )
    assert all(figure.is_within for figure in found), [figure.text() for figure in found]
    return {figure.what: figure.mean for figure in found}


def test_after_a_rate_step_prague_keeps_its_queue_for_long() -> None:
    found = _means("rate-step")
    for rate, than in (("25 Mbit/s", "cubic"), ("1 Mbit/s", "cubic without ECN")):
        long_s = {
            flow: found[f"50 to {rate}, {flow}: s with more than 50 ms"]
            for flow in ("prague", than)
        }
        assert long_s["prague"] > 5 * long_s[than], (rate, long_s)


def test_bursts_of_a_wireless_link_cost_prague_what_a_higher_threshold_gives_back() -> None:
    found = _means("wireless", SHORT, "7 ms, ", "bursts 2 ms")
    for rate, most in ((20, 0.8), (40, 0.65)):
        low, high, cubic = (
            found[f"7 ms, {rate} Mbit/s, {flow}, bursts 2 ms"]
            for flow in ("prague, step 1 ms", "prague, step 5 ms", "cubic")
        )
        assert low < most * rate
        assert min(high, cubic) > 0.9 * rate


def test_video_in_the_queue_for_l4s_costs_prague_most_of_its_goodput() -> None:
    found = _means("video")
    alone = found["no video"]
    assert found["large packets with ECT(1)"] < 0.2 * alone
    assert 0.4 * alone < found["no packet with ECT(1)"] < 0.8 * alone


def test_at_10_mbit_per_s_the_queue_of_then_gives_the_ratio_of_then() -> None:
    """The step of 2020 left a packet unmarked that had found at most one; today's marks it."""
    names = ("slow dualpi2", "slow dualpi2, today's")
    runs = [run for run in plan() if run.what in [f"{n}: prague 20, cubic 20 ms" for n in names]]
    then, today = cells(runs, {"duration": "60 s", "warmup": "20 s"})
    assert then.is_within, then
    assert not today.is_within, today


def test_the_command_prints_published_figures_beside_ours() -> None:
    result = CliRunner().invoke(main, ["faults", "--only", "rate-step"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == "rate-step"
    assert any("prague: s with more than 50 ms" in line and " 5 " in line for line in lines)

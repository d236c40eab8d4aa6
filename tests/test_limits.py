"""What keeps a flow back, the delay of its packets at a link, and the sums over a `[[flow]]`."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairhaul
from fairhaul.measures.limits import LIMITS, limited_by
from fairhaul.measures.queue_delay import percentiles
from fairhaul.scenario.engines import Engine
from tests.linux_program import needs_linux

# 20 Mbit/s and 40 ms are 100 packets of 1000 B.
PATH: dict[str, Any] = {
    "rate": "20 Mbit/s",
    "delay": "5 ms",
    "queue": {"kind": "droptail", "capacity": "1 bdp"},
}


def scenario(*flows: dict[str, Any], duration: str = "12 s", warmup: str = "2 s") -> dict[str, Any]:
    named = [{"name": "f", "controller": "cubic", "rtt": "40 ms", **flow} for flow in flows]
    times = {"duration": duration, "warmup": warmup}
    return {**times, "profile": "plain", "bottleneck": PATH, "flow": named}


SETTINGS: dict[str, dict[str, Any]] = {
    "receive window": {"receive_buffer": "30 kB"},
    "send buffer": {"send_buffer": "30 kB"},
    "pacing cap": {"max_pacing_rate": "5 Mbit/s"},
    "application": {"traffic": {"kind": "limited", "rate": "5 Mbit/s"}},
    "congestion window": {},
}


@pytest.mark.parametrize("engine", ["sim", pytest.param("linux", marks=needs_linux)])
@pytest.mark.parametrize("limit", SETTINGS)
def test_what_limits_a_flow_is_named(limit: str, engine: Any) -> None:
    given = scenario({**SETTINGS[limit], "profile": "linux-tcp"})
    (figures,) = fairhaul.run(given, engine=engine).measures
    (flow,) = figures["flows"]
    assert set(flow["limits"]) == set(LIMITS)
    assert sum(flow["limits"].values()) == pytest.approx(1)
    assert flow["limits"][limit] > 0.8, flow["limits"]
    # A flow that its buffers or its pacing limit is steady without a loss.
    steady = limit in {"receive window", "send buffer", "pacing cap"}
    expected = {"application": None, "congestion window": False}.get(limit, True)
    assert figures["stationary"] is expected
    if steady:
        assert (flow["loss_events"], figures["wanted_duration_s"]) == (0, None)


def test_a_limit_is_in_the_table_and_in_the_answer_unless_it_is_the_congestion_window() -> None:
    # In a deep queue nothing is lost, and the round trip grows.
    path = {**PATH, "queue": {"kind": "droptail", "capacity": "100 bdp"}}
    given = scenario({"receive_buffer": "30 kB"}, {"name": "g"}) | {"bottleneck": path}
    answer = fairhaul.run(given)
    outcome = answer.outcome()
    said = "What limits f is its receive window, not the congestion window."
    assert said in outcome.answer
    flows = next(iter(outcome.evidence())).tables[0]
    assert flows.columns[:3] == ["name", "controller", "limited by"]
    assert [row[:3] for row in flows.rows] == [
        ["f", "cubic", "receive window"],
        ["g", "cubic", "-"],
    ]
    plain = fairhaul.run(scenario({})).outcome()
    assert "What limits" not in plain.answer
    assert "limited by" not in next(iter(plain.evidence())).tables[0].columns
    assert limited_by({"congestion window": 0.4, "send buffer": 0.6}) == "send buffer 60%"
    assert limited_by({}) == ""


def test_a_record_of_an_earlier_version_has_no_limits_and_no_delays() -> None:
    (record,) = fairhaul.run(scenario({})).records
    before = dataclasses.replace(record, limit=None, queue_delay=None)
    figures = fairhaul.measure(before)
    assert figures["flows"][0]["limits"] == {}
    assert figures["links"][0]["queue_p99_s"] is None
    assert figures["stationary"] is False
    assert before.limit.schema.names() == ["flow", "limit", "time_s"]


def test_a_transfer_has_its_own_rate() -> None:
    given = scenario({"traffic": "5 MB"}, {"name": "g", "traffic": "50 MB"}, warmup="0 s")
    (figures,) = fairhaul.run(given).measures
    small, large = figures["flows"]
    assert small["completion_s"] is not None
    assert small["transfer_bps"] == pytest.approx(40e6 / small["completion_s"])
    assert (small["transfer_bps"] or 0) > 1.5 * small["goodput_bps"]
    # It is not complete.
    assert large["transfer_bps"] is None
    alone = fairhaul.run(scenario({"traffic": "5 MB"}, warmup="0 s")).outcome().answer
    assert re.match(r"f was completed in [\d.]+ s, at [\d.]+ Mbit/s; the busiest link ", alone)
    several = scenario({"traffic": "5 MB", "connections": 4}, warmup="0 s")
    (figures,) = fairhaul.run(several).measures
    (group,) = figures["groups"]
    assert group["transfer_bps"] == pytest.approx(40e6 / group["completion_s"])  # type: ignore[operator]


def test_percentiles_of_the_delay_are_over_packets_and_not_over_bins() -> None:
    # 200 packets at once at 20 Mbit/s: 0.4 ms each, 80 ms in all; the other 99.92 s are idle.
    burst = {"traffic": "192 kB", "initial_window": 200, "recovery": "sack"}
    path = {**PATH, "queue": {"kind": "droptail", "capacity": "unlimited"}}
    path["access_rate"], burst["overhead"] = "100 Gbit/s", "0 s"
    given = scenario(burst, duration="100 s", warmup="0 s") | {"bottleneck": path}
    (figures,) = fairhaul.run(given).measures
    link, _ = figures["links"]
    found = [link["queue_p50_s"], link["queue_p95_s"], link["queue_p99_s"]]
    assert found == pytest.approx([0.040, 0.076, 0.0792], rel=0.02)
    assert (link["queue_mean_s"] or 0) < 0.001


def test_percentiles_lie_within_rows_and_not_in_the_gaps_between_them() -> None:
    (record,) = fairhaul.run(scenario({})).records
    rows = pl.DataFrame(
        {
            "link": pl.Series(["a", "a", "b"], dtype=pl.Categorical),
            "from_s": [1.0, 3.0, 5.0],
            "below_s": [1.01, 3.03, 5.05],
            "packets": [60.0, 40.0, 1.0],
        }
    )
    found = percentiles(dataclasses.replace(record, queue_delay=rows))
    assert found["a"] == pytest.approx(
        {"queue_p50_s": 1 + 0.5 / 60, "queue_p95_s": 3 + 1.05 / 40, "queue_p99_s": 3 + 1.17 / 40}
    )
    assert found["b"]["queue_p50_s"] == pytest.approx(5.025)


@needs_linux
def test_the_kernel_and_the_simulator_have_the_same_delays() -> None:
    given = scenario({"profile": "linux-tcp"}, duration="32 s")
    delays = {}
    engines: tuple[Engine, ...] = ("sim", "linux")
    for engine in engines:
        (link, _) = fairhaul.run(given, engine=engine).measures[0]["links"]
        delays[engine] = [link["queue_p50_s"], link["queue_p95_s"], link["queue_p99_s"]]
    assert delays["sim"] == pytest.approx(delays["linux"], rel=0.1)


def test_flows_of_one_entry_are_a_class_in_json_and_in_the_columns_of_a_sweep(
    tmp_path: Path,
) -> None:
    given = scenario({"name": "x", "count": 3}, {"name": "y"})
    given["sweep"] = {"flow.x.controller": ["reno", "cubic"]}
    points = fairhaul.sweep(given, tmp_path / "out", seeds=2)
    (first, _) = points.rows
    (figures, _) = first.runs
    (group,) = figures["groups"]
    members = [flow for flow in figures["flows"] if flow["class"] == "x"]
    assert [flow["name"] for flow in members] == ["x[0]", "x[1]", "x[2]"]
    assert [flow["group"] for flow in members] == ["x[0]", "x[1]", "x[2]"]
    assert group["goodput_bps"] == pytest.approx(sum(flow["goodput_bps"] for flow in members))
    assert group["share"] == pytest.approx(sum(flow["share"] or 0 for flow in members))
    columns = points.frame().columns
    assert {"x.share", "x.loss_rate", "y.share", "bottleneck.queue_p99_s"} <= set(columns)
    assert not any(name.startswith("x[") for name in columns)


def test_single_flows_are_rows_of_the_exported_table(tmp_path: Path) -> None:
    points = fairhaul.sweep(scenario({"name": "x", "count": 3}), tmp_path / "out", seeds=2)
    flows = points.frame("flows")
    assert flows["name"].to_list() == ["x[0]", "x[1]", "x[2]"] * 2
    # A CSV file has no columns of columns.
    assert "limits.congestion window" in flows.write_csv().splitlines()[0]

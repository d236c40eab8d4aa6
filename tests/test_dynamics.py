"""Measures beyond the figures of a run, against a record small enough to work out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from fairhaul import dynamics, run
from fairhaul.record.record import Record

from .test_measures import flow

# Eight bins of 1 s, of which the first two are the warm-up; bytes in each.
BYTES = {
    "a": [100, 1000, 900, 800, 700, 500, 500, 500],
    "b": [0, 0, 100, 200, 300, 500, 450, 550],
    "r": [0, 0, 50, 50, 50, 50, 50, 50],
}
SCENARIO: dict[str, Any] = {
    "title": "By hand",
    "duration_s": 8.0,
    "warmup_s": 2.0,
    "links": [{"name": "wire", "rate_bps": 8000, "capacity_packets": 5, "capacity_s": 10.0}],
    "flows": [
        flow("a", rtt_s=0.02),
        flow("b", rtt_s=0.04),
        flow("r", role="background", rtt_s=0.04),
        flow("w", role="background", traffic={"kind": "short"}),
    ],
}


def record(scenario: dict[str, Any] = SCENARIO) -> Record:
    rows = [*BYTES.values(), [0] * 8]
    names = [spec["name"] for spec in scenario["flows"]]
    flows = pl.DataFrame(
        {
            "t_s": [float(t) for t in range(8)] * len(names),
            "flow": [name for name in names for _ in range(8)],
            "goodput_bytes": [float(amount) for row in rows for amount in row],
            "sent": [float(amount) / 400 for row in rows for amount in row],
            "lost": [0.0] * 16 + [0.0] * 6 + [0.3, 0.0] + [0.0] * 8,
        }
    )
    links = pl.DataFrame(
        {
            "t_s": [float(t) for t in range(8)],
            "link": ["wire"] * 8,
            "backlog_bytes": [9e9, 9e9, 0.0, 100.0, 200.0, 300.0, 400.0, 500.0],
        }
    )
    transfers = pl.DataFrame(
        {
            "flow": ["a", "b", "r", "w", "w", "w", "w", "w"],
            "start_s": [0.0, 2.0, 2.0, 1.0, 2.0, 3.0, 4.0, 5.0],
            "end_s": [None, None, None, 9.0, 2.5, 4.5, 4.25, None],
            "bytes": [4500, 2100, 300, 5, 100, 999, 2000, 4000],
        }
    )
    meta = {"schema": 2, "engine": "sim", "scenario": scenario}
    empty = pl.DataFrame({"t_s": [0.0], "kind": ["x"], "flow": ["a"], "value": [0.0]})
    return Record(meta=meta, flow_series=flows, link_series=links, transfer=transfers, event=empty)


def test_a_window_is_a_second_or_ten_of_the_longest_round_trips() -> None:
    assert dynamics(record())["window_s"] == 1
    slow = [{**spec, "rtt_s": 0.3} for spec in SCENARIO["flows"]]
    assert dynamics(record({**SCENARIO, "flows": slow}))["window_s"] == pytest.approx(3)


def test_groups_converge_when_each_has_nearly_the_mean() -> None:
    # From 2 s, when `b` starts: 900/100, 800/200, 700/300, 500/500: the fourth window.
    assert dynamics(record())["convergence_s"] == 4
    one = [
        spec if spec["name"] == "a" else {**spec, "role": "background"}
        for spec in SCENARIO["flows"]
    ]
    assert dynamics(record({**SCENARIO, "flows": one}))["convergence_s"] is None


def test_a_group_claims_its_share_with_its_first_window_near_the_mean() -> None:
    # In 6 s `a` has 3900 and `b` 2100 bytes: 500 a second each are fair, 450 nearly.
    first, second = dynamics(record())["groups"]
    assert (first["name"], first["claim_s"]) == ("a", 2)
    assert (second["name"], second["claim_s"]) == ("b", 4)


def test_shares_of_pairs_and_flows_of_reno_are_those_of_the_measured_time() -> None:
    first, second = dynamics(record())["groups"]
    assert first["pair_shares"] == {"b": pytest.approx(0.65)}
    assert second["pair_shares"] == {"a": pytest.approx(0.35)}
    # `r` has 300 bytes in 6 s.
    assert first["equivalent_flows"] == pytest.approx(13)
    assert second["equivalent_flows"] == pytest.approx(7)


def test_the_exponent_of_the_round_trip_is_the_slope_of_the_logarithms() -> None:
    # Twice the round-trip time, 2100 instead of 3900 bytes: ln(3900 / 2100) / ln 2.
    assert dynamics(record())["rtt_exponent"] == pytest.approx(0.8931, abs=1e-4)
    other = [{**spec, "controller": f"of {spec['name']}"} for spec in SCENARIO["flows"]]
    assert dynamics(record({**SCENARIO, "flows": other}))["rtt_exponent"] is None
    alike = [{**spec, "rtt_s": 0.02} for spec in SCENARIO["flows"]]
    assert dynamics(record({**SCENARIO, "flows": alike}))["rtt_exponent"] is None


def test_overhead_and_variation_are_those_of_each_flow() -> None:
    a, b, r, w = dynamics(record())["flows"]
    # Packets of 1000 bytes for every 400 bytes delivered.
    assert [flow["overhead"] for flow in (a, b, r)] == [pytest.approx(2.5)] * 3
    assert (w["overhead"], w["variation"]) == (None, {})
    # 900, 800, 700, 500, 500, 500: mean 650, variance 155 000 / 5; pairs are 1700, 1200, 1000.
    assert a["variation"]["1"] == pytest.approx(31_000**0.5 / 650)
    assert a["variation"]["2"] == pytest.approx(130_000**0.5 / 1300)
    assert set(a["variation"]) == {"1", "2"}
    assert r["variation"]["1"] == 0


def test_transfers_are_sorted_by_the_decade_of_their_size() -> None:
    hundreds, thousands = dynamics(record())["transfers"]
    assert hundreds == {
        **{"least_bytes": 100, "completed": 2, "unfinished": 0, "mean_s": 1.0, "p95_s": 1.5},
        # Round trips of 100 ms; 100 B at 1000 B/s in 0.5 s, and 999 B in 1.5 s.
        "efficiency": pytest.approx((0.3 / 0.5 + 1.199 / 1.5) / 2),
    }
    assert thousands == {
        **{"least_bytes": 1000, "completed": 1, "unfinished": 1, "mean_s": 0.25, "p95_s": 0.25},
        # 2000 B would take 2 s: no transfer is faster than possible.
        "efficiency": 1.0,
    }


def test_the_loss_of_the_background_is_of_its_packets() -> None:
    # 300 bytes are 0.75 packets here, of which 0.3 are lost.
    assert dynamics(record())["background_loss_rate"] == pytest.approx(0.4)
    nothing = record().flow_series.with_columns(sent=pl.lit(0.0))
    assert dynamics(replace(record(), flow_series=nothing))["background_loss_rate"] is None


def test_the_flows_of_a_host_count_together() -> None:
    # 3900 B of a and 2100 B of b in 6 s; the background does not count.
    apart = SCENARIO | {"flows": [{**of} for of in SCENARIO["flows"]]}
    assert dynamics(record())["hosts"] == {}
    apart["flows"][0]["source_host"] = "one"
    hosts = dynamics(record(apart))["hosts"]
    assert list(hosts) == ["source"]
    found = hosts["source"]
    a, b = (sum(BYTES[name][2:]) * 8 / 6 for name in "ab")
    assert found["goodput_bps"] == pytest.approx({"one": a, "b": b})
    assert found["shares"] == pytest.approx({"one": a / (a + b), "b": b / (a + b)})
    assert found["jain"] == pytest.approx((a + b) ** 2 / (2 * (a**2 + b**2)))
    for of in apart["flows"][:2]:
        of["source_host"] = "one"
    (found,) = dynamics(record(apart))["hosts"].values()
    assert found["shares"] == {"one": 1.0}


def test_two_flows_of_one_controller_converge_in_a_run() -> None:
    path = {
        "rate": "20 Mbit/s",
        "delay": "5 ms",
        "queue": {"kind": "droptail", "capacity": "1 bdp"},
    }
    flows = [
        {"name": "first", "controller": "reno", "rtt": "20 ms"},
        {"name": "second", "controller": "reno", "rtt": "20 ms", "start": "10 s"},
    ]
    answer = run(
        {
            "duration": "60 s",
            "warmup": "20 s",
            "profile": "plain",
            "bottleneck": path,
            "flow": flows,
        }
    )
    found = dynamics(answer.records[0])
    assert found["convergence_s"] is not None
    assert 1 <= found["convergence_s"] <= 20
    first, second = found["groups"]
    assert first["claim_s"] is not None
    assert second["claim_s"] is not None
    assert first["claim_s"] < second["claim_s"] + 2
    assert 1.04 < (found["flows"][0]["overhead"] or 0) < 1.06

"""Every key of `--json` against a record small enough to work out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from fairhaul.measures.capacity import capacities
from fairhaul.measures.long_term import cycles
from fairhaul.measures.measures import jain_by_window, measure
from fairhaul.record.record import Record
from fairhaul.record.series import series

# Three bins: [0, 1) is the warm-up, [1, 2) and [2, 4) are measured: 3 s.
STARTS = [0.0, 1.0, 2.0]


def flow(name: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "group": name,
        "role": "measured",
        "controller": "reno",
        "traffic": {"kind": "bulk"},
        "rtt_s": 0.1,
        "packet_bytes": 1000,
        "forward": [{"rate_bps": 10_000, "delay_s": 0}, {"link": 0}],
        "reverse": [],
        "max_window": None,
        "send_buffer_bytes": None,
        "receive_buffer_bytes": None,
        **more,
    }


SCENARIO: dict[str, Any] = {
    "title": "By hand",
    "duration_s": 4.0,
    "warmup_s": 1.0,
    "links": [{"name": "wire", "rate_bps": 4000, "capacity_packets": 5, "capacity_s": 10.0}],
    "flows": [
        flow("a"),
        flow("b", receive_buffer_bytes=10),
        flow("c", role="background", traffic={"kind": "sized", "size_bytes": 90}),
    ],
}


def record(scenario: dict[str, Any] = SCENARIO) -> Record:
    flows = pl.DataFrame(
        {
            "t_s": STARTS * 3,
            "flow": ["a"] * 3 + ["b"] * 3 + ["c"] * 3,
            "delivered_bytes": [999, 300, 630, 999, 300, 0, 0, 90, 0],
            "goodput_bytes": [999, 300, 600, 999, 150, 150, 0, 90, 0],
            "carried_bytes": [999.0, 280.0, 650.0, 999.0, 300.0, 0.0, 0.0, 90.0, 0.0],
            "sent": [50, 10, 10, 50, 5, 5, 0, 1, 0],
            "retransmitted": [9, 1, 2, 9, 0, 0, 0, 0, 0],
            "lost": [9, 2, 3, 9, 0, 1, 0, 0, 0],
            "cwnd_packets": [99.0, 6.0, 9.0, 99.0, 1.0, 1.0, 0.0, 3.0, 0.0],
            "ssthresh_packets": [None] * 9,
            "rtt_s": [9.0, 0.1, 0.2, 9.0, None, 0.3, None, None, None],
            "one_way_s": [None] * 9,
            "rtt_samples": [7, 3, 1, 7, 0, 2, 0, 0, 0],
        }
    )
    links = pl.DataFrame(
        {
            "t_s": STARTS,
            "link": ["wire"] * 3,
            "busy_s": [1.0, 0.9, 1.2],
            "arrived": [99, 10, 30],
            "dropped": [99, 1, 3],
            "marked": [7, 0, 2],
            "backlog_packets": [9.0, 3.0, 0.0],
            "backlog_bytes": [9000.0, 300.0, 0.0],
        }
    )
    transfers = pl.DataFrame(
        {
            "flow": ["a", "b", "c"],
            "start_s": [0.0, 0.0, 0.5],
            "end_s": [None, None, 2.0],
            "bytes": [1899, 1299, 90],
        }
    )
    events = pl.DataFrame(
        {
            "t_s": [0.5, 1.0, 1.5, 3.0, 3.5],
            "kind": ["reduction", "marked", "reduction", "timeout", "reduction"],
            "flow": ["a", "a", "b", "a", "a"],
            "value": [1.0] * 5,
        }
    )
    meta = {
        "schema": 1,
        "engine": "sim",
        "version": "0",
        "seed": 7,
        "packets": 42,
        "cpu_s": 0.5,
        "variant": {},
        "scenario": scenario,
    }
    return Record(meta=meta, flow_series=flows, link_series=links, transfer=transfers, event=events)


def test_the_keys_are_those_of_the_design() -> None:
    found = measure(record())
    assert list(found) == [
        *("title", "engine", "seed", "version", "packets", "cpu_s"),
        *("flows", "links", "fairness", "loss_episodes", "stationary"),
        *("wanted_duration_s", "completed"),
    ]
    assert list(found["flows"][0]) == [
        *("name", "group", "class", "role", "controller", "profile"),
        *("goodput_bps", "throughput_bps"),
        *("share", "link_share", "loss_rate", "retransmits", "loss_events", "cycles", "timeouts"),
        *("rtt_mean_s", "cwnd_mean", "completion_s", "transfer_bps", "loss_sync", "limits"),
    ]
    assert list(found["links"][0]) == [
        *("name", "utilization", "drop_rate", "mark_rate", "queue_mean_packets", "queue_mean_s"),
        *("queue_p50_s", "queue_p95_s", "queue_p99_s"),
        *("rate_bps", "capacity_packets", "capacity_s", "capacity_bdp"),
    ]
    assert list(found["fairness"]) == ["jain", "jain_by_window", "max_min_ratio", "entitlement"]


def test_a_flow_is_measured_after_the_warm_up() -> None:
    a = measure(record())["flows"][0]
    assert a["goodput_bps"] == 900 * 8 / 3
    assert a["throughput_bps"] == 930 * 8 / 3
    assert a["share"] == pytest.approx(900 / 1290)
    # Its bottleneck sent 930 bytes of its payload in 3 s: 2480 bit/s of 4000.
    assert a["link_share"] == pytest.approx(2480 / 4000)
    assert a["loss_rate"] == 5 / 20
    assert (a["retransmits"], a["loss_events"], a["timeouts"]) == (3, 2, 1)
    assert a["completion_s"] is None


def test_what_a_sender_took_back_is_no_loss_event() -> None:
    plain = record()
    # The reduction of 1.0 s was undone; that of 3.5 s and the timeout of 3.0 s count.
    undone = pl.DataFrame({"t_s": [1.2], "kind": ["undone"], "flow": ["a"], "value": [1.0]})
    event = pl.concat([plain.event, undone]).sort("t_s")
    a, b, _ = measure(replace(plain, event=event))["flows"]
    assert (a["loss_events"], a["timeouts"], b["loss_events"]) == (1, 1, 1)


def test_a_round_trip_is_a_mean_over_samples_and_a_window_one_over_time() -> None:
    a, b, c = measure(record())["flows"]
    assert a["rtt_mean_s"] == pytest.approx((3 * 0.1 + 1 * 0.2) / 4)
    assert a["cwnd_mean"] == pytest.approx((6 * 1 + 9 * 2) / 3)
    assert b["rtt_mean_s"] == 0.3
    assert c["rtt_mean_s"] is None


def test_a_flow_of_one_size_is_complete_when_its_transfer_is() -> None:
    c = measure(record())["flows"][2]
    assert c["completion_s"] == 1.5
    assert c["loss_rate"] == 0


def test_a_link_is_measured_by_time() -> None:
    (wire,) = measure(record())["links"]
    assert wire["utilization"] == pytest.approx(2.1 / 3)
    assert wire["drop_rate"] == 0.1
    assert wire["mark_rate"] == 2 / 40
    assert wire["queue_mean_packets"] == pytest.approx(1.0)
    assert wire["queue_mean_s"] == pytest.approx(100 * 8 / 4000)
    assert (wire["rate_bps"], wire["capacity_packets"], wire["capacity_s"]) == (4000, 5, 10.0)


def test_a_capacity_in_bdp_is_that_of_the_bulk_flows_that_cross_the_link() -> None:
    wire = SCENARIO["links"][0]
    across: dict[str, Any] = {"forward": [{"link": 0}], "reverse": [], "rtt_s": 4.0}
    sized = flow("c", **{**across, "rtt_s": 2.5}, traffic={"kind": "sized", "size_bytes": 90})
    other = flow("d", **{**across, "forward": []})

    def in_bdp(*flows: dict[str, Any], **link: Any) -> float | None:
        scenario = {"links": [{**wire, **link}], "flows": flows}
        return capacities(scenario)[0]["capacity_bdp"]

    # 10 s over the mean of 4 s and 1 s; over 2.5 s of the transfer where no bulk flow crosses.
    both = (flow("a", **across), flow("b", **{**across, "rtt_s": 1.0}))
    assert in_bdp(*both, sized, other) == 4.0
    assert in_bdp(sized, other) == 4.0
    assert in_bdp(other) is None
    assert in_bdp(*both, capacity_s=None) is None


def test_fairness_is_over_the_measured_flows() -> None:
    found = measure(record())["fairness"]
    assert found["jain"] == pytest.approx((900 + 300) ** 2 / (2 * (900**2 + 300**2)))
    assert found["max_min_ratio"] == pytest.approx(3)


def test_an_index_by_window_is_the_mean_over_whole_windows() -> None:
    # Bins of 2 s split in proportion: windows of 2 s are [1, 3) and the rest, which is not whole.
    # There a has 300 + 300, b has 150 + 75.
    found = measure(record())["fairness"]["jain_by_window"]
    assert list(found) == ["2"]
    assert found["2"] == pytest.approx((600 + 225) ** 2 / (2 * (600**2 + 225**2)))


def test_a_window_of_one_bin_is_used_whatever_its_rounding() -> None:
    # 0.3 - 0.2 is a little less than 0.1, and 0.4 - 0.3 a little more.
    starts = [i * 0.1 for i in range(10)]
    flows = pl.DataFrame(
        {
            "t_s": starts * 2,
            "flow": ["a"] * 10 + ["b"] * 10,
            "goodput_bytes": [4] * 10 + [2] * 10,
        }
    )
    whole = {**SCENARIO, "duration_s": 1.0, "warmup_s": 0.0, "flows": [flow("a"), flow("b")]}
    found = jain_by_window(series(flows, 2, whole), [[0], [1]], whole)
    assert found == dict.fromkeys(["0.1", "0.2", "0.5", "1"], pytest.approx(36 / (2 * 20)))


def test_the_entitlement_follows_the_caps() -> None:
    # b may take 10 B a round trip: 800 bit/s, and got 800. c took 90 * 8 / 3 = 240. a is due the
    # rest of 4000, 2960, and got 2400.
    found = measure(record())["fairness"]["entitlement"]
    x, y = 2400 / 2960, 1.0
    assert found == pytest.approx((x + y) ** 2 / (2 * (x * x + y * y)))


def test_flows_of_a_group_count_as_one() -> None:
    together = [flow("a", group="g"), flow("b", group="g"), flow("c")]
    found = measure(record({**SCENARIO, "flows": together}))["fairness"]
    assert found["jain"] == pytest.approx((1200 + 90) ** 2 / (2 * (1200**2 + 90**2)))


def test_a_group_of_several_flows_is_added_up() -> None:
    together = [flow("a", group="g"), flow("b", group="g"), flow("c")]
    found = measure(record({**SCENARIO, "flows": together}))
    (g,) = found["groups"]
    assert (g["name"], g["role"], g["controller"], g["flows"]) == ("g", "measured", "reno", 2)
    assert g["goodput_bps"] == 1200 * 8 / 3
    assert g["share"] == pytest.approx(1200 / 1290)
    # Losses: 5 and 1 of 20 and 10 packets; loss events: 2 and 1.
    assert (g["loss_rate"], g["loss_events"], g["completion_s"]) == (6 / 30, 3, None)


def test_a_group_with_several_bottlenecks_has_its_share_of_all_of_them() -> None:
    """The links sent 2480 and 800 bits each second of 4000 and 1000: not 62 and 80 % added up."""
    narrow = {"name": "narrow", "rate_bps": 1000, "capacity_packets": 5, "capacity_s": 10.0}
    other = flow("b", group="g", forward=[{"link": 1}])
    links = [SCENARIO["links"][0], narrow]
    made = record({**SCENARIO, "flows": [flow("a", group="g"), other, flow("c")]})
    rows = made.link_series.with_columns(link=pl.lit("narrow").cast(made.link_series["link"].dtype))
    both = pl.concat([made.link_series, rows], how="vertical_relaxed")
    scenario = {**made.meta["scenario"], "links": links}
    found = measure(replace(made, link_series=both, meta={**made.meta, "scenario": scenario}))
    a, b, _ = (one["link_share"] for one in found["flows"])
    assert [a, b] == pytest.approx([2480 / 4000, 800 / 1000])
    assert found["groups"][0]["link_share"] == pytest.approx((2480 + 800) / 5000)


def test_connections_of_one_transfer_complete_with_the_last_of_them() -> None:
    sized = {"kind": "sized", "size_bytes": 3000}
    shared = [flow(n, group="g", traffic=sized, lead=0) for n in "ab"]
    made = record({**SCENARIO, "flows": [*shared, SCENARIO["flows"][2]]})
    a, b, c = measure(made)["flows"]
    assert (a["completion_s"], b["completion_s"], c["completion_s"]) == (None, None, 1.5)
    rows = {"flow": list("abc"), "start_s": [0.5, 0.6, 0.5], "end_s": [3.0, 2.5, 2.0]}
    done = replace(made, transfer=pl.DataFrame({**rows, "bytes": [2000, 1000, 90]}))
    found = measure(done)
    assert [one["completion_s"] for one in found["flows"]] == [2.5, 2.5, 1.5]
    assert found["groups"][0]["completion_s"] == 2.5
    # While one is under way the transfer is.
    half = replace(made, transfer=done.transfer.with_columns(end_s=pl.Series([3.0, None, 2.0])))
    assert measure(half)["flows"][0]["completion_s"] is None


def test_mode_changes_are_counted_for_controllers_with_modes() -> None:
    plain = record()
    # The first mode is no change, nor is what changed before 1 s: two changes in 3 s are left.
    told = {"t_s": [0.1, 0.9, 1.1, 3.0, 2.0], "value": [1.0, 0.0, 1.0, 0.0, 1.0]}
    modes = pl.DataFrame({**told, "kind": ["mode"] * 5, "flow": ["a"] * 4 + ["b"]})
    event = pl.concat([plain.event, modes.select(plain.event.columns)]).sort("t_s")
    a, b, c = measure(replace(plain, event=event))["flows"]
    assert a["mode_changes_per_s"] == pytest.approx(2 / 3)
    assert b["mode_changes_per_s"] == 0
    assert "mode_changes_per_s" not in c


def test_few_loss_events_are_not_stationary() -> None:
    few = measure(record())
    assert few["stationary"] is False
    # One loss event in 3 s: 20 in 60 s, a quarter longer, after 1 s of warm-up.
    assert few["wanted_duration_s"] == 76
    nobody = [{**spec, "role": "background"} for spec in SCENARIO["flows"]]
    found = measure(record({**SCENARIO, "flows": nobody}))
    assert found["stationary"] is None
    assert found["completed"] is None
    assert found["fairness"]["jain"] is None
    assert found["fairness"]["jain_by_window"] == {}


def test_a_controller_that_probes_without_losses_is_judged_by_its_own_cycle() -> None:
    # 40 s with a round-trip time of 0.1 s are 400 round trips.
    flow = {"loss_events": 3, "rtt_mean_s": 0.1, "cwnd_mean": 50.0}

    def counted(losses: int = 3, **cycle: float) -> float | None:
        whole = {"seconds": 0.0, "rounds": 0.0, "rounds_per_packet": 0.0, **cycle}
        return cycles({"probe_cycle": whole}, {**flow, "loss_events": losses}, 40.0)

    assert cycles({}, flow, 40.0) == 3, "a cycle lasts from loss to loss"
    assert cycles({}, {**flow, "loss_events": None}, 40.0) is None
    assert counted(seconds=5.0) == 8
    assert counted(losses=30, seconds=5.0) == 8, "losses do not shorten a period of time"
    assert counted(rounds_per_packet=0.5) == 16, "half of a window of 50 packets: 25 round trips"
    assert counted(losses=30, rounds_per_packet=0.5) == 30
    assert counted(rounds=10.0, seconds=5.0) == 8, "the longer of both"
    assert counted(rounds=100.0, seconds=5.0) == 4


def test_a_finite_transfer_is_judged_by_whether_it_was_completed() -> None:
    # `c` has 90 bytes to send and no loss event.
    sized = [{**spec, "role": "measured"} for spec in SCENARIO["flows"][2:]]
    others = [{**spec, "role": "background"} for spec in SCENARIO["flows"][:2]]
    made = record({**SCENARIO, "flows": [*others, *sized]})
    found = measure(made)
    assert (found["stationary"], found["completed"]) == (None, True)
    late = made.transfer.with_columns(end_s=pl.lit(None, dtype=pl.Float64))
    assert measure(replace(made, transfer=late))["completed"] is False


def test_a_link_that_changes_is_measured_by_what_it_could_send() -> None:
    # 250 bytes of 500 in [1, 2), all of 100 in [2, 4): 350 of 600 bytes in 3 s.
    made = record()
    link = {**SCENARIO["links"][0], "schedule": {"rate": {"steps": 2}, "delay_s": [], "loss": []}}
    columns: dict[str, list[float]] = {
        "sent_bytes": [999, 250, 100],
        "capacity_bytes": [999.0, 500.0, 100.0],
    }
    series = made.link_series.with_columns(**{k: pl.Series(v) for k, v in columns.items()})
    meta = {**made.meta, "scenario": {**SCENARIO, "links": [link]}}
    found = measure(replace(made, meta=meta, link_series=series))
    wire = found["links"][0]
    assert wire["utilization"] == pytest.approx(350 / 600)
    # The mean of 300 bytes in [1, 2) and none in [2, 4), over 200 bytes/s.
    assert wire["queue_mean_s"] == pytest.approx(100 / 200)
    # 930 bytes of 600: the columns here are no link's.
    assert found["flows"][0]["link_share"] == pytest.approx(930 / 600)

"""L4S: published ratios, what is refused, and shares of hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

import fairhaul
from fairhaul import ScenarioError
from fairhaul.jobs.values import Running
from fairhaul.measures.measures import measure
from fairhaul.runs.runs import for_each
from tests.linux_program import needs_linux
from tools.l4s import (
    SCENARIOS,
    Run,
    accurate,
    cells,
    changed,
    dual_queue,
    fallback,
    ns3,
    plan,
    published,
)
from tools.l4s.kernel import beside

SHORT = {"duration": "60 s", "warmup": "20 s"}
DUAL = SCENARIOS / "dual-queue.toml"
SHARING = ("near", "far", "reno")


def test_ratios_through_a_dual_queue_are_those_that_were_published() -> None:
    wanted = ("dualpi2: prague 20, cubic 20 ms", "fq_codel: prague 10, cubic 10 ms")
    runs = [run for run in plan() if run.what in wanted]
    found = cells(runs, SHORT)
    assert len(found) == 2
    assert all(cell.is_within for cell in found), found


def named(what: str) -> Run:
    (run,) = [run for run in plan() if run.what == what]
    return run


def test_the_bucket_of_the_tests_gives_their_ratio_of_two_prague_flows() -> None:
    run = named("dualpi2: prague 80, prague 20 ms")
    without, with_bucket = cells([run, changed(run, ["htb"])], SHORT)
    assert not without.is_within, without
    assert with_bucket.is_within, with_bucket


def test_a_change_of_the_set_up_leaves_everything_else_as_it_is() -> None:
    run = named("slow dualpi2: cubic 80, prague 20 ms")
    processing = {f"flow.{name}.overhead" for name in ("first", "second")}
    for changes, keys, most in (
        (["htb"], {"bottleneck.rate", "bottleneck.shaper", *processing}, "1200 us"),
        (["prompt hosts"], processing, "20 us"),
    ):
        overrides = changed(run, changes).overrides
        assert {key for key in overrides if overrides[key] != run.overrides.get(key)} == keys
        assert overrides["flow.first.overhead"] == f"uniform 0 s..{most}"
    with pytest.raises(ValueError, match="known are the kernel's queues of fifo, fq_codel"):
        changed(run, ["kernel queue"])
    fifo = changed(named("fifo: cubic 160, prague 10 ms"), ["kernel queue"])
    assert fifo.overrides["bottleneck.queue"] == {"kind": "kernel", "qdisc": "pfifo limit 1000"}


def test_prague_takes_nearly_all_of_one_queue_that_marks() -> None:
    (cell,) = cells([named("fq_codel, 1 queue: prague, cubic with ECN")], SHORT)
    assert cell.mean > 5, cell


def test_prague_falls_back_in_one_queue_that_marks_and_not_in_a_dual_queue() -> None:
    wanted = ("fq_codel, 1 queue: prague, cubic with ECN", "dualpi2: prague 20, cubic 20 ms")
    runs = [run for run in fallback.runs() if run.what in wanted]
    dual, classic = fallback.effects(runs, SHORT)
    assert dual.falling_back == dual.without
    assert dual.score < 8
    assert classic.without > 5
    assert 0.5 < classic.falling_back < 2
    assert classic.score > 9


def test_who_gets_more_at_10_mbit_per_s_is_a_question_of_the_queue() -> None:
    """In ns-3 Prague got more, in the testbed of the same study CUBIC did, three times as much."""
    rows = [row for row in published()["ns3"] if row["path"] == "10 Mbit/s, 30 ms"]
    scenarios = [ns3.scenario(row) for row in rows]
    found = for_each(scenarios, lambda index, record: ns3.ns3(scenarios[index], record))
    for row, ours in zip(rows, found, strict=True):
        for name in ("prague_mbps", "cubic_mbps", "prague_rtt_ms", "cubic_rtt_ms"):
            assert abs(ours[name] / row[name] - 1) < 0.2, (row["study"], name, ours)


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"flow.prague.ecn": False}, "reads marks and nothing else"),
        ({"flow.prague.accecn": False}, "needs accurate feedback"),
        ({"flow.prague.ect1": False}, "an L4S queue takes nothing else"),
        ({"flow.cubic.accecn": True}, "needs ecn = true"),
        ({"flow.cubic.ect1": True}, "needs ecn = true"),
        ({"flow.cubic.ecn": True, "flow.cubic.ect1": True}, "reduces as for a loss"),
        ({"flow.cubic.middlebox": "clears ace"}, "needs accecn = true"),
        ({"flow.cubic.accecn_option": "never"}, "needs accecn = true"),
        ({"flow.cubic.dscp": "EF"}, 'only the queue "cake" reads it'),
        ({"bottleneck.queue.step": 2}, "would change nothing"),
    ],
)
def test_what_no_document_defines_is_refused_with_the_reason(
    overrides: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ScenarioError, match=reason):
        fairhaul.read(DUAL, overrides)


WITHOUT_L4S = "no flow sends ECT(1), so all packets are in the classic queue of 'bottleneck'"


@pytest.mark.parametrize(
    ("overrides", "hint"),
    [
        ({"flow.prague.controller": "reno"}, "its dualpi2 is PI2"),
        ({"flow.prague.controller": "dctcp"}, "for the L4S queue set `ect1 = true` for dctcp"),
        (
            {"flow.prague.controller": {"kind": "bbr3"}},
            'set `controller = { kind = "bbr3", proportional = true }` for bbr3',
        ),
        ({"flow.prague.middlebox": "clears ae"}, "its dualpi2 is PI2"),
        ({"flow.prague.controller": "dctcp", "flow.prague.ect1": True}, None),
        ({"flow.prague.controller": "dctcp", "bottleneck.queue.any_ect": True}, None),
        ({"flow.prague.controller": "dctcp", "bottleneck.queue.kind": "pie"}, None),
        ({}, None),
    ],
)
def test_a_run_says_that_nothing_is_in_the_l4s_queue(
    overrides: dict[str, Any], hint: str | None
) -> None:
    runs = fairhaul.run(DUAL, {"duration": "1 s", "warmup": "0 s", **overrides})
    (figures,) = runs.measures
    if hint is None:
        assert "warnings" not in figures
        return
    (warning,) = figures["warnings"]
    assert warning.startswith(WITHOUT_L4S)
    assert warning.endswith(hint)
    assert f"Warning: {warning}." in runs.outcome().answer


def test_cake_shares_by_hosts() -> None:
    """One host with a connection and one with three: half of the shaped 10 Mbit/s each."""
    flow = {"rtt": "20 ms", "controller": "cubic"}
    scenario = {
        "duration": "20 s",
        "warmup": "5 s",
        "bottleneck": {
            "rate": "20 Mbit/s",
            "delay": "5 ms",
            "queue": {"kind": "cake", "capacity": "4 MB", "bandwidth": 10},
        },
        "flow": [
            {"name": "alone", "source_host": "one", **flow},
            {"name": "busy", "count": 3, "source_host": "other", **flow},
        ],
    }
    (record,) = fairhaul.run(scenario).records
    alone, *busy = (row["goodput_bps"] / 1e6 for row in measure(record)["flows"])
    assert alone == pytest.approx(4.8, rel=0.08)
    assert sum(busy) == pytest.approx(4.8, rel=0.08)


@pytest.mark.parametrize(
    ("name", "codes", "has_option"),
    [("dctcp, ECT(1)", (7, 2), True), ("option never", (7, 2), False), ("sets ect", (7, 4), True)],
)
def test_the_last_bits_and_counters_are_the_sum_of_the_marks(
    name: str, codes: tuple[int, int], has_option: bool
) -> None:
    found = accurate.feedback(name, "sim")
    assert (found.request, found.answer) == codes
    assert (found.marked > 0.01) == (name != "sets ect")
    assert (found.capable > 0.99) == (name != "sets ect")
    assert found.ace_off == 0
    assert found.option_off == (0 if has_option else None)


def test_what_the_trace_of_a_kernel_says_of_marks_is_read() -> None:
    """A request, its answer, two packets of 1436 B of payload, one with CE, and what is said."""
    columns = ("what", "opens", "ecn", "bytes", "ace", "accecn")
    rows = [
        ("sent", True, "Not-ECT", 60, 7.0, ""),
        ("ack_sent", True, "Not-ECT", 72, 2.0, "1 0 1"),
        ("sent", False, "ECT(0)", 1500, 5.0, "1 0 1"),
        ("sent", False, "ECT(0)", 1500, 5.0, "1 0 1"),
        ("received", False, "ECT(0)", 1500, 5.0, "1 0 1"),
        ("received", False, "CE", 1500, 5.0, "1 0 1"),
        ("ack_sent", False, "ECT(0)", 64, 7.0, "1437 1440 -"),
    ]
    found = accurate.read(pl.DataFrame(rows, schema=columns, orient="row"))
    assert found == accurate.Feedback(
        request=7,
        answer=2,
        capable=1.0,
        marked=0.5,
        ace_off=1,
        option_off=4,
        acks=0.5,
        options=1.0,
    )
    assert accurate.far(found, replace(found, ace_off=0, acks=0.6)) == ["ace_off", "acks"]


def test_means_agree_within_a_share_or_within_what_chance_does() -> None:
    means = dict.fromkeys(dual_queue.TOLERANCE, 10.0)
    deviations = dict.fromkeys(dual_queue.TOLERANCE, 0.01)

    def far(**changed: float) -> list[str]:
        ours = dual_queue.Figures(means=means, deviations=deviations)
        theirs = dual_queue.Figures(
            means={**means, **changed}, deviations={**deviations, "first_ms": 0.5}
        )
        return dual_queue.Beside(name="a cell", simulated=ours, linux=theirs).far()

    assert far(first_mbps=10.9, first_ms=11.4) == []
    assert far(first_mbps=11.3, second_ms=10.7) == ["first_mbps", "second_ms"]


@needs_linux
@pytest.mark.parametrize("name", ["cake", "fq"])
def test_a_queue_gives_the_shares_of_the_kernels_own(name: str) -> None:
    cell = beside(name, Running(), seeds=1)
    for figure in ("near", "far", "reno", "queue_ms"):
        ours, theirs = cell.means(figure)
        assert theirs == pytest.approx(ours, rel=0.03), figure


@needs_linux
@pytest.mark.parametrize("name", ["fq_codel", "codel", "pie"])
def test_an_aqm_has_the_queue_of_the_kernels_own(name: str) -> None:
    """The shares of single flows differ from run to run: docs/l4s.md has means of several runs."""
    cell = beside(name, Running(), seeds=1)
    ours, theirs = (sum(run[0][flow] for flow in SHARING) for run in (cell.simulated, cell.linux))
    assert theirs == pytest.approx(ours, rel=0.03)
    ours, theirs = cell.means("queue_ms")
    assert theirs == pytest.approx(ours, rel=0.25)


@needs_linux
@pytest.mark.parametrize("name", ["cake, three tins", "cake, hosts"])
def test_a_cake_of_the_kernel_knows_classes_and_hosts(name: str) -> None:
    cell = beside(name, Running(), seeds=1)
    for figure in cell.linux[0].keys() - {"queue_ms", "drops_%", "marks_%"}:
        ours, theirs = cell.means(figure)
        assert theirs == pytest.approx(ours, rel=0.05), figure

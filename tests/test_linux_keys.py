"""Keys of hosts and queues of kernels: what the simulator refuses, and what they do in Linux."""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING, Literal

import pytest

import fairhaul
from fairhaul.host.process import Refused
from fairhaul.scenario.read import ScenarioError, read_one
from fairhaul.studies.cells.agreement import agrees
from tests.linux_program import needs_linux

if TYPE_CHECKING:
    from fairhaul.measures.types import RunFigures

PATH = """\
duration = "6 s"
warmup   = "2 s"
packet   = "1500 B"
profile  = "linux-tcp"

[bottleneck]
rate  = "50 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "200 packets" }

[[flow]]
name       = "near"
rtt        = "20 ms"
controller = "cubic"

[[flow]]
name       = "far"
rtt        = "80 ms"
controller = "cubic"
"""


def kernel(qdisc: str) -> dict[str, object]:
    """Give the setting of a queue of the kernel."""
    return {"bottleneck.queue": {"kind": "kernel", "qdisc": qdisc}}


def measured(overrides: dict[str, object]) -> RunFigures:
    """Run the path in Linux, and give the figures."""
    return fairhaul.run(PATH, overrides, engine="linux").measures[0]


def goodputs(found: RunFigures) -> list[float]:
    """Give the goodput of each flow, Mbit/s."""
    return [flow["goodput_bps"] / 1e6 for flow in found["flows"]]


def test_the_simulator_refuses_what_it_lacks_and_names_the_engine() -> None:
    overrides = {**kernel("fq_codel"), "flow.far.host.qdisc": "cake"}
    with pytest.raises(ScenarioError) as refused:
        fairhaul.run(PATH, overrides)
    lines = [str(line) for line in refused.value.args]
    assert len(lines) == 3  # both directions of the link have the queue
    assert all(line.endswith("runs with --engine linux") for line in lines)
    assert not read_one(PATH).kernel_requests()


@needs_linux
def test_a_fifo_of_the_kernel_is_a_drop_tail_queue() -> None:
    # One run in five loses other packets at the start, in both.
    ours, theirs = (
        fairhaul.run(PATH, queue, engine="linux", seeds=5).measures
        for queue in ({}, kernel("pfifo limit 200"))
    )
    usual = [
        [median(goodputs(found)[flow] for found in runs) for flow in (0, 1)]
        for runs in (ours, theirs)
    ]
    assert usual[1] == pytest.approx(usual[0], rel=0.02)
    links = ours[0]["links"][0], theirs[0]["links"][0]
    assert links[1]["utilization"] == pytest.approx(links[0]["utilization"], abs=0.005)


@needs_linux
@pytest.mark.parametrize("qdisc", ["fq", "fq_codel"])
def test_fair_queueing_of_the_kernel_gives_flows_similar_shares(qdisc: str) -> None:
    near, far = goodputs(measured(kernel(qdisc)))
    assert far / near > 0.6
    assert near + far > 40


@needs_linux
def test_a_discipline_that_shapes_is_slower_than_its_link() -> None:
    # Of 1500 B, 1448 are payload.
    assert 20 < sum(goodputs(measured(kernel("cake bandwidth 25mbit")))) < 25 * 1448 / 1500


@needs_linux
def test_interrupts_that_are_moderated_leave_fewer_acknowledgements() -> None:
    fast = {"bottleneck.rate": "1 Gbit/s", "duration": "2 s", "warmup": "1 s"}
    fast["bottleneck.queue.capacity"] = "1000 packets"
    moderated = {"flow.*.offload": "auto", "flow.*.host.moderation": "100 us"}
    acks = [
        sum(fairhaul.run(PATH, overrides, engine="linux").records[0].link_series["arrived"])
        for overrides in (fast, {**fast, **moderated})
    ]
    assert acks[1] < 0.9 * acks[0]


@needs_linux
@pytest.mark.parametrize(
    "processor",
    [
        {"per_burst": "0 s", "per_kilobyte": "300 us", "per_packet": "0 s"},
        {"per_burst": "0 s", "per_kilobyte": "0 s", "per_packet": "450 us"},
    ],
)
def test_a_processor_limits_both_engines_alike(processor: dict[str, str]) -> None:
    # 450 us for a packet of 1500 B are 26.7 Mbit/s, at the sender or at the receiver.
    given = {"flow.far.start": "5.99 s", "flow.near.host": {"processor": processor}}
    ours, theirs = (
        50 * fairhaul.run(PATH, given, engine=engine).measures[0]["links"][0]["utilization"]
        for engine in ("sim", "linux")
    )
    assert ours == pytest.approx(26.67, rel=0.02)
    assert theirs == pytest.approx(ours, rel=0.02)


@needs_linux
def test_a_card_that_follows_the_traffic_interrupts_as_often_in_both_engines() -> None:
    given = {
        "bottleneck.rate": "1 Gbit/s",
        "duration": "2 s",
        "warmup": "1 s",
        "bottleneck.queue.capacity": "1000 packets",
        "flow.*.offload": "auto",
        "flow.*.host.moderation": "ixgbe",
    }
    ours, theirs = (
        sum(fairhaul.run(PATH, given, engine=engine).records[0].link_series["arrived"])
        for engine in ("sim", "linux")
    )
    assert theirs == pytest.approx(ours, rel=0.05)


# Fast enough for bursts of dozens of packets, with one flow.
FAST: dict[str, object] = {
    "bottleneck.rate": "1 Gbit/s",
    "bottleneck.queue.capacity": "1000 packets",
    "duration": "1.5 s",
    "warmup": "1 s",
    "flow.far.start": "1.49 s",
    "flow.near.offload": "auto",
}


def acks_per_packet(overrides: dict[str, object], engine: Literal["sim", "linux"]) -> float:
    """Give the packets of the reverse path for each of the bottleneck."""
    series = fairhaul.run(PATH, overrides, engine=engine).records[0].link_series
    counts = {"bottleneck": 0, "bottleneck (reverse)": 0}
    for link, arrived in zip(series["link"], series["arrived"], strict=True):
        counts[link] += arrived
    return counts["bottleneck (reverse)"] / counts["bottleneck"]


@needs_linux
@pytest.mark.parametrize("driver", ["ice", "mlx5"])
def test_a_card_that_the_kernel_moderates_does_so_alike_in_both_engines(driver: str) -> None:
    host = {"moderation": driver, "noise": "uniform 0 s..5 us"}
    ours, theirs = (
        acks_per_packet({**FAST, "flow.near.host": host}, engine) for engine in ("sim", "linux")
    )
    assert theirs == pytest.approx(ours, rel=0.1)
    # The packets come too slowly for intervals in which an interrupt merges many.
    assert 0.4 < ours < 0.5


@needs_linux
def test_bonded_links_mix_the_packets_of_two_bursts_alike_in_both_engines() -> None:
    given = {**FAST, "bottleneck.rate": "4 Gbit/s", "flow.near.receive_buffer": "2 MB"}
    acks: dict[int, float] = {}
    for links in (1, 2, 3):
        host = {"line_rate": "2 Gbit/s", "links": links, "noise": "uniform 0 s..5 us", "gro": True}
        seeds = range(1, 7) if links > 2 else (1,)  # of three links runs differ by a twentieth
        each = [{**given, "flow.near.host": host, "seed": seed} for seed in seeds]
        acks[links] = fmean(acks_per_packet(one, "sim") for one in each)
        assert agrees(acks[links], [acks_per_packet(one, "linux") for one in each], 0.03)
    # Packets in order need an acknowledgement for two, and mixed ones nearly one for each.
    assert acks[1] < 0.55
    assert acks[2] > 0.85


@needs_linux
def test_flows_of_one_sender_share_its_card_in_both_engines() -> None:
    payload = 1448 / 1500
    host = {"sender": "server", "line_rate": "20 Mbit/s"}
    names = {"flow.near.host": host, "flow.far.host": {**host, "sender": "another"}}
    engines: tuple[Literal["sim"], Literal["linux"]] = ("sim", "linux")
    for engine in engines:
        found = fairhaul.run(PATH, {"flow.*.host": host}, engine=engine).measures[0]
        assert sum(goodputs(found)) == pytest.approx(20 * payload, rel=0.01)
        found = fairhaul.run(PATH, names, engine=engine).measures[0]
        assert sum(goodputs(found)) > 1.5 * 20


@needs_linux
def test_a_queue_drops_at_departure_in_both_engines() -> None:
    queue = {"kind": "droptail", "capacity": "40 packets", "drop": "departure"}
    ours, theirs = (
        fairhaul.run(PATH, {"bottleneck.queue": queue}, engine=engine)
        for engine in ("sim", "linux")
    )
    assert sum(goodputs(theirs.measures[0])) == pytest.approx(
        sum(goodputs(ours.measures[0])), rel=0.02
    )
    for run in (ours, theirs):
        assert sum(run.records[0].link_series["dropped"]) > 0


@needs_linux
@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        (
            {"flow.near.host.kernel": "6.1"},
            'host.kernel = "6.1": Linux 6.12.117 runs here; the engine linux has others with '
            "--kernel 6.1",
        ),
        (kernel("fqq"), 'queue.qdisc = "fqq": the kernel does not accept it; tc reports: Error: '),
        (kernel("netem delay 1ms"), "netem is no queue"),
        (kernel("cake ack-filter"), "the packets that ack-filter removes"),
        ({"flow.near.host.qdisc": "pfifo limi 3"}, 'host.qdisc = "pfifo limi 3"'),
        (
            {"flow.near.host.sysctl": {"net.ipv4.tcp_rmen": "1 2 3"}},
            'no setting "net.ipv4.tcp_rmen"; did you mean "net.ipv4.tcp_rmem"?',
        ),
        (
            {"flow.near.host.sysctl": {"net.core.rmem_max": 9}},
            '"net.core.rmem_max" is a setting of the whole machine',
        ),
    ],
)
def test_what_the_kernel_does_not_accept_is_refused(
    overrides: dict[str, object], text: str
) -> None:
    with pytest.raises(Refused) as refused:
        measured(overrides)
    assert text in str(refused.value)

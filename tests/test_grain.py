"""What a run says of its grain, and the comparison of bursts with single packets."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner

import fairhaul
from fairhaul.cli import fairhaul as command
from fairhaul.measures import grain
from tools.grain.comparison import Difference, Outcome, judged

HOSTS: dict[str, Any] = {
    "title": "hosts",
    "duration": "2 s",
    "profile": "linux-tcp",
    "bottleneck": {
        "rate": "200 Mbit/s",
        "delay": "10 ms",
        "queue": {"kind": "droptail", "capacity": "1 bdp"},
    },
    "flow": [
        {
            "name": "bulk",
            "controller": "cubic",
            "rtt": "40 ms",
            "offload": "auto",
            "host": {"moderation": "50 us"},
        },
    ],
}


# Requirement: bbrv3-4.1.2.1.2-a, bbrv3-4.1.3.1-a
def test_a_flow_alone_has_the_same_figures_packet_by_packet() -> None:
    auto: dict[str, Any] = {**fairhaul.run(HOSTS).measures[0]}
    packet: dict[str, Any] = {**fairhaul.run({**HOSTS, "grain": "packet"}).measures[0]}
    assert packet.pop("single_packets") == {"bulk": "the grain is `packet`"}
    assert "single_packets" not in auto
    for figures in (auto, packet):
        figures.pop("cpu_s")
    assert auto == packet


def test_the_table_says_which_bursts_are_simulated_packet_by_packet(tmp_path: Any) -> None:
    file = tmp_path / "hosts.toml"
    file.write_text(
        'duration = "1 s"\n'
        'profile = "linux-tcp"\n'
        'bottleneck = { rate = "100 Mbit/s", delay = "10 ms",'
        ' queue = { kind = "droptail", capacity = "1 bdp" } }\n'
        'flow = [{ name = "bulk", controller = "cubic", rtt = "40 ms", offload = "auto" }]\n'
    )

    def printed(*options: str) -> str:
        result = CliRunner().invoke(command, ["run", str(file), *options])
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    assert "packet by packet" not in printed()
    assert "packet by packet, which takes longer: bulk (the grain is `packet`)." in printed(
        "--grain", "packet"
    )
    red = printed("--set", "bottleneck.queue.kind=red")
    assert 'bulk (link "bottleneck" decides about each packet)' in red


def test_many_flows_of_one_reason_are_counted() -> None:
    single = {f"f{i}": "it is slow" for i in range(5)} | {"g": "it is late"}
    assert grain.line(single).endswith("takes longer: 5 flows (it is slow); g (it is late).")


def difference(more: float, error: float) -> Difference:
    return Difference(of="share", packets=0.5, more=more, error=error, runs=20, allowed=0.01)


def test_a_difference_is_within_outside_or_lost_in_the_noise() -> None:
    # With 20 runs the one-sided 97.5 % point is 2.09 standard errors.
    cases = [(0.009, 0.0, True), (0.02, 0.0, False), (0.02, 0.014, None), (0.001, 0.004, True)]
    for more, error, verdict in cases:
        same = difference(0.0, 0.0)
        outcome = Outcome(
            name="one", shares=[difference(more, error)], events=same, jain=same, faster=1.0
        )
        assert judged([outcome]) == [[verdict, True, True]]


def test_a_large_difference_among_many_may_be_chance() -> None:
    # 0.01 beyond what is allowed is 2.5 standard errors: p = 0.011 once, and 1 among 100.
    far, same, noisy = difference(0.02, 0.004), difference(0.0, 0.0), difference(0.0, 0.1)
    one = Outcome(name="one", shares=[far], events=same, jain=same, faster=1.0)
    many = Outcome(name="many", shares=[noisy] * 100, events=noisy, jain=noisy, faster=1.0)
    assert judged([one]) == [[False, True, True]]
    assert judged([one, many])[0] == [None, True, True]

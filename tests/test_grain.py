"""Trains of packets: what the table, the figures and the report say of them."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner

import fairhaul
from fairhaul.cli import fairhaul as command
from fairhaul.measures import grain
from tools.grain.comparison import Difference, Outcome, judged

FAST: dict[str, Any] = {
    "title": "fast",
    "duration": "2 s",
    "bottleneck": {
        "rate": "200 Mbit/s",
        "delay": "10 ms",
        "queue": {"kind": "droptail", "capacity": "1 bdp"},
    },
    "flow": [
        {"name": "bulk", "controller": "cubic", "rtt": "40 ms"},
        {"name": "paced", "controller": "bbr", "rtt": "40 ms"},
    ],
}


def test_the_figures_name_the_flows_that_send_single_packets() -> None:
    [figures] = fairhaul.run({**FAST, "grain": "auto"}).measures
    assert figures["grain"]["longest_train"] == 64
    single = figures["grain"]["single"]
    assert "bbr" in single["paced"]
    assert single["bulk"] == 'flow "paced", which shares a link with it, sends single packets'
    alone = {**FAST, "grain": "auto", "flow": FAST["flow"][:1]}
    assert fairhaul.run(alone).measures[0]["grain"]["single"] == {}
    assert "grain" not in fairhaul.run(FAST).measures[0]


def test_the_table_says_what_was_simulated(tmp_path: Any) -> None:
    file = tmp_path / "fast.toml"
    file.write_text(
        'duration = "1 s"\n'
        'bottleneck = { rate = "100 Mbit/s", delay = "10 ms",'
        ' queue = { kind = "droptail", capacity = "1 bdp" } }\n'
        'flow = [{ name = "bulk", controller = "cubic", rtt = "40 ms" }]\n'
    )

    def printed(*options: str) -> str:
        result = CliRunner().invoke(command, ["run", str(file), *options])
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    assert "Grain" not in printed()
    assert "Grain: trains of up to 64 packets, single packets" in printed("--grain", "auto")
    red = printed("--grain", "auto", "--set", "bottleneck.queue.kind=red")
    assert "no flow can send trains" in red
    assert 'link "bottleneck" decides about each packet' in red


def test_many_excluded_flows_are_counted() -> None:
    single = {f"f{i}": "it is slow" for i in range(5)} | {"g": "it is late"}
    text = grain.line({"longest_train": 64, "single": single}, 7)
    assert text.endswith(
        "Single packets from 5 flows: it is slow. Single packets from g: it is late."
    )


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

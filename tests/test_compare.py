"""Controllers compared in one line: the question, the duration of the runs, and the answer."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import fairhaul as package
from fairhaul.scenario.transport import Transport
from fairhaul.studies.comparison.numbers import harm, settled
from fairhaul.studies.comparison.plan import Done, _cases, _scenario
from fairhaul.studies.comparison.question import read_question
from fairhaul.text.durations import duration_text, left_text, rough_duration_text
from fairhaul.text.phrases import size_text

from .conftest import Fairhaul


class Fixed(package.Controller):
    """Never probes: its window stays the initial one."""

    slow_start = False

    def on_ack(self, window: package.Window, ack: package.Ack) -> None:
        """Let nothing change the window."""


PATH = ("--rate", "10Mbit/s", "--rtt", "20ms,60ms", "--buffer", "20ms")


def test_one_line_gives_one_object(fairhaul: Fairhaul) -> None:
    line = ("compare", "fhstcp:c=20", "reno", *PATH, "--size", "1GB", "--against", "2xscalable")
    done = fairhaul(*line, "--seeds", "1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["values"]
    assert found["question"]["against"] == {"controller": "scalable", "count": 2}
    assert found["question"]["rtts_s"] == [0.02, 0.06]
    first, standard = found["controllers"]
    assert first["controller"] == "fhstcp:c=20"
    assert found["stationary"]
    for case in (first["alone"], first["beside"], standard["alone"], standard["beside"]):
        assert case["least_cycles"] >= 20
        assert 0.8 < case["utilization"] <= 1
        assert sum(flow["share"] for flow in case["flows"]) == pytest.approx(1)
    # 1 GB are 8e9 bit; two flows have at most 9.6 Mbit/s of payload.
    for flow in first["alone"]["flows"]:
        assert flow["completion_s"] == pytest.approx(8e9 / flow["goodput_bps"])
        assert flow["extrapolated"]
    assert standard["beside"]["harm"] == 0
    usual, left = (row["beside"]["others_goodput_bps"] for row in (standard, first))
    assert first["beside"]["harm"] == pytest.approx((usual - left) / usual)
    # `reno` adds a packet a round trip, three times as often at 20 ms as at 60 ms; `fhstcp` adds
    # the same at both.
    assert first["alone"]["jain"] > standard["alone"]["jain"]


def test_the_answer_is_a_sentence_below_a_table(fairhaul: Fairhaul) -> None:
    plain = ("--profile", "plain")
    done = fairhaul("compare", "fhstcp", "reno", *PATH, "--against", "reno", "--seeds", "5", *plain)
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("Alone", "Competing with 1 reno", "% at 60 ms", "1 TB at 20 ms", "[", "5 seeds"):
        assert words in done.stdout
    said = " ".join(done.stdout.split())
    assert "divides the link most evenly among its own flows (Jain's index" in said
    assert "harm = 1 - (goodput of the competing flows beside this controller)" in said
    assert "extrapolated" in said


def test_cases_with_too_few_packets_are_not_ranked() -> None:
    # A full window is 750 packets under way and 250 in the buffer. `reno` needs 500 round trips of
    # 60 ms from half of it back to the next loss; a second of the budget is 2.5 million packets, or
    # 200 s at 100 Mbit/s.
    done = package.compare(
        ["reno"], rate="100 Mbit/s", rtt="60 ms", buffer="20 ms", budget="100 ms"
    )
    assert not done.stationary
    assert not done.rows[0]["alone"]["stationary"]
    assert done.duration_s <= 20 / 5
    assert done.packets <= 250_000
    assert done.answer.startswith("Cannot say yet, too short: alone, reno (")
    assert "completes" not in done.answer


def test_the_budget_that_is_wanted_suffices() -> None:
    def ask(budget: str) -> package.Comparison:
        return package.compare(
            ["reno", "cubic"], rate="10 Mbit/s", rtt="20 ms", buffer="20 ms", budget=budget
        )

    short = ask("60 ms")
    wanted = re.search(r"a budget of about ([\d.]+ s) ", short.answer)
    assert wanted is not None
    assert not short.stationary
    done = ask(wanted[1])
    assert done.stationary
    assert "not ranked" not in done.answer


def test_larger_packets_make_runs_of_the_same_budget_longer() -> None:
    def ask(mtu: int) -> package.Comparison:
        # Nothing is lost, so that runs become as long as the budget allows.
        return package.compare(
            [Fixed], rate="10 Mbit/s", rtt="20 ms", buffer="1 s", budget="1 s", seeds=1, mtu=mtu
        )

    small, large = ask(1000), ask(4000)
    assert large.question.to_dict()["packet_bytes"] == 4000
    assert large.duration_s > 3 * small.duration_s
    assert max(small.packets, large.packets) < 2.6e6


def test_every_run_has_the_duration_that_was_asked_for() -> None:
    done = package.compare(
        [Fixed], rate="10 Mbit/s", rtt="20 ms", buffer="20 ms", duration="7 s", seeds=2
    )
    assert (done.duration_s, done.seeds) == (7, 2)
    assert "Without a cycle there is no estimate" in done.answer


def test_few_seeds_rank_nothing_and_one_profile_is_for_all() -> None:
    done = package.compare(
        ["reno", "scalable"],
        rate="10 Mbit/s",
        rtt="20 ms",
        buffer="20 ms",
        seeds=2,
        profile="linux",
    )
    assert "2 seeds say nothing about" in done.answer
    assert done.question.to_dict()["profile"] == "linux"
    with pytest.raises(package.ScenarioError, match="profile linx: did you mean 'linux'"):
        package.compare(["reno"], rate="1 Mbit/s", rtt="9 ms", buffer="9 ms", profile="linx")


def test_every_controller_has_the_pacing_of_the_question_and_the_others_have_none() -> None:
    asked = read_question(
        ["cubic", "2xreno", "bbr3"],
        rate="1 Gbit/s",
        rtt="20 ms, 80 ms",
        buffer="1 bdp",
        size="1 TB",
        against="3xcubic",
        profile="linux",
        pacing="fq",
    )
    assert asked.to_dict()["pacing"] == "fq"
    for case, transport in _cases(asked).items():
        flows = json.loads(_scenario(asked, case, transport, 10.0).describe())["flows"]
        assert {flow["profile"] for flow in flows} == {"linux"}, "of the reference, too"
        found = {(flow["role"], flow.get("pacing")) for flow in flows}
        others = {("background", None)} if case.beside else set()
        assert found == {("measured", "fq")} | others, case


def test_the_command_names_the_pacing_that_was_simulated(fairhaul: Fairhaul) -> None:
    line = ("compare", "cubic", "--rate", "10Mbit/s", "--rtt", "20ms", "--buffer", "20ms")

    def said(*pacing: str, duration: str = "2s") -> str:
        done = fairhaul(*line, "--duration", duration, "--seeds", "1", *pacing)
        assert (done.returncode, done.stderr) == (0, "")
        return " ".join(done.stdout.split())

    command = "# the senders pace as simulated sudo tc qdisc replace dev DEVICE root fq"
    assert command in said("--pacing", "fq", duration="100s")
    # Under runs that are too short stands no command.
    assert "tc qdisc" not in said("--pacing", "fq")
    assert 'simulated with pacing = "fq" on its sender.' in said("--pacing", "fq")
    assert "Its senders cannot pace as simulated" in said("--pacing", "quic")
    for none in (said(), said("--pacing", "none")):
        assert "No host paces: only controllers that pace themselves" in none
        assert "tc qdisc" not in none


def test_pacing_changes_the_runs() -> None:
    def used(pacing: str | None) -> float:
        done = package.compare(
            ["reno"],
            rate="20 Mbit/s",
            rtt="40 ms",
            buffer="20 packets",
            duration="10 s",
            seeds=1,
            profile="linux",
            pacing=pacing,
        )
        rows: Any = done.rows
        return float(rows[0]["alone"]["utilization"])

    each = {pacing: used(pacing) for pacing in (None, "none", "fq", "quic")}
    assert each[None] == each["none"]
    assert len(set(each.values())) == 3


def test_only_stationary_cases_are_ranked_and_others_get_an_estimated_duration() -> None:
    # A window that never grows loses nothing.
    done = package.compare(
        ["reno", "cubic", Fixed],
        rate="10 Mbit/s",
        rtt="20 ms",
        buffer="40 ms",
        budget="1 s",
    )
    short = [row["controller"] for row in done.rows if not row["alone"]["stationary"]]
    assert short == ["fixed"]
    first, _, last = done.answer.partition(" Too short to say")
    assert "fixed" not in first
    assert "reno" in first
    assert "cubic" in first
    assert "fixed (no cycle yet)" in last


def test_controllers_that_probe_without_losses_are_ranked_after_20_cycles() -> None:
    # The cycle of bbr3 is 5 s: 20 are measured in 125 s, of which a fifth is not measured. Nothing
    # of it or of vegas is lost in a buffer of a second.
    done = package.compare(["bbr3", "vegas"], rate="2 Mbit/s", rtt="20ms,40ms", buffer="1 s")
    assert done.stationary
    assert 125 <= done.duration_s < 160
    rows: Any = done.rows
    for row in rows:
        assert row["alone"]["least_cycles"] >= 20
        assert row["alone"]["stationary_share"] == 1
        assert all(flow["loss_rate"]["mean"] == 0 for flow in row["alone"]["flows"])
    assert "Cannot say" not in done.answer
    assert "not ranked" not in done.answer
    short = package.compare(
        ["bbr3"], rate="2 Mbit/s", rtt="20 ms", buffer="1 s", duration="50 s", seeds=2
    )
    # 40 s are 8 cycles.
    row = short.rows[0]["alone"]
    assert (row["least_cycles"], row["stationary"]) == (8, False)
    assert row["wanted_duration_s"] == pytest.approx(50 * 1.25 * 20 / 8)


def test_the_duration_wanted_follows_from_the_cycles_so_far() -> None:
    # A fifth of any run is not measured, so 5 cycles in 10 s are 20 in 40 s; a quarter is
    # added. 200 round trips of 100 ms are measured in 25 s.
    def after(seconds: float, cycles: float, rtt: str) -> dict[str, object]:
        question = read_question(
            ["reno"], rate="1 Mbit/s", rtt=rtt, buffer="9 ms", size="1 TB", against=None
        )
        done = Done(
            measures={}, duration_s=seconds, warmup_s=0, packets=0, cpu_s=0, stationary=False
        )
        return settled(question, cycles, done)

    assert after(10, 5, "20 ms") == {"stationary": False, "wanted_duration_s": 50}
    assert after(10, 0, "20 ms") == {"stationary": False, "wanted_duration_s": None}
    assert after(10, 20, "20 ms") == {"stationary": True, "wanted_duration_s": None}
    assert after(10, 90, "100 ms") == {"stationary": False, "wanted_duration_s": 25}
    assert after(25, 90, "100 ms") == {"stationary": True, "wanted_duration_s": None}


def test_a_bound_too_low_for_any_run_is_reported() -> None:
    with pytest.raises(package.ScenarioError, match=r"too soon for a round-trip time of 0\.2 s"):
        package.compare(["reno"], rate="1 Gbit/s", rtt="200 ms", buffer="1 bdp", budget="1 s")


def test_the_same_question_has_the_same_answer() -> None:
    def ask() -> list[object]:
        done = package.compare(["fhstcp"], rate="5 Mbit/s", rtt=["20 ms"], buffer="20 packets")
        return list(done.rows)

    assert ask() == ask()


def test_all_mistakes_are_reported_at_once(fairhaul: Fairhaul) -> None:
    wrong = ("--rate", "622", "--rtt", "80ms,1400", "--buffer", "20m", "--size", "bulk")
    names = ("fhstcp:d=3,c", "renno", "reno", "reno")
    done = fairhaul("compare", *names, *wrong, "--against", "0xhstcp")
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        *("fhstcp:d=3,c", "fhstcp:d=3,c", "renno", "reno"),
        *("--rate 622", "--rtt 1400", "--buffer 20m", "--size bulk"),
        *("--against 0xhstcp", "--against 0xhstcp"),
    ]
    assert 'did you mean "reno"?' in lines[2]
    assert 'did you mean "highspeed"?' in lines[-1]


@pytest.mark.parametrize(
    ("given", "way_out"),
    [
        (("--rate", "622"), '"622" has no unit; a rate takes one of bit/s, kbit/s'),
        (("--rate", "622Mbti/s"), 'did you mean "622 Mbit/s"?'),
        (("cubic,bbr3",), "separate controllers by spaces: cubic bbr3"),
        (("--rate", "622Mbits"), 'did you mean "622 Mbit/s"?'),
        (("--rate", "fast"), '"fast" is not a rate; wanted the rate of the'),
        (("--rtt", "80"), "s, min, h; for example 80ms\n"),
        (("--rtt", "80msec"), 'did you mean "80 ms"?'),
        (("--buffer", "20"), '"20" is not a capacity; wanted the buffer of the'),
        (("--buffer", "100 paket"), 'did you mean "100 packets"?'),
        (("--size", "1"), "; for example 1TB"),
        (("--against", "4xrenno"), 'did you mean "reno"?'),
        (("--against", "4xxcp"), "needs routers that assign its rate"),
        (("--pacing", "fqq"), 'did you mean "fq"?'),
        (("--pacing", "fast"), 'unknown pacing "fast"'),
    ],
)
def test_each_mistake_gets_a_correction(
    given: tuple[str, str], way_out: str, fairhaul: Fairhaul
) -> None:
    done = fairhaul("compare", "reno", *PATH, *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert way_out in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_option_is_reported_with_an_example(fairhaul: Fairhaul) -> None:
    done = fairhaul("compare", "reno")
    assert done.returncode == 2
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == [
        *("--rate", "--rtt", "--buffer"),
    ]
    assert "622Mbit/s" in done.stderr


def test_from_python_mistakes_are_one_error() -> None:
    with pytest.raises(package.ScenarioError) as caught:
        package.compare([], rate="1 Gbit/s", rtt=[], buffer="1 bdp", against="", seeds=1)
    assert [line.partition(":")[0] for line in caught.value.args] == ["CC", "rtt", "against "]
    with pytest.raises(package.ScenarioError, match="at least one is required"):
        package.compare(["reno"], rate="1 Gbit/s", rtt="80 ms", buffer="1 bdp", seeds=0)


def test_one_round_trip_needs_no_index(fairhaul: Fairhaul) -> None:
    path = ("--rate", "5Mbit/s", "--rtt", "20ms", "--buffer", "1bdp")
    done = fairhaul("compare", "reno", *path, "--against", "2xreno")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Jain" not in done.stdout
    assert "reno harms 2 reno flows: harm 0.00." in " ".join(done.stdout.split())


def test_a_controller_carries_parameters() -> None:
    asked = read_question(
        ["fhstcp:c=20,rtt=minimum"],
        rate="1 Gbit/s",
        rtt="80 ms",
        buffer="1 bdp",
        size="1 TB",
        against="3 x fhstcp:blocks=false",
    )
    kind = {"kind": "fhstcp", "c": 20, "rtt": "minimum"}
    assert asked.controllers == {"fhstcp:c=20,rtt=minimum": Transport(controller=kind)}
    assert asked.others is not None
    assert asked.others.count == 3
    others = Transport(controller={"kind": "fhstcp", "blocks": False})
    assert asked.others.transport == others
    assert (asked.rate_bps, asked.size_bytes) == (10**9, 10**12)


def test_a_number_in_front_is_parallel_tcp() -> None:
    done = package.compare(
        ["reno", "4xreno"],
        rate="20 Mbit/s",
        rtt="20ms,40ms",
        buffer="20 ms",
        against="2x2xreno",
        seeds=1,
    )
    assert done.question.controllers["4xreno"] == Transport(
        controller={"kind": "reno"}, connections=4
    )
    assert done.question.others is not None
    assert done.question.others.count == 2
    assert done.question.others.transport.connections == 2
    # A transfer is one flow, and one row, however many connections it has.
    rows: Any = done.rows
    one, four = (row["beside"] for row in rows)
    assert len(one["flows"]) == len(four["flows"]) == 2
    # 2 of 6 connections have about a third, 8 of 12 about two thirds.
    assert 0.2 < one["share"] < 0.45
    assert 0.55 < four["share"] < 0.8
    assert four["harm"] > 0.3
    with pytest.raises(package.ScenarioError, match="from 1 to 64 connections"):
        package.compare(["65xreno"], rate="20 Mbit/s", rtt="20ms", buffer="20 ms")


def test_harm_is_what_is_missing_over_what_is_usual() -> None:
    assert harm(8.0, 2.0) == 0.75
    assert harm(8.0, 10.0) == -0.25
    assert harm(0.0, 0.0) is None


def test_durations_and_sizes_are_written_in_large_units() -> None:
    assert [rough_duration_text(s) for s in (0.8, 90, 8000, 300_000)] == [
        "0.8 s",
        "1.5 min",
        "2.2 h",
        "3.5 d",
    ]
    assert [duration_text(s) for s in (0.8333, 59.94, 60, 3725, 2 * 86_400 + 7200)] == [
        *("0.833 s", "59.9 s", "1 min", "1 h 2 min", "2 d 2 h"),
    ]
    # What has only begun, and what has ended, is not estimated.
    parts = (0.0, 0.01, 0.25, 1.0)
    assert [left_text(30.0, part) for part in parts] == ["", "", ", about 1.5 min left", ""]
    assert [size_text(b) for b in (10**12, 2_500_000, 999)] == ["1 TB", "2.5 MB", "999 B"]

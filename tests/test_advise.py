"""Advice: what is read of a path, the tournament, and the sentences and commands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import fairhaul
from fairhaul import cli
from fairhaul.host.buffers import DEFAULT_SEND_BYTES, raised, send_limit_bytes
from fairhaul.host.deployable import Way, pacing_command
from fairhaul.jobs.values import Running
from fairhaul.statistics.estimate import estimate
from fairhaul.studies import advice
from fairhaul.studies.advice import words
from fairhaul.studies.advice.commands import buffer_bytes, commands
from fairhaul.studies.advice.hosts import (
    KNOBS,
    NOW,
    Candidate,
    Change,
    Choices,
    Hosts,
    choices_of,
    name_of,
)
from fairhaul.studies.advice.measured import completion_s
from fairhaul.studies.advice.path import Known
from fairhaul.studies.advice.results import Advice, Entry
from fairhaul.studies.advice.runs import REFERENCE, Rounds, Run
from fairhaul.studies.advice.sensitivity import sensitivity
from fairhaul.studies.advice.tournament import play, recommended
from fairhaul.studies.comparison.question import Question
from fairhaul.studies.explanation.observed import observed
from tests.captures import FRAME, Transfer, losing, pcap, policer
from tests.kernel_host import needs_ports
from tests.test_explain import IPERF3
from tests.test_recording import flow, look, recorded

SS = """
ESTAB 0 4380 10.0.0.1:5001 10.0.0.2:44012
     cubic wscale:7,7 rto:281 rtt:80.912/0.4 mss:1448 cwnd:5512 ssthresh:3000 bytes_sent:90000000
     data_segs_out:60000 send 789Mbps delivery_rate 712.4Mbps busy:3s retrans:0/12 minrtt:80.02
ESTAB 0 0 10.0.0.1:5002 10.0.0.2:44013
     cubic rtt:81.5/0.7 data_segs_out:400 delivery_rate 96.1Kbps retrans:0/8 minrtt:80.5
ESTAB 0 0 10.0.0.1:ssh 192.0.2.9:50000
     cubic rtt:1.5/0.7 data_segs_out:300 delivery_rate 96.1Mbps minrtt:0.5
"""
PATH = {"rate": "50 Mbit/s", "rtt": "20 ms", "size": "10 GB", "budget": "2 s"}
# For what does not depend on the goodput of anything.
QUICK = {**PATH, "budget": "500 ms"}


@pytest.fixture(autouse=True)
def default_send_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hosts are those of Linux as it is installed, whatever this one has."""
    monkeypatch.setattr(advice, "send_limit_bytes", lambda: DEFAULT_SEND_BYTES)


def advised(
    question: Question,
    known: Known,
    choices: Choices,
    most_harm: float = 1.0,
    running: Running | None = None,
) -> Advice:
    """Give the advice for a host that has none of the controllers."""
    return play(question, known, choices, running or Running(), most_harm=most_harm, ways={})


@cache
def quick() -> tuple[Question, Advice]:
    """Give a question and its advice, for what does not depend on the candidates."""
    question, known, choices = advice.read_path(["4xcubic", "fhstcp"], **QUICK)  # type: ignore[arg-type]
    return question, advised(question, known, choices)


def with_cycles(done: Advice, events: Sequence[int]) -> Advice:
    """Give an advice whose runs have had a number of cycles, by setting."""
    entries = [
        replace(
            entry,
            runs=[replace(r, cycles=n) for r, n in zip(entry.runs, events, strict=True)],
        )
        for entry in done.entries
    ]
    return replace(done, entries=entries)


def test_connections_show_the_rate_together_and_the_round_trip_time() -> None:
    found = observed(SS)
    # The second one has sent less than a hundredth of the first, and controls it.
    assert [of.rtt_ms for of in found.connections] == [80.02]
    several = observed(SS.replace("data_segs_out:400 ", "data_segs_out:40000 "))
    assert several.rate_bps == pytest.approx(712.4e6 + 96.1e3)
    assert several.others == ["192.0.2.9"]
    assert several.text() == (
        "Read from 2 connections to 10.0.0.2: 712 Mbit/s together, a round-trip time of 80.02 ms. "
        "Not counted: connections to 192.0.2.9. 0.02 % of the segments were retransmitted; that is "
        "not used as random loss, because the connections may have filled the buffer."
    )
    question, known, choices = advice.read_path(["cubic"], SS, rate="1 Gbit/s")
    assert question.rate_bps == 1_000_000_000
    assert question.rtts_s == (0.08002,)
    assert known.loss is None, "what its own overshoot costs is not random"
    assert choices.now.text() == "cubic over one connection, Linux's default buffers"
    _, _, choices = advice.read_path(["cubic"], SS, rate="1 Gbit/s", now="4xbbr", buffers="8MiB")
    assert (name_of(choices.now.controller), choices.now.streams) == ("bbr", 4)
    # The kernel doubles what a program asks for, and about two thirds of the other one are payload.
    assert choices.now.send_buffer == f"{4 << 20} B"
    assert choices.now.receive_buffer == f"{171 / 256 * (8 << 20):.0f} B"
    with pytest.raises(fairhaul.ScenarioError, match="no round-trip time"):
        observed("nothing of the kind")


def test_the_json_of_iperf3_and_a_recording_show_what_is_sent_now(tmp_path: Path) -> None:
    text = json.dumps(IPERF3)
    with pytest.raises(
        fairhaul.ScenarioError, match=r"100 Mbit/s together\) is not that of the path"
    ):
        advice.read_path(["cubic"], text)
    question, known, _ = advice.read_path(["cubic"], text, rate="1 Gbit/s")
    assert (question.rate_bps, question.rtts_s) == (1e9, (0.04,))
    assert "one connection to 192.0.2.2" in str(known.observed and known.observed.text())
    looks = [look(second, flow(acked_bytes=10**7 * second, busy_s=second)) for second in range(3)]
    question, known, _ = advice.read_path(
        ["cubic"], recorded(tmp_path / "rows", looks), rate="1Gbit/s"
    )
    assert question.rtts_s == (0.04,)


def test_the_rates_of_limited_connections_are_reported_though_they_are_not_of_the_path() -> None:
    line = "\t cubic rtt:3.6/1.1 {sent} data_segs_out:{n} delivery_rate 1Gbps {word} minrtt:0.2\n"
    # 45 GB in 400 s are 0.9 Gbit/s, 60 GB are 1.2 Gbit/s.
    sent = ("bytes_acked:45000000000 busy:400000ms", "bytes_acked:60000000000 busy:400000ms")
    limited = (f"rwnd_limited:1ms({part}%)" for part in (99.7, 16.9))
    lines = [line.format(sent=of, n=5000, word=next(limited)) for of in sent]
    refusal = (
        "the receive window limits 2 connections for 16.9 to 99.7 % of the time; .* "
        r"\(2 Gbit/s together now, 2.1 Gbit/s on average while they had data to send\) is not"
    )
    with pytest.raises(fairhaul.ScenarioError, match=refusal):
        advice.read_path(["cubic"], "".join(lines))
    found = observed("".join([*lines, line.format(sent="", n=4000, word="")]))
    assert "limits 2 of 3 connections" in found.limited_text()
    # What two connections had on average, a path has at least.
    assert observed("".join(line.format(sent=of, n=5000, word="") for of in sent)).rate_bps == 2.1e9


@pytest.mark.parametrize(
    ("word", "limit"),
    [
        ("rwnd_limited:59310ms(98.7%)", "receive window"),
        ("sndbuf_limited:58200ms(96.9%)", "send buffer"),
        ("app_limited", "application"),
        ("rwnd_limited:96ms(2.4%)", None),
    ],
)
def test_a_rate_that_something_else_limits_is_not_that_of_the_path(
    word: str, limit: str | None
) -> None:
    text = f"cubic rtt:40.2/0.1 mss:8948 data_segs_out:5060000 delivery_rate 6.01Gbps {word}"
    found = observed(f"ESTAB 0 0 10.0.0.1:5001 10.0.0.2:44012\n\t {text} minrtt:40.01")
    assert found.limit == limit
    assert found.rate_bps == (None if limit else 6.01e9)
    if limit is not None:
        with pytest.raises(fairhaul.ScenarioError, match=f"the {limit} limits.*give --rate"):
            advice.read_path(["cubic"], f"\t {text}")
        _, known, _ = advice.read_path(["cubic"], f"\t {text}", rate="10 Gbit/s")
        assert known.observed is not None
        assert known.observed.limit == limit


def test_a_capture_gives_the_path_and_says_what_limits(tmp_path: Path) -> None:
    file = tmp_path / "transfer.pcap"
    file.write_bytes(pcap([Transfer(packets=4000, window=60).run(policer(4e6, 60_000))]))
    question, known, _ = advice.read_path(["cubic"], file)
    assert question.rate_bps == pytest.approx(4e6, rel=0.01)
    assert question.rtts_s[0] == pytest.approx(0.05, rel=0.02)
    assert known.policer is not None
    assert int(known.policer.removesuffix(" B")) == pytest.approx(60_000, abs=FRAME)
    assert known.observed is not None
    assert known.observed.first().startswith("A policer of 4 Mbit/s (Ethernet frames) with a burst")
    assert known.observed.text().startswith("Read from one connection to ")
    # The bucket fits exactly, so that nothing else passed it.
    assert "no other flows behind it" in known.observed.text()
    assert known.cross == 0
    assert "no competing flows" in known.text()
    assert "flow.cross.count" not in known.sweep()
    _, _, choices = advice.read_path(["maxrate"], file)
    assert [of.name for of in choices.stock] == ["fq maxrate 95%", "fq maxrate 50%"]
    assert advice.read_path(["cubic"], file, cross="2xcubic")[1].cross == 2
    # What is given has priority.
    question, known, _ = advice.read_path(["cubic"], file, rate="10 Mbit/s", buffer="20ms")
    assert (question.rate_bps, known.policer, known.buffer) == (10_000_000, None, "20ms")
    small = Transfer(packets=2000, window=40, announced=57_920, scale=0)
    file.write_bytes(pcap([small.run(losing(lambda _: False))]))
    with pytest.raises(fairhaul.ScenarioError, match=r"receiver's window .* give --rate$"):
        advice.read_path(["cubic"], file)
    file.write_text(SS)
    assert advice.read_path(["cubic"], file) == advice.read_path(["cubic"], SS)


def test_what_the_buffers_of_this_host_allow_stands_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    question, done = quick()
    far = replace(question, rate_bps=10_000_000_000, rtts_s=(0.1,))
    monkeypatch.setattr(words, "send_limit_bytes", lambda: 4 << 20)
    answer = replace(done, question=far).outcome().answer
    assert answer.startswith(
        "As the hosts are set now, one connection gets at most 336 Mbit/s: net.ipv4.tcp_wmem of "
        "this host is 4.19 MB. "
    )
    assert "As the hosts are set" not in done.outcome().answer, "125 kB fill this path"
    given = replace(done.now.candidate.hosts, send_buffer="500000 B")
    small = replace(done.now, candidate=replace(done.now.candidate, hosts=given))
    answer = replace(done, question=far, now=small).outcome().answer
    assert "at most 80 Mbit/s: net.ipv4.tcp_wmem of the sender is 1 MB." in answer
    assert send_limit_bytes(tmp_path) is None


def test_what_is_not_known_is_drawn() -> None:
    nothing = Known(buffer=None, cross=None)
    assert nothing.sweep()["bottleneck.queue.capacity"]["from"] == "0.05 bdp"
    assert nothing.text() == (
        "buffer 0.05 bdp to 2 bdp; 1, 2, 4, 8 competing cubic flows; probability of random loss "
        "0, 1e-07, 1e-06, 1e-05"
    )
    known = Known(buffer="20ms", cross=4, cross_kind="reno", loss=3e-6)
    assert known.sweep() == {
        "bottleneck.queue.capacity": {"from": "10 ms", "to": "40 ms", "scale": "log"},
        "flow.cross.count": {"any": [2, 4, 8]},
        "bottleneck.loss": {"from": 1e-6, "to": 9e-6, "scale": "log"},
    }
    assert Known(buffer="3 packets", cross=1).sweep()["bottleneck.queue.capacity"]["from"] == (
        "2 packets"
    )


def test_a_controller_that_takes_everything_is_not_recommended(tmp_path: Path) -> None:
    question, known, choices = advice.read_path(["scalable", "reno", "bic"], **PATH)  # type: ignore[arg-type]
    kept = Running(out=tmp_path / "runs")
    strict = advised(question, known, choices, 0.15, kept)
    assert strict.winner.allowed
    assert strict.winner.harm.mean <= 0.15
    free = advised(question, known, choices, 1.0, kept)
    assert free.winner.goodput.mean >= strict.winner.goodput.mean
    assert all(entry.allowed for entry in free.entries)
    assert free.winner.log_goodput >= free.now.log_goodput
    assert len(free.settings) == 12
    again = advised(question, known, choices)
    assert again.to_dict() == free.to_dict(), "the same question has the same answer"


def entry(name: str, goodputs: Sequence[float], *, changes: int = 1, port: bool = False) -> Entry:
    runs = [
        Run(
            completion_s=8e9 / value,
            goodput_bps=value,
            others_bps=1.0,
            retransmitted=0.0,
            cycles=20,
            limits={"congestion window": 1.0},
            is_over=True,
        )
        for value in goodputs
    ]
    return Entry(
        candidate=Candidate(
            hosts=Hosts(controller={"kind": "cubic"}),
            changes=tuple(Change(name=name, to={}) for _ in range(changes)),
        ),
        runs=runs,
        goodput=estimate(goodputs),
        harm=estimate([0.0] * len(runs)),
        best=0,
        allowed=True,
        is_port=port,
    )


def test_each_further_change_must_be_worth_it_beyond_chance() -> None:
    noise = (1.0, 1.02, 0.98, 1.01, 0.99, 1.0)
    now = entry(NOW, [100.0] * 6, changes=0)

    def like(name: str, factor: float, *, changes: int = 1, port: bool = False) -> Entry:
        return entry(name, [100 * factor * each for each in noise], changes=changes, port=port)

    assert recommended([now, like("fq", 1.04)]) is now, "4 % are less than the margin"
    far = entry("htcp", [300.0, 300.0, 40.0, 300.0, 50.0, 300.0])
    assert recommended([now, far]) is now, "three times as fast, or half, may be chance"
    bbr, both = like("bbr", 1.5), like("bbr + fq", 1.55, changes=2)
    assert recommended([now, bbr, both]) is bbr, "the second change adds 3 %"
    port = like("fhstcp", 1.56, port=True)
    assert recommended([now, bbr, port]) is bbr, "so does the port"
    better = like("fhstcp", 1.8, port=True)
    assert recommended([now, bbr, both, better]) is better
    # What has no proof against no change is a rival of a port all the same.
    assert recommended([now, far, like("fhstcp", 1.8, port=True)]) is now
    harmful = replace(now, allowed=False)
    slow = like("reno", 0.5)
    assert recommended([harmful, slow]) is slow, "what harms others is replaced in any case"
    least = replace(slow, allowed=False, harm=estimate([-0.1] * 6))
    assert recommended([harmful, least]) is least


def test_single_changes_of_two_settings_are_in_the_final(monkeypatch: pytest.MonkeyPatch) -> None:
    question, known, choices = advice.read_path(["fq", "streams"], **QUICK)  # type: ignore[arg-type]
    looks: list[list[str]] = []

    def played(_: Rounds, candidates: Sequence[Candidate], *__: object) -> dict[str, list[Run]]:
        looks.append([of.name for of in candidates])
        # The more streams, the faster; every pair is faster than that.
        speeds = {of.name: 1e6 * of.hosts.streams * 99 ** len(of.changes) for of in candidates}
        runs = {name: list(entry(name, [bps] * 12).runs) for name, bps in speeds.items()}
        return {REFERENCE.name: list(entry("reference", [1e6] * 12).runs), **runs}

    monkeypatch.setattr(Rounds, "play", played)
    done = advised(question, known, choices)
    assert looks == [
        [NOW, "fq", "2 streams", "4 streams", "8 streams", "16 streams"],
        ["16 streams + fq"],
        [NOW, "16 streams", "fq", "16 streams + fq"],
    ]
    assert done.winner.name == "16 streams + fq"


def test_a_transfer_longer_than_its_run_goes_on_at_the_rate_of_the_last_two_thirds() -> None:
    # 100 bytes a second for a second, then 10 for two.
    figures = {"until_s": [1.0, 2.0, 3.0], "received_bytes": [100.0, 110.0, 120.0]}
    assert completion_s(figures, 50) == pytest.approx(0.5)
    assert completion_s(figures, 115) == pytest.approx(2.5)
    assert completion_s(figures, 220) == pytest.approx(3 + 100 / 10)


def test_completion_times_have_a_median_and_a_spread() -> None:
    of = entry("cubic", [8e9 / seconds for seconds in range(1, 12)])
    assert of.median_s == pytest.approx(6)
    assert (of.completion_s(0.1), of.completion_s(0.9)) == pytest.approx((2, 10))


def test_the_knobs_are_changes_of_what_the_hosts_are_now() -> None:
    now = Hosts(controller={"kind": "cubic"}, streams=4, send_buffer="auto", receive_buffer="auto")
    found = choices_of(now, {}, {}, KNOBS)
    changed = {
        change.name: Candidate(hosts=now).changed(change).hosts.keys(1e9) for change in found.stock
    }
    assert list(changed) == [
        *("larger buffers", "fq", "fq maxrate 90%", "fq maxrate 50%"),
        *("one stream", "2 streams", "8 streams", "16 streams", "packets of 9000 B"),
    ]
    assert changed["larger buffers"]["send_buffer"] == "unlimited"
    assert changed["fq maxrate 90%"]["max_pacing_rate"] == "225000000 bit/s", "of each of four"
    assert changed["16 streams"]["connections"] == 16
    assert "connections" not in changed["one stream"]
    assert changed["packets of 9000 B"]["packet"] == "9000 B"
    assert found.ports == []


def test_large_packets_leave_the_bytes_of_the_buffer_as_they_are() -> None:
    question, known, choices = advice.read_path(["packets"], **QUICK)  # type: ignore[arg-type]
    rounds = Rounds(question, known, Running())
    (large,) = choices.stock
    now = Candidate(hosts=choices.now)
    capacities = [
        [of.described["links"][0]["capacity_s"] for of in rounds.scenarios(candidate)]
        for candidate in (now, now.changed(large))
    ]
    # The smallest one holds one of the large packets, which take 1.44 ms.
    assert capacities[1] == pytest.approx([max(of or 0, 0.00144) for of in capacities[0]], abs=1e-6)
    assert len(set(capacities[0])) == 12


def test_buffers_that_hold_the_path_twice_are_not_raised() -> None:
    alone = {**QUICK, "cross": "1xcubic", "buffer": "1bdp", "loss": 0.0}
    question, known, choices = advice.read_path(["buffers"], **alone)  # type: ignore[arg-type]
    done = advised(question, known, choices)
    assert [of.name for of in done.entries] == [NOW]
    assert done.winner is done.now
    found = with_cycles(done, [20] * 12).outcome().answer
    assert "Change nothing: no change makes it 5 % faster beyond chance." in found
    small = replace(choices, now=replace(choices.now, send_buffer="10000 B"))
    done = advised(question, known, small)
    # 20 kB of memory, half of it records, in each round trip of 20 ms or more.
    assert done.now.goodput.mean < 8e6
    assert max(done.now.limits, key=done.now.limits.__getitem__) == "send buffer"
    assert "the send buffer keeps it back for" in done.outcome().answer
    assert done.winner.name == "larger buffers"
    assert "buffers" in commands(done)[0][0]


def test_when_the_answer_changes_is_a_rule_that_separates() -> None:
    settings = [
        {
            "bottleneck.queue.capacity": f"{buffer} bdp",
            "flow.cross.count": count,
            "bottleneck.loss": 0.0,
        }
        for buffer, count in ((0.1, 4), (0.2, 1), (0.5, 2), (1.0, 1), (2.0, 4), (1.5, 2))
    ]
    usual = entry("cubic", [100.0] * 6)
    shallow = entry("bbr", [150.0, 150.0, 50.0, 50.0, 50.0, 50.0])
    assert sensitivity(usual, [usual, shallow], settings) == [
        "bbr is faster than cubic in 2 of 6 settings: with a buffer below 0.5 bdp, a rule that is "
        "right for 6 of the 6 settings."
    ]
    odd = entry("htcp", [150.0, 50.0, 50.0, 150.0, 50.0, 150.0])
    assert "no single property" in sensitivity(usual, [odd], settings)[0]
    assert sensitivity(usual, [entry("reno", [104.0] * 6)], settings) == [], "4 % is no difference"


def test_commands_fit_the_winner_and_the_host() -> None:
    _, done = quick()
    (port,) = (of for of in done.entries if of.name == "fhstcp")
    done = replace(done, winner=port)
    of_kernel = dict(commands(replace(done, ways={"fhstcp": Way.KERNEL})))
    assert of_kernel["a test with iperf3"] == "iperf3 -c FAR -C fhstcp -t 60"
    nowhere = commands(done)
    assert nowhere == [("on the sender: fhstcp is not available on this host", "")]
    assert commands(replace(done, winner=done.now)) == [], "no change has no commands"
    (several,) = (of for of in done.entries if of.name == "4xcubic")
    assert commands(replace(done, winner=several)) == [
        ("4 connections, here with iperf3", "iperf3 -c FAR -C cubic -P 4 -t 60")
    ]
    # 50 Mbit/s for 20 ms are 125 kB, and up to 250 kB wait. Four times 375 kB are 1.43 MiB, and
    # four times what is under way alone are less than one.
    assert 250_000 < done.path_bytes <= 375_000 + 1500
    assert buffer_bytes(done) == 2 << 20
    far = replace(done, path_bytes=625e6)
    assert buffer_bytes(far) == 65535 << 14, "no window is larger"
    larger = replace(port.candidate.hosts, send_buffer="unlimited")
    raised_too = replace(port, candidate=replace(port.candidate, hosts=larger))
    assert "the largest window of TCP" in commands(replace(far, winner=raised_too))[0][0]


def test_no_command_stands_under_runs_that_are_too_short() -> None:
    done = quick()[1]
    short = with_cycles(done, [20] * 10 + [4] * 2)
    short = replace(short, duration_s=1.8)
    assert (short.short, short.is_long_enough) == (2, False)
    assert short.wanted_budget_s == pytest.approx(2.5), "20 cycles take five times as long"
    found = short.outcome()
    assert (
        "Cannot say yet: runs of 1.8 s are too short for the long term in 2 of 12 settings; about "
        "--budget 1min would do. So far "
    ) in found.answer
    assert not [section for section in found.evidence() if section.commands]
    # 712 Mbit/s are more than what a path of 50 Mbit/s gives.
    seen = replace(short, known=replace(done.known, observed=observed(SS)))
    first, *others = seen.outcome().evidence()
    assert any(
        text.startswith("The answer is less than these connections") for text in first.points
    )
    (read,) = (text for other in others for text in other.text if text.startswith("Read from"))
    assert read.startswith("Read from one connection to 10.0.0.2: 712 Mbit/s together, ")


def test_what_was_read_is_printed_once_before_the_runs_and_stands_on_the_page() -> None:
    done = quick()[1]
    done = replace(done, known=replace(done.known, observed=observed(SS)))
    sections = done.outcome().evidence()
    read = [of for of in sections if any(text.startswith("Read from") for text in of.text)]
    assert [of.detailed for of in read] == [True]


def test_limits_of_buffers_are_only_raised(tmp_path: Path) -> None:
    for name, values in (("core/rmem_max", "212992"), ("ipv4/tcp_rmem", "4096\t131072\t6291456")):
        (tmp_path / "net" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "net" / name).write_text(values)
    few = raised(1 << 20, tmp_path)
    assert few.command == "sudo sysctl -w net.core.rmem_max=1048576", "6 MiB are enough"
    assert few.text() == "net.core.rmem_max = 212992"
    many = raised(64 << 20, tmp_path)
    assert many.after["net.ipv4.tcp_rmem"] == "4096 131072 67108864"
    assert "net.ipv4.tcp_rmem='4096 131072 67108864'" in many.command
    assert raised(1, tmp_path).command == ""
    assert raised(1, tmp_path / "elsewhere").before == {}


def test_the_scenario_of_every_candidate_has_the_pacing_that_a_command_sets() -> None:
    question, known, choices = advice.read_path(
        ["fq", "maxrate", "4xreno", "bbr"],
        **QUICK,  # type: ignore[arg-type]
    )
    rounds = Rounds(question, known, Running())
    now = Candidate(hosts=choices.now)
    done = quick()[1]
    for candidate in (now, *(now.changed(change) for change in (*choices.stock, *choices.ports))):
        chosen = replace(done.now, candidate=candidate)
        printed = [text for _, text in commands(replace(done, winner=chosen))]
        paced = [text.split(" root ")[1] for text in printed if " qdisc " in text]
        for scenario in rounds.scenarios(candidate):
            flows = json.loads(scenario.describe())["flows"]
            own = [flow for flow in flows if flow["role"] == "measured"]
            assert len(own) == candidate.hosts.streams
            assert {flow.get("pacing") for flow in own} == {"fq" if paced else None}
            rates = {flow["max_pacing_rate_bps"] for flow in own}
            limits = [f"fq maxrate {rate // 1000}kbit" if rate else "fq" for rate in rates]
            assert not paced or limits == paced
            assert not any("pacing" in flow for flow in flows if flow["role"] != "measured")


def test_only_the_queue_fq_has_a_command() -> None:
    assert pacing_command("fq") == "tc qdisc replace dev DEVICE root fq"
    limited = "tc qdisc replace dev DEVICE root fq maxrate 450000kbit"
    assert pacing_command("fq", 450_000_000) == limited
    with pytest.raises(fairhaul.Refused, match='does not pace as pacing = "quic"'):
        pacing_command("quic")


def test_harm_is_compared_with_a_flow_of_today() -> None:
    question, known, choices = advice.read_path(["fq"], **QUICK)  # type: ignore[arg-type]
    (paced,) = (Candidate(hosts=choices.now).changed(change) for change in choices.stock)
    played = Rounds(question, known, Running()).play([paced], 4, 1.0)
    same = replace(REFERENCE.hosts, pacing="fq")
    again = Candidate(hosts=same, changes=(Change(name="again", to={}),))
    alone = Rounds(question, known, Running()).play([again], 4, 1.0)
    assert played[REFERENCE.name] == alone[REFERENCE.name]
    assert played[REFERENCE.name] != alone["again"], "the reference is not paced"
    _, done = quick()
    assert words.simulated(done).startswith("Every candidate has the hosts as they are now, ex")
    assert done.today.mean > 0


def test_competing_flows_have_the_parameters_of_the_question() -> None:
    question, known, choices = advice.read_path(["cubic"], cross="2x4xfhstcp:c=20", **QUICK)  # type: ignore[arg-type]
    rounds = Rounds(question, known, Running())
    described = json.loads(rounds.scenarios(Candidate(hosts=choices.now))[0].describe())
    others = [flow for flow in described["flows"] if flow["role"] == "background"]
    assert {flow["parameters"]["c"] for flow in others} == {20}
    assert len(others) % 4 == 0, "each of them has four connections"


@needs_ports
def test_the_commands_install_what_was_simulated() -> None:
    name = "2xfhstcp:c=20,eta_floor=false"
    question, known, choices = advice.read_path([name], **QUICK)  # type: ignore[arg-type]
    done = with_cycles(advised(question, known, choices), [20] * 12)
    (simulated,) = (of for of in done.entries if of.name == name)
    done = replace(done, winner=simulated)
    assert words.answer(done).startswith(f"Change to {name}: it then takes ")
    explained = dict(commands(replace(done, ways={"fhstcp": Way.PORT})))
    assert "or for all connections to the other site, 2 for each transfer" in explained
    printed = list(explained.values())
    assert "sudo fairhaul kernel install fhstcp --set c=20/s --set eta_floor=off" in printed
    assert "iperf3 -c FAR -C fh_fhstcp -P 2 -t 60" in printed


@needs_ports
def test_a_port_is_simulated_by_its_rule_and_a_module_by_the_kernels() -> None:
    def variant(way: Way, name: str = "bic") -> tuple[str, list[str]]:
        ways = {"bic": way}
        question, known, choices = advice.read_path([name], **QUICK, ways=ways)  # type: ignore[arg-type]
        done = advised(question, known, choices)
        (simulated,) = (of for of in done.entries if of.name == name)
        assert simulated.is_port == bool(choices.ports)
        done = replace(done, winner=simulated)
        scenario = Rounds(question, known, Running()).scenarios(simulated.candidate)[0]
        described = json.loads(scenario.describe())
        printed = [text for _, text in commands(replace(done, ways=ways))]
        return described["flows"][0]["parameters"]["variant"], printed

    rule, printed = variant(Way.PORT)
    assert rule == "paper"
    assert "sudo fairhaul kernel install bic" in printed
    rule, printed = variant(Way.KERNEL)
    assert rule == "linux"
    assert "iperf3 -c FAR -C bic -t 60" in printed
    # The module of the kernel has its own values.
    rule, printed = variant(Way.KERNEL, "bic:beta=0.2")
    assert rule == "paper"
    assert "sudo fairhaul kernel install bic --set beta=0.2" in printed
    assert "iperf3 -c FAR -C fh_bic -t 60" in printed


def test_candidates_are_what_the_host_can_use() -> None:
    ways = {"reno": Way.KERNEL, "bbr": Way.KERNEL, "fhstcp": Way.PORT}
    assert advice.usable(ways, every=False) == ["cubic", "reno", "bbr", "fhstcp"]
    assert advice.usable(ways, every=True) == list(advice.CANDIDATES)
    _, _, choices = advice.read_path(advice.usable(ways, every=False), **QUICK, ways=ways)  # type: ignore[arg-type]
    assert [change.name for change in choices.stock] == ["reno", "bbr"], "cubic is no change"
    assert [change.name for change in choices.ports] == ["fhstcp"]


def test_the_command_prints_advice_and_writes_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_path = {**PATH, "budget": "3 s", "size": "20 MB"}
    path = [x for key, of in of_path.items() for x in (f"--{key}", of)]
    path += ["--only", "fq", "--only", "reno", "--out", str(tmp_path)]
    assert cli.status_of(["advise", *path, "--report"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("As it is now (cubic over one connection, Linux's default buffers), ")
    assert "Change " in printed
    assert printed.endswith(f"Report: {tmp_path}/report.html\n")
    assert "Each run of the final lasts" in printed
    page = (tmp_path / "report.html").read_text()
    assert "When the answer would change" in page
    assert "Every candidate has the hosts as they are now" in page
    assert cli.status_of(["advise", *path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["values"]
    assert found["recommended"] in {NOW, "fq", "reno", "fq + reno", "reno + fq"}
    (now,) = (of for of in found["candidates"] if of["name"] == NOW)
    assert len(now["goodput_by_setting_bps"]) == 12
    times = now["completion_s"]
    assert times["p10"] < times["median"] < times["p90"]
    assert 0 < now["retransmitted"] < 1
    assert sum(now["limits"].values()) == pytest.approx(1.0)


def test_a_policer_drops_what_exceeds_the_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ["--rate", "20Mbit/s", "--rtt", "20ms", "--policer", "100kB", "--cross", "2xcubic"]
    budget = ["--only", "cubic", "--only", "reno", "--budget", "3s", "--out", str(tmp_path)]
    assert cli.status_of(["advise", *path, *budget, "--report", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["values"]
    buckets = [setting["bottleneck.policer.burst"] for setting in found["settings"]]
    sizes = [float(bucket.split()[0]) for bucket in buckets]
    assert all(bucket.endswith(" B") for bucket in buckets)
    assert 50_000 <= min(sizes) < max(sizes) <= 200_000
    # The flows get what the policer passes, not what the link could carry.
    (reno,) = (entry for entry in found["candidates"] if entry["name"] == "reno")
    assert 1e6 < reno["goodput_bps"]["mean"] < 20e6
    assert (tmp_path / "report.html").is_file()


def test_mistakes_of_a_path_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for options, message in (
        ([], "--rate: required"),
        (["--rate", "1Gbit/s", "--rtt", "80"], '--rtt 80: "80" has no unit'),
        (["--rate", "10Gbit/s", "--rtt", "80ms", "--budget", "1s"], "--budget 1s"),
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--now", "cubik"], "--now: "),
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--buffers", "8"], "--buffers 8: "),
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--cross", "4xcubik"], "--cross 4xcubik: "),
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--policer", "x"], '"x" is not a size; wanted the'),
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--policer", "1MB", "--buffer", "1ms"], "one of"),
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--only", "xcp"], "needs routers"),
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--loss", "2"], "--loss"),
    ):
        assert cli.status_of(["advise", *options]) == 2, options
        assert message in capsys.readouterr().err

"""Advice: what is read of a path, the tournament, and the sentences and commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import fairhaul
from fairhaul import advice, cli
from fairhaul.advice import words
from fairhaul.advice.path import Known, observed
from fairhaul.advice.tournament import Entry, Run, changes
from fairhaul.comparison.question import controller_of
from fairhaul.deployable import Way
from fairhaul.estimate import estimate
from tests.kernel_host import needs_ports

SS = """
ESTAB 0 4380 10.0.0.1:5001 10.0.0.2:44012
     cubic wscale:7,7 rto:281 rtt:80.912/0.4 mss:1448 cwnd:5512 ssthresh:3000 bytes_sent:90000000
     data_segs_out:60000 send 789Mbps delivery_rate 712.4Mbps busy:3s retrans:0/12 minrtt:80.02
ESTAB 0 0 10.0.0.1:5002 10.0.0.2:44013
     cubic rtt:81.5/0.7 data_segs_out:40000 delivery_rate 96.1Kbps retrans:0/8 minrtt:80.5
"""
PATH = {"rate": "50 Mbit/s", "rtt": "20 ms", "size": "10 GB", "budget": "20 s"}


def test_connections_show_rate_round_trip_and_loss() -> None:
    seen = observed(SS)
    assert (seen.rate, seen.rtt, seen.loss) == ("712400000 bit/s", "80.02 ms", 20 / 100_000)
    question, known = advice.read_path(["cubic"], SS, rate="1 Gbit/s")
    assert question.rate_bps == 1_000_000_000
    assert question.rtts_s == (0.08002,)
    assert known.loss == 2e-4
    with pytest.raises(fairhaul.ScenarioError, match="no round-trip time"):
        observed("nothing of the kind")


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


def test_a_controller_that_takes_everything_is_not_recommended() -> None:
    question, known = advice.read_path(["cubic", "scalable", "reno", "bic"], **PATH)  # type: ignore[arg-type]
    strict = advice.advise(question, known, most_harm=0.05)
    assert strict.winner.allowed
    assert strict.winner.harm.mean <= 0.05
    free = advice.advise(question, known, most_harm=1.0)
    assert free.winner.goodput.mean >= strict.winner.goodput.mean
    assert free.entries[0].name == free.winner.name, "without a limit the fastest wins"
    assert len(free.settings) == 12
    cubic = next(entry for entry in free.entries if entry.name == "cubic")
    assert cubic.harm.mean == 0, "it is its own reference"
    again = advice.advise(question, known, most_harm=1.0)
    assert again.to_dict() == free.to_dict(), "the same question has the same answer"


def entry(name: str, goodputs: list[float]) -> Entry:
    runs = [Run(goodput_bps=value, others_bps=1.0, loss_rate=0.0) for value in goodputs]
    return Entry(
        name=name,
        runs=runs,
        goodput=estimate(goodputs),
        harm=estimate([0.0] * len(runs)),
        best=0,
        allowed=True,
    )


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
    assert changes(usual, [usual, shallow], settings) == [
        "bbr is faster than cubic in 2 of 6 settings: with a buffer below 0.5 bdp, a rule that is "
        "right for 6 of the 6 settings."
    ]
    odd = entry("htcp", [150.0, 50.0, 50.0, 150.0, 50.0, 150.0])
    assert "no single property" in changes(usual, [odd], settings)[0]
    assert changes(usual, [entry("reno", [104.0] * 6)], settings) == [], "4 % is no difference"


def test_commands_fit_the_winner_and_the_host() -> None:
    question, known = advice.read_path(["cubic", "4xcubic", "fhstcp"], **PATH)  # type: ignore[arg-type]
    done = advice.advise(question, known, most_harm=1.0)
    kind = controller_of(done.winner.name)
    of_kernel = dict(words.commands(done, {kind: Way.KERNEL}))
    assert of_kernel["a test with iperf3"].startswith(f"iperf3 -c FAR -C {kind}")
    nowhere = words.commands(done, {})
    assert nowhere[-1] == (f"on the sender: {kind} is not available on this host", "")
    # 50 Mbit/s for 20 ms are 125 kB; four times that is less than a mebibyte.
    assert words.buffer_bytes(done) == 1 << 20


@needs_ports
def test_the_commands_install_what_was_simulated() -> None:
    name = "2xfhstcp:c=20,eta_floor=false"
    question, known = advice.read_path([name, "cubic"], **PATH)  # type: ignore[arg-type]
    done = advice.advise(question, known, most_harm=1.0)
    (simulated,) = (entry for entry in done.entries if entry.name == name)
    done = replace(done, winner=simulated)
    assert words.answer(done).startswith("Use fhstcp:c=20,eta_floor=false over 2 connections")
    commands = [command for _, command in words.commands(done, {"fhstcp": Way.PORT})]
    assert "sudo fairhaul kernel install fhstcp --set c=20/s --set eta_floor=off" in commands
    assert "iperf3 -c FAR -C fh_fhstcp -P 2 -t 60" in commands


def test_candidates_are_what_the_host_can_use() -> None:
    ways = {"reno": Way.KERNEL, "fhstcp": Way.PORT}
    names = ("cubic", "reno", "bbr3", "fhstcp")
    assert words.candidates(ways, False, names) == ["cubic", "reno", "fhstcp", "4xcubic"]
    assert words.candidates(ways, True, names) == [*names, "4xcubic"]


def test_the_command_prints_advice_and_writes_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = [item for key, value in PATH.items() for item in (f"--{key}", value)]
    only = ["--only", "cubic", "--only", "reno"]
    assert cli.status_of(["advise", *path, *only, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Use ")
    assert printed.endswith(f"Report: {tmp_path}/report.html\n")
    assert "sudo sysctl -w net.core.rmem_max=" in printed
    assert "Each run of the final lasts" in printed
    page = (tmp_path / "report.html").read_text()
    assert "When the answer would change" in page
    assert cli.status_of(["advise", *path, *only, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recommended"] in {"cubic", "reno"}
    assert len(found["candidates"][0]["goodput_by_setting_bps"]) == 12


def test_a_policer_drops_what_exceeds_the_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ["--rate", "20Mbit/s", "--rtt", "20ms", "--policer", "100kB", "--cross", "2xcubic"]
    budget = ["--only", "cubic", "--only", "reno", "--budget", "10s", "--out", str(tmp_path)]
    assert cli.status_of(["advise", *path, *budget, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
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
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--cross", "4xcubik"], "--cross 4xcubik: "),
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--policer", "x"], "--policer x: wanted the size"),
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--policer", "1MB", "--buffer", "1ms"], "one of"),
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--only", "xcp"], "needs routers"),
        (["--rate", "1Gbit/s", "--rtt", "8ms", "--loss", "2"], "--loss"),
    ):
        assert cli.status_of(["advise", *options]) == 2, options
        assert message in capsys.readouterr().err

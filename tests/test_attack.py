"""Attacks: the box, the objectives, known weaknesses from a cold start, resuming, shrinking."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairhaul import cli
from fairhaul.jobs.values import Running
from fairhaul.runs.runs import Progress
from fairhaul.scenario import own
from fairhaul.scenario.profiles import TUNED
from fairhaul.scenario.read import ScenarioError, read_one
from fairhaul.scenario.transport import read_transport
from fairhaul.studies.attack import Attack, attack, kernel, read_question, words
from fairhaul.studies.attack.box import Range, read_box
from fairhaul.studies.attack.figures import _longest
from fairhaul.studies.attack.objectives import OBJECTIVES, SIMULATED
from fairhaul.studies.attack.place import Place
from fairhaul.studies.attack.place import keys as keys_of
from fairhaul.studies.attack.search import CELLS, Archive, spread
from fairhaul.studies.attack.shrink import KEPT, shrink
from fairhaul.studies.attack.trials import Trial, Trials


def between(low: object, high: object) -> dict[str, object]:
    """Write a range as a box has it."""
    return {"from": low, "to": high}


SMALL: dict[str, Any] = {
    "rate": between("5 Mbit/s", "20 Mbit/s"),
    "rtt": between("20 ms", "80 ms"),
    "round_trips": 200,
    "least_duration": "5 s",
}
# One flow beside another one with the same path, both from the begin.
PAIR: dict[str, Any] = {"flows": 1, "rivals": 1, "rivals_rtt": 1, "rivals_start": 0}
BESIDE_RENO: dict[str, Any] = {**SMALL, **PAIR, "rival": "reno"}
# The second flow starts when the first has the link.
JOINED: dict[str, Any] = {
    **{"rate": between("50 Mbit/s", "100 Mbit/s"), "rtt": between("40 ms", "60 ms")},
    **{"buffer": between("0.5 bdp", "2 bdp"), "loss": 0, "dip": 1, "flows": 1, "rivals": 1},
    **{"rivals_start": between(0.1, 0.25), "round_trips": 300, "least_duration": "5 s"},
}

PLACE = Place(
    rate_mbps=12.0,
    rtt_ms=100.0,
    buffer_bdp=0.5,
    loss=0.0,
    dip=1.0,
    queue='{"kind" = "droptail"}',
    flows=1,
    rivals=1,
    rival="reno",
    rivals_rtt=2.0,
    rivals_start=0.1,
    round_trips=200.0,
    least_s=5.0,
)


def test_a_box_has_dual_queues_and_ecn() -> None:
    """In a box for L4S an L4S sender is attacked as any other, and all data may be ECN-capable."""
    box = read_box({**SMALL, "queue": "dualpi2", "ecn": {"any": ["off", "on"]}}, "box")
    assert "ecn" in box.names
    place = replace(PLACE, queue='{"kind" = "dualpi2"}', ecn="on")
    prague, reno = (read_transport(name, TUNED) for name in ("prague", "reno"))
    keys = keys_of(place, prague, reno, "L4S", 1)
    assert [flow["ecn"] for flow in keys["flow"]] == [True, True]
    flows = read_one(keys).described["flows"]
    assert [flow.get("ect1", False) for flow in flows] == [True, False]
    assert "ECN" in place.text()
    assert "ECN" not in PLACE.text()
    assert "ecn" not in keys_of(PLACE, prague, reno, "L4S", 1)["flow"][0]
    with pytest.raises(ScenarioError, match='unknown word "maybe"'):
        read_box({"ecn": "maybe"}, "box")


def attacked(
    controller: str, objective: str, box: Mapping[str, Any], budget: str, profile: str = TUNED
) -> Attack:
    of = read_question(controller, objective, within=box, budget=budget, profile=profile)
    return attack(of)


def found(done: Attack) -> tuple[float, Place]:
    """Give the value of the smallest scenario, and the scenario, which the engine can read."""
    assert done.worst is not None, words.answer(done)
    assert done.scenario is not None
    read_one(done.scenario)
    assert done.worst.estimate.low is not None
    assert done.worst.estimate.low >= done.objective.weak
    return done.worst.estimate.mean, done.worst.place


# What is known, from a cold start.


def test_bbr_starves_reno_in_shallow_buffers() -> None:
    # [HOCK 2017]: BBR's first version does not react to losses.
    value, place = found(attacked("bbr", "starve", BESIDE_RENO | {"buffer": SHALLOW}, "2 s"))
    assert value > 0.8
    assert place.buffer_bdp <= 1


SHALLOW = between("0.1 bdp", "1 bdp")


def test_bbr_keeps_a_queue_of_a_path_or_more_in_deep_buffers() -> None:
    # [HOCK 2017]: several flows have windows of twice their shares.
    box = SMALL | {
        "rtt": between("40 ms", "100 ms"),
        "rivals": 0,
        "buffer": between("1 bdp", "8 bdp"),
    }
    value, place = found(attacked("bbr", "queue", box, "2 s"))
    assert value > 1
    assert place.buffer_bdp > 1.5
    assert place.flows > 1


def test_a_second_cubic_flow_waits_long_at_large_windows_and_a_second_reno_flow_does_not() -> None:
    # [LEITH 2008], with hosts that send packet by packet.
    slow = attacked("cubic", "stall", JOINED, "5 s", "plain")
    value, place = found(slow)
    assert value > 0.7
    assert place.bdp_packets > 150
    assert attacked("reno", "stall", JOINED, "5 s", "plain").worst is None


def test_highspeed_starves_its_own_flows_on_longer_paths() -> None:
    # [BIC]: growth that rises with the window gives nearly everything to the shorter path.
    box = SMALL | {
        "rate": between("20 Mbit/s", "60 Mbit/s"),
        "rtt": between("20 ms", "40 ms"),
        "rival": "self",
    }
    box |= {"flows": 1, "rivals": 1, "rivals_start": 0, "buffer": SHALLOW}
    done = attacked("highspeed", "starve", box, "3 s")
    value, place = found(done)
    assert value > 0.7
    assert place.rivals_rtt >= 1.5 or place.rivals_rtt <= 1 / 1.5
    long, short = sorted([place.rtt_ms, place.rivals_rtt_ms], reverse=True)
    assert f"Beside one highspeed flow of {short:g} ms, the highspeed flow of {long:g} ms has" in (
        words.answer(done)
    )


def test_vegas_starves_beside_reno() -> None:
    # [MO 1999].
    done = attacked("vegas", "starve", BESIDE_RENO, "3 s")
    value, place = found(done)
    assert value > 0.8
    assert place.buffer_bdp > 1
    assert "Beside one reno flow, the vegas flow has" in words.answer(done)


def test_fhstcp_by_the_printed_rule_starves_on_short_paths_and_not_with_a_floor() -> None:
    # Below 38 packets it adds c packets per second, whatever the round-trip time.
    box = BESIDE_RENO | {"rate": between("10 Mbit/s", "50 Mbit/s"), "rtt": between("2 ms", "20 ms")}
    done = attacked("fhstcp:eta_floor=false", "starve", box, "3 s")
    value, place = found(done)
    assert value > 0.5
    assert place.rtt_ms <= 20
    assert "the fhstcp:eta_floor=false flow has" in words.answer(done)
    floor = attacked("fhstcp", "starve", box, "3 s")
    assert floor.worst is None or floor.worst.estimate.mean < value


def test_dctcp_without_marks_fills_the_queue() -> None:
    box = SMALL | {"rivals": 0, "flows": between(1, 2)}
    value, place = found(attacked("dctcp", "queue", box, "2 s"))
    assert value > 3
    assert place.buffer_bdp > 3
    marked = box | {
        "queue": {"kind": "droptail", "mark": "10 packets"},
        "buffer": between("2 bdp", "8 bdp"),
    }
    done = attacked("dctcp", "queue", marked, "2 s")
    assert done.worst is None or done.worst.estimate.mean < value / 3


# The question.


def test_a_point_of_the_box_is_a_place_with_rounded_numbers() -> None:
    box = read_box(SMALL | {"rivals": between(0, 4), "rival": {"any": ["self", "reno"]}}, "box")
    names = ("rate", "rtt", "buffer", "flows", "rivals", "rivals_rtt", "rivals_start", "rival")
    assert box.names == names
    # Half of the range on a scale of logarithms: the square roots of 5 x 20 and of 20 x 80.
    middle = box.place([0.5] * len(names))
    assert (middle.rate_mbps, middle.rtt_ms, middle.flows, middle.rivals) == (10, 40, 3, 2)
    assert middle.rival == "reno"
    none = box.place([0.9, 0.9, 0.9, 0.9, 0.0, 0.9, 0.9, 0.9])
    assert (none.rivals, none.rivals_rtt, none.rivals_start, none.rival) == (0, 1, 0, "self")


def test_a_range_from_0_is_0_in_its_first_quarter() -> None:
    loss = Range(low=0.0, high=0.01, scale="log")
    assert loss.value(0.2) == 0
    assert loss.value(0.25) == pytest.approx(1e-6)
    assert loss.value(0.625) == pytest.approx(1e-4)
    assert loss.value(1.0) == 0.01


def test_a_range_has_the_scale_that_it_names() -> None:
    box = read_box({"rate": between("10 Mbit/s", "1 Gbit/s") | {"scale": "linear"}}, "box")
    # Half of the way from 10 to 1000 Mbit/s, instead of the square root of their product.
    assert (box.rate.low, box.rate.high, box.rate.value(0.5)) == (10, 1000, 505)
    assert read_box({"dip": between(0.01, 1) | {"scale": "log"}}, "box").dip.value(0.5) == 0.1
    with pytest.raises(ScenarioError, match='loss: a range with scale = "log" lies above zero'):
        read_box({"loss": between(0, 0.1) | {"scale": "log"}}, "box")
    with pytest.raises(ScenarioError, match=r"queue: write \{ any = "):
        read_box({"queue": ["droptail", "red"]}, "box")


def test_a_place_is_a_scenario() -> None:
    # 12 Mbit/s and 100 ms are 100 packets; the longer path decides how long 200 round trips are.
    assert PLACE.bdp_packets == 100
    assert PLACE.buffer_packets == 50
    assert PLACE.duration_s == 40
    question = read_question("cubic", "harm", within={"rival": "reno"})
    keys = question.attacked.keys(PLACE, 7)
    assert keys["flow"][1]["start"] == "4 s"
    described = json.loads(read_one(keys).describe())
    assert [flow["rtt_s"] for flow in described["flows"]] == [0.1, 0.2]
    assert described["links"][0]["capacity_packets"] == 50
    dip = question.attacked.keys(replace(PLACE, dip=0.25), 7)["bottleneck"]["schedule"]
    assert dip == [{"at": "24 s", "rate": "3000000 bit/s"}, {"at": "32 s", "rate": "12 Mbit/s"}]
    own_, rival = question.attacked.transports(PLACE, "reference")
    assert (own_.keys()["controller"], rival) == ({"kind": "reno"}, None)


def test_objectives_are_larger_where_it_is_worse() -> None:
    def run(own_bps: float, rival_bps: float, **other: float) -> dict[str, Any]:
        flows = {
            name: {"goodputs_bps": [bps], "goodput_bps": bps}
            for name, bps in (("own", own_bps), ("rival", rival_bps))
        }
        return {"flows": flows, **other}

    # Of 10 Mbit/s one flow has 1 where 5 would be fair.
    starved = {"attacked": run(9e6, 1e6), "reference": run(6e6, 4e6)}
    assert OBJECTIVES["starve"].value(PLACE, starved) == pytest.approx(0.8)
    # The rival has 1 where it would have 4.
    assert OBJECTIVES["harm"].value(PLACE, starved) == pytest.approx(0.75)
    figures = {"attacked": run(1, 1, utilization=0.7, standing_s=0.4, stalled_s=5, present_s=20)}
    assert OBJECTIVES["waste"].value(PLACE, figures) == pytest.approx(0.3)
    # 400 ms over the longer round-trip time, 200 ms.
    assert OBJECTIVES["queue"].value(PLACE, figures) == pytest.approx(2)
    assert OBJECTIVES["stall"].value(PLACE, figures) == pytest.approx(0.25)
    assert _longest([True, False, True, True, False, True]) == 2


def test_the_archive_keeps_the_worst_of_each_cell() -> None:
    box = read_box(SMALL, "box")
    archive = Archive(box=box)
    for value, buffer_bdp in ((0.9, 0.5), (0.8, 0.5), (0.7, 0.7), (0.6, 7.0), (0.1, 2.0)):
        place = replace(PLACE, buffer_bdp=buffer_bdp)
        archive.add([0.0], Trial(place=place, seed=1, value=value, runs={}))
    assert [elite.trial.value for _, elite in archive.ranked()] == [0.9, 0.7, 0.6, 0.1]
    # Cells beside a worse one are the same weakness, and 0.1 is none.
    assert [elite.trial.value for elite in archive.distinct(0.5, 6)] == [0.9, 0.6]


def test_the_spread_uses_each_part_of_each_range_once() -> None:
    import numpy as np

    points = spread(np.random.default_rng(1), 16, 3)
    for column in points.T:
        assert sorted(int(16 * value) for value in column) == list(range(16))


def test_the_progress_of_a_search_is_the_part_of_its_budget() -> None:
    question = read_question("cubic", "starve", within=BESIDE_RENO)
    seen: list[Progress] = []
    trials = Trials(
        attacked=question.attacked,
        objective=question.objective,
        running=Running(on_progress=seen.append),
        budget=1e12,
    )
    trials.run([PLACE], [1])
    # How many runs the rest of the budget allows is not known.
    assert seen[-1].counted == f"{trials.runs} runs"
    assert seen[-1].part == 0


def test_shrinking_keeps_the_weakness() -> None:
    question = read_question("vegas", "starve", within=BESIDE_RENO | {"loss": between(0, 0.001)})
    trials = Trials(attacked=question.attacked, objective=question.objective)
    place = question.box.place([0.83, 0.71, 0.93, 0.3])
    seeds = [11, 12, 13, 14, 15]
    (before,) = trials.run([place], seeds)
    value = sum(trial.value for trial in before) / 5
    *_, smaller = shrink(question.box, trials, place, value, seeds, float("inf"))
    (after,) = trials.run([smaller], seeds)
    assert sum(trial.value for trial in after) / 5 >= KEPT * value
    assert all(trial.value >= question.objective.weak for trial in after)
    assert smaller.loss == 0
    assert smaller.rate_mbps < place.rate_mbps
    assert smaller.rate_mbps in {5, 10, 20}


# The command.


def call(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    status = cli.status_of([str(word) for word in args])
    out, error = capsys.readouterr()
    return status, out, error


@pytest.fixture
def box_file(tmp_path: Path) -> Path:
    file = tmp_path / "box.toml"
    file.write_text(
        'rate = { from = "5 Mbit/s", to = "20 Mbit/s" }\nrtt = { from = "20 ms", to = "80 ms" }\n'
        "round_trips = 200\n"
        'least_duration = "5 s"\nrival = "reno"\nrivals = 1\nflows = 1\n'
    )
    return file


def test_the_command_writes_the_scenario_and_the_report_and_goes_on_after_a_kill(
    tmp_path: Path, box_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words_ = ("attack", "vegas", "--objective=starve", "--within", box_file, "--budget=2s")
    status, shown, _ = call(capsys, *words_, "--out", out, "--report")
    assert status == 0
    assert "the vegas flow" in shown
    assert "of its fair share" in shown
    assert "Distinct weaknesses of vegas: starve" in shown
    assert "Distinct weaknesses" in (out / "report.html").read_text(encoding="utf-8")
    status, shown, _ = call(capsys, "run", out / "worst.toml")
    assert status == 0
    assert "vegas" in shown
    # All runs are known now. Any number of jobs gives the same answer, also after a kill.
    status, again, _ = call(capsys, *words_, "--out", out, "--json")
    command = [sys.executable, "-m", "fairhaul", *map(str, words_)]
    command += ["--json", "--jobs=1", "--out", str(tmp_path / "killed")]
    kill_in_search(command, tmp_path / "killed")
    resumed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    whole, went_on = json.loads(again), json.loads(resumed)
    assert whole.pop("command") != went_on.pop("command")
    assert went_on == whole
    found_ = whole["values"]
    assert found_["worst"]["value"]["low"] >= found_["weak_from"]
    assert found_["weaknesses"][0]["value"]["interval"] == "95 %"
    assert len(found_["cells"]) > 10


def kill_in_search(command: list[str], out: Path) -> None:
    """Kill a search when its store has dozens of runs, and cut the end off the last of them."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            limit_s = time.monotonic() + 60
            while time.monotonic() < limit_s and process.poll() is None:
                journals = list(out.glob("journals/*.jsonl"))
                if journals and journals[0].stat().st_size > 50_000:
                    break
                time.sleep(0.01)
        finally:
            process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    # The last line of a journal may be incomplete.
    (journal,) = out.glob("journals/*.jsonl")
    os.truncate(journal, journal.stat().st_size - 10)


def test_mistakes_are_input_errors(
    tmp_path: Path, box_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def wrong(*args: str | Path) -> str:
        status, _, error = call(capsys, "attack", *args, "--out", tmp_path / "out")
        assert status == 2
        return error

    assert "CC is missing; for example: fairhaul attack cubic" in wrong("--objective=starve")
    assert "did you mean 'starve'?" in wrong("cubic", "--objective=strave")
    assert 'did you mean "cubic"?' in wrong("cubik", "--objective=starve")
    assert "requires the queue xcp" in wrong("xcp", "--objective=starve")
    assert "--queue redd" in wrong("cubic", "--objective=starve", "--queue=redd")
    assert "did you mean 'linux'?" in wrong("cubic", "--objective=queue", "--profile=linus")
    assert "no such file" in wrong("cubic", "--objective=waste", "--within", tmp_path / "no.toml")
    small = ("--within", box_file, "--budget=10ms")
    assert "--budget: too small for this box" in wrong("cubic", "--objective=starve", *small)
    assert not (tmp_path / "out" / "worst.toml").exists()
    box_file.write_text(
        'rate = { from = "20 Mbit/s", to = "5 Mbit/s" }\nrtt = { from = 10, to = 20 }\n'
        'buffer = "1 bpd"\nflows = 1.5\ndip = [0.1, 1]\nrivals = { from = 1, two = 2 }\n'
        "rival = { any = [] }\nrivalls = 2\nloss = 2\n"
        'queue = { kind = "red", capacity = "1 bdp" }\n'
    )
    lines = wrong("cubic", "--objective=starve", "--within", box_file).splitlines()
    for part in (
        "unknown key 'rivalls'; did you mean",
        "rate: the smaller end comes first",
        "rtt: ",
        'buffer: wanted bandwidth-delay products such as "0.5 bdp"',
        "flows: wanted whole numbers",
        "dip: wanted a value, or a range { from = …, to = … }",
        'rivals: a range has no key "two"; did you mean "to"?',
        "rival: the list of alternatives is empty",
        "queue: capacity belongs to `buffer`",
        "loss: wanted values from 0 to 0.5",
    ):
        assert any(f"{box_file}: {part}" in line for line in lines), part


def test_starvation_and_harm_need_rivals() -> None:
    with pytest.raises(ScenarioError, match="needs rivals"):
        read_question("cubic", "harm", within={"rivals": between(0, 2)})


def test_the_box_is_cut_to_what_the_lab_carries() -> None:
    box = read_box({"rate": between("10 Mbit/s", "1 Gbit/s"), "rivals_rtt": between(0.5, 2)}, "box")
    cut = kernel.for_lab(box)
    # 60 s are 400 round trips of 150 ms, of the rivals, whose paths are up to twice as long.
    assert (cut.rate.high, cut.rtt.high) == (200, 75)
    with pytest.raises(ScenarioError, match="a rate of at most 200 Mbit/s"):
        kernel.for_lab(read_box({"rate": "1 Gbit/s"}, "box"))
    assert (
        read_question("cubic", "queue", confirm="lab").attacked.own.keys()["profile"]
        == "linux-tuned"
    )


def test_a_router_is_attacked_by_its_queue() -> None:
    question = read_question("xcp", "starve", queue="xcp_tcp:rule=adaptive", within=SMALL)
    assert question.box.queue == ('{ kind = "xcp_tcp", rule = "adaptive" }',)
    trials = Trials(attacked=question.attacked, objective=question.objective)
    ((trial,),) = trials.run([question.box.place([0.5] * len(question.box.names))], [1])
    assert 0 <= trial.value <= 1


def test_classes_of_users_are_attacked(tmp_path: Path) -> None:
    class Timid(own.Controller):
        every = "round"

        def on_round(self, window: own.Window, report: own.Round) -> None:
            window.cwnd = min(max(report.in_flight, 1.0), 4.0)

    box = BESIDE_RENO | {"rate": "10 Mbit/s", "rtt": "40 ms"}
    with own.known({"timid": Timid}):
        done = attack(read_question("timid", "starve", within=box, budget="2 s"), out=tmp_path)
        _, place = found(done)
        smallest = done.outcome().evidence()[0]
    assert (smallest.heading, smallest.studio) == ("The smallest scenario", "")
    assert place.rate_mbps == 10
    assert done.archive.cells.keys() == {(0, cell) for cell in range(CELLS)}


def test_all_objectives_are_attacked_one_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    box = tmp_path / "tiny.toml"
    box.write_text(
        'rate = { from = "5 Mbit/s", to = "10 Mbit/s" }\nrtt = { from = "20 ms", to = "40 ms" }\n'
        "round_trips = 50\n"
        'least_duration = "2 s"\nrival = "reno"\nrivals = 1\nflows = 1\nloss = 0\n'
    )
    all_ = ("attack", "vegas", "--objective=all", "--within", box, "--budget=9s", "--json")
    status, shown, _ = call(capsys, *all_, "--out", tmp_path / "out")
    assert status == 0
    attacks = json.loads(shown)["outcomes"]
    assert [of["values"]["objective"] for of in attacks] == SIMULATED
    assert all((tmp_path / "out" / name / "store.json").is_file() for name in SIMULATED)

"""Transport stacks as flows, from the one that `fairhaul new-stack` begins."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import fairhaul
from fairhaul import RunError, ScenarioError, cli
from fairhaul.jobs.store import Store
from fairhaul.jobs.values import Running
from fairhaul.scenario.profiles import TUNED
from fairhaul.scenario.read import read_one
from fairhaul.scenario.template import new_stack
from fairhaul.scenario.transport import read_stack
from fairhaul.studies.attack import read_question
from fairhaul.studies.attack.trials import Trials
from fairhaul.studies.evaluation import SCENARIOS, evaluate
from fairhaul.studies.evaluation import stacks as stack_part
from fairhaul.studies.expectations import MET, NOT_MET
from fairhaul.studies.expectations.bbr_cases import CASES, bbr_setting, write_cases
from fairhaul.studies.expectations.checking import check
from fairhaul.studies.expectations.stack_cases import (
    FOLDER,
    OF_CUBIC,
    OF_QUIC,
    OF_REDUCTIONS,
    files_for,
    unfit_for,
)
from fairhaul.studies.scoring.cases import run_cases
from fairhaul.studies.scoring.parts import parts_of
from fairhaul.studies.scoring.paths import drawn
from tools.stacks.repeat import Case, differences

SHORT: dict[str, str | float] = {"duration": "10 s", "warmup": "1 s"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(new_stack("arq", tmp_path_factory.mktemp("stacks")))


def built(folder: Path) -> Path:
    """Compile a stack, as a user does."""
    done = subprocess.run(["make"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return folder


def changed(made: Path, folder: Path, old: str, new: str, before: str = "") -> Path:
    """Compile the stack with one change of its source, and give its scenario."""
    shutil.copytree(made, folder, dirs_exist_ok=True)
    source = folder / "arq.c"
    text = source.read_text()
    assert old in text
    source.write_text(before + text.replace(old, new))
    built(folder)
    return folder / "first.toml"


def test_a_stack_is_a_flow_beside_others(made: Path) -> None:
    result = fairhaul.run(made / "first.toml", SHORT)
    mine, other = result.records[0].meta["scenario"]["flows"]
    assert mine["stack"].startswith("arq 0.1, library ")
    assert "stack" not in other
    figures = {flow["name"]: flow for flow in result.measures[0]["flows"]}
    assert figures["mine"]["goodput_bps"] > 0.02 * 20e6
    assert sum(flow["link_share"] or 0 for flow in figures.values()) > 0.9
    assert (figures["mine"]["loss_events"] or 0) > 0
    assert (figures["mine"]["cwnd_mean"] or 0) > 1
    # It reports what it repeats, and no stack reports timeouts.
    assert (figures["mine"]["retransmits"] or 0) > 0
    assert figures["mine"]["timeouts"] is None


def test_an_application_limits_a_stack(made: Path) -> None:
    """It writes 1 Mbit/s in packets of 1500 B, of which 1460 B are payload."""
    settings = {
        "flow.mine.traffic.kind": "limited",
        "flow.mine.traffic.rate": "1 Mbit/s",
        "flow.other.traffic": "1 kB",
        "flow.mine.stack.initial_window": 20,
    }
    figures = fairhaul.run(made / "first.toml", SHORT | settings).measures[0]["flows"][0]
    assert figures["goodput_bps"] == pytest.approx(1e6 * 1460 / 1500, rel=0.02)
    assert figures["loss_rate"] == 0


def test_the_same_seed_gives_the_same_record_and_a_rebuilt_library_is_another(
    made: Path, tmp_path: Path
) -> None:
    losses: dict[str, str | float] = {"bottleneck.loss": 0.01}
    question = read_one(made / "first.toml", SHORT | losses)
    first, again = (fairhaul.run(made / "first.toml", SHORT | losses).records[0] for _ in range(2))
    assert first.flow_series.equals(again.flow_series)
    assert first.event.equals(again.event)
    scenario = changed(made, tmp_path, "double window = 10", "double window = 11")
    assert read_one(scenario, SHORT | losses).identity() != question.identity()


def test_a_transfer_completes_when_all_of_it_is_acknowledged(made: Path) -> None:
    settings = {"flow.mine.traffic": "1 MB", "bottleneck.loss": 0.02, "flow.other.traffic": "1 kB"}
    record = fairhaul.run(made / "first.toml", {"duration": "60 s"} | settings).records[0]
    mine = [row for row in record.transfer.iter_rows(named=True) if row["bytes"] == 1_000_000]
    assert len(mine) == 1
    assert mine[0]["end_s"] > 1_000_000 * 8 / 20e6


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (".version = FAIRHAUL_STACK_VERSION", ".version = 99", "compiled for version 99 of"),
        ("FAIRHAUL_STACK =", "OTHER =", "it exports no FAIRHAUL_STACK"),
        ("return end;\n}", 'snprintf(error, room, "no room");\n\treturn NULL;\n}', "no room"),
    ],
)
def test_a_library_that_is_no_stack_is_refused(
    made: Path, tmp_path: Path, old: str, new: str, expected: str
) -> None:
    scenario = changed(made, tmp_path, old, new)
    with pytest.raises(ScenarioError, match=expected):
        fairhaul.run(scenario, SHORT)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            ".size = HEADER + size",
            ".size = 70000 + size",
            "transmit gives 7.* bytes, and its buffer",
        ),
        ("size_t taken = size <", "size_t taken = 99999 + size <", "write takes .* bytes"),
        (".timer = end->timer,", ".timer = 1,", "state gives a timer that has passed"),
        ("if (end->timer > now)\n\t\t\treturn 0;", "return 0;", "timer that has passed"),
        ("end->sends ? setup->now : FAIRHAUL_NEVER", "FAIRHAUL_NEVER", "would never begin"),
        (".timer = end->timer,", ".timer = end->timer, .closed = 2,", "closes no connection"),
        ("size_t free_bytes", "return size;\n\tsize_t free_bytes", "write takes all bytes .* end"),
        ("end->read += size;\n\treturn size;", "return room;", "read gives one part .* end"),
    ],
)
def test_a_stack_that_breaks_the_interface_ends_the_run_with_a_sentence(
    made: Path, tmp_path: Path, old: str, new: str, expected: str
) -> None:
    scenario = changed(made, tmp_path, old, new)
    with pytest.raises(RunError, match=rf"at \d.* s.*{expected}"):
        fairhaul.run(scenario, SHORT)


def test_the_estimate_counts_what_a_stack_holds_and_its_packets(made: Path) -> None:
    """All packets of the link count as those of the first flow; each takes twelve times as long."""
    stack, built_in = (
        dict(read_one(made / "first.toml", more).estimate())
        for more in ({}, {"flow.mine.controller": "cubic"})
    )
    assert stack["bytes"] - built_in["bytes"] == pytest.approx(2e7, rel=0.01)
    more_s = 11 * stack["packets"] * 3e-7
    assert stack["seconds"] - built_in["seconds"] == pytest.approx(more_s, rel=0.1)


def test_a_connection_that_is_closed_says_why(made: Path, tmp_path: Path) -> None:
    closed = ".timer = end->timer, .closed = end->una > 1000000,"
    scenario = changed(made, tmp_path, ".timer = end->timer,", closed)
    done = fairhaul.run(scenario, SHORT, seeds=2)
    (closure,) = done.records[0].meta["closures"]
    assert closure["flow"] == "mine"
    assert 0 < closure["t_s"] < 10
    # The words of the template.
    why = "this protocol closes no connection"
    assert closure["reason"] == why
    assert done.markdown().count(f"Warning: a connection of 'mine' was closed: {why}.") == 1


def test_a_stack_that_crashes_loses_no_finished_result(made: Path, tmp_path: Path) -> None:
    """The second of two points ends its process; the first one is there, and is not run again."""
    old = "\tif (size < HEADER)"
    scenario = changed(made, tmp_path, old, f"\tif (end->segment < 1300)\n\t\tabort();\n{old}")
    with scenario.open("a") as text:
        text.write('\n[sweep]\n"flow.mine.packet" = ["1500 B", "1300 B"]\n')
    out = tmp_path / "out"
    words = ["sweep", str(scenario), "--seeds", "1", "--jobs", "1", "--out", str(out)]
    words += ["--set", "duration=2 s", "--set", "warmup=1 s"]
    command = [sys.executable, "-m", "fairhaul", *words]
    sessions: set[str] = set()
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, check=False, timeout=600)
        assert done.returncode == -signal.SIGABRT
        (result,) = Store(out).results()
        assert json.loads(result.variant) == {"flow.mine.packet": "1500 B"}
        sessions.add(result.session)
    assert len(sessions) == 1


def test_the_keys_of_a_stack(made: Path) -> None:
    def mistakes(**settings: str | int) -> str:
        overrides = {key.replace("__", "."): value for key, value in settings.items()}
        with pytest.raises(ScenarioError) as error:
            read_one(made / "first.toml", overrides)
        return "\n".join(error.value.args)

    assert "not possible with a" in mistakes(flow__mine__recovery="sack")
    assert 'unknown setting "window"' in mistakes(flow__mine__stack__window=3)
    assert "from 1 to 100" in mistakes(flow__mine__stack__streams=0)
    assert 'unknown setting "streams"' in mistakes(flow__mine__stack__streams=2)
    assert "No such file" in mistakes(flow__mine__stack="./other.so")


def test_a_setting_replaces_a_stack_by_a_controller_and_a_controller_by_a_stack(made: Path) -> None:
    first = made / "first.toml"
    (mine, _) = json.loads(read_one(first, {"flow.mine.controller": "reno"}).describe())["flows"]
    assert "stack" not in mine
    library = str(made / "libarq.so")
    (_, other) = json.loads(read_one(first, {"flow.other.stack": library}).describe())["flows"]
    assert other["stack"].startswith("arq ")


EXPECTED = """
[[expect]]
what     = "the link is used twice, which is not possible"
number   = "links.bottleneck.utilization"
at_least = 2
source   = "RFC 9743, 6.1"
"""


def test_what_is_not_met_leaves_a_folder(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (made / "first.toml").read_text()
    (tmp_path / "twice.toml").write_text(text + EXPECTED)
    short = ["--set", "duration=3 s", "--set", "warmup=1 s"]
    library = f"{made}/libarq.so:initial_window=4"
    assert cli.status_of(["check", "twice.toml", "--stack", library, *short]) == 1
    assert "not-met/twice has a run" in capsys.readouterr().err
    folder = tmp_path / "not-met" / "twice"
    assert "expected >= 2" in (folder / "not-met.txt").read_text()
    # An IPv4 header with UDP, to the receiver and back.
    capture = (folder / "packets.pcapng").read_bytes()
    assert bytes([192, 0, 2, 1, 198, 51, 100, 1]) in capture
    assert bytes([198, 51, 100, 1, 192, 0, 2, 1]) in capture
    command = (folder / "command.sh").read_text().splitlines()[-1]
    monkeypatch.chdir(folder)
    assert cli.status_of(shlex.split(command)[1:]) == 0
    (again,) = (folder / "run").rglob("mine.pcapng")
    assert again.read_bytes() == capture


def test_a_stack_is_judged_by_rfc_9743_and_by_scenarios_of_its_own(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scenario with keys of Fairhaul's sender, and a number that is relative to its CUBIC."""
    criteria, own = tmp_path / "criteria", tmp_path / "own"
    criteria.mkdir()
    own.mkdir()
    for name in ("incast", "deep-buffer", "l4s-sender-rtt"):
        shutil.copy(SCENARIOS / f"{name}.toml", criteria)
    text = (criteria / "deep-buffer.toml").read_text()
    (criteria / "deep-buffer.toml").write_text(
        text.replace('"60 s"', '"10 s"').replace('"20 s"', '"2 s"')
    )
    shutil.copy(FOLDER / "cubic-beta.toml", own)
    # Its initial window is 10 packets.
    text = (FOLDER / "initial-window.toml").read_text()
    (own / "initial-window.toml").write_text(text.replace("at_most = 14", "at_most = 9"))
    monkeypatch.setattr("fairhaul.studies.evaluation.SCENARIOS", criteria)
    monkeypatch.setattr("fairhaul.studies.expectations.stack_cases.FOLDER", own)
    monkeypatch.chdir(tmp_path)
    library = str(made / "libarq.so")
    done = evaluate(["cubic"], stacks=[library], quick=True)
    assert done.controllers == ("cubic", library)
    *of_stacks, of_senders = sorted(done.rows, key=lambda row: row.file)
    assert {row.file for row in of_stacks} == {"incast.toml", "deep-buffer.toml"}
    assert "sets the codepoint of its packets itself" in of_senders.found[library].reason
    for row in of_stacks:
        assert row.found[library].by["sim"].values
    (relative,) = (row for row in done.rows if row.expectation.relative_to)
    assert set(relative.found["cubic"].by["sim"].values) == {1.0}
    assert set(relative.found[library].by["sim"].values) != {1.0}
    window, factor = done.stack_rows
    assert (window.section, window.label, factor.section) == ("RFC 9002", "S1", "RFC 9438")
    assert window.found[library].verdict == NOT_MET
    text = done.markdown()
    assert f"scenarios for transport stacks: {library}: " in text
    assert f"S1, {library}: not met. Expected: at most 12 datagrams" in text
    assert "### RFC 9438: CUBIC" in text
    found = done.to_dict()["values"]["documents"]
    assert [len(of["rows"]) for of in found] == [1, 0, 1, 0, 0, 0, 0]


def test_an_evaluation_of_a_stack_leaves_folders_and_junit(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judged flows of a criterion are two, `mine_0` and `mine_1`."""
    criteria, own = tmp_path / "criteria", tmp_path / "own"
    criteria.mkdir()
    own.mkdir()
    text = (made / "first.toml").read_text().replace('"other"', '"mine_1"')
    short = text.replace('"mine"', '"mine_0"').replace('"60 s"', '"3 s"')
    (criteria / "twice.toml").write_text(
        short.replace('warmup   = "20 s"', 'warmup = "1 s"') + EXPECTED
    )
    shutil.copy(FOLDER / "initial-window.toml", own)
    monkeypatch.setattr("fairhaul.studies.evaluation.SCENARIOS", criteria)
    monkeypatch.setattr("fairhaul.studies.expectations.stack_cases.FOLDER", own)
    monkeypatch.chdir(tmp_path)
    stack = f"{made}/libarq.so:controller=newreno"
    assert cli.status_of(["evaluate", "--stack", stack, "--quick"]) == 2
    assert 'unknown setting "controller"' in capsys.readouterr().err
    stack = f"{made}/libarq.so"
    assert cli.status_of(["evaluate", "--stack", stack, "--quick", "--junit", "v.xml"]) == 0
    printed = capsys.readouterr()
    assert "Scenarios for transport stacks" in printed.out
    (folder,) = (tmp_path / "not-met").rglob("twice")
    assert folder.parent.name == "rfc9743"
    assert f"{folder.relative_to(tmp_path)} has a run" in printed.err
    assert "--trace mine_0" in (folder / "command.sh").read_text()
    assert (folder / "packets.pcapng").stat().st_size > 1000
    root = ET.parse(tmp_path / "v.xml").getroot()
    assert root.get("name") == "fairhaul evaluate"
    assert [suite.get("failures") for suite in root] == ["1", "0"]
    assert all((suite.get("name") or "").startswith(f"{stack}: ") for suite in root)
    wrong = ["evaluate", "cubic", "--suite", "tcpeval", "--junit", "v.xml"]
    assert cli.status_of(wrong) == 2
    assert "has no verdicts" in capsys.readouterr().err


def test_scenarios_of_another_controller_or_protocol_do_not_apply() -> None:
    every = {file.name for file in files_for("quinn")}

    def left(stack: str) -> set[str]:
        return every - {file.name for file in files_for(stack)}

    assert every >= OF_CUBIC | OF_QUIC | OF_REDUCTIONS
    assert left("quinn:controller=bbr") == OF_CUBIC | OF_REDUCTIONS
    assert left("noq:controller=newreno") == OF_CUBIC
    assert left("noq:controller=cubic") == set()
    assert left("smoltcp:controller=cubic") == OF_QUIC
    overrides = [("flow.mine.stack.controller", "newreno")]
    assert unfit_for("quinn", overrides) == {"the controller is not CUBIC": sorted(OF_CUBIC)}


SENDER: dict[str, object] = {
    "flow.mine.controller": "cubic",
    "flow.mine.profile": "plain",
    "flow.mine.initial_window": 10,
}


@pytest.mark.parametrize(
    ("scenario", "own", "verdicts"),
    [
        ("ecn-cleared", {"ecn": False, "middlebox": "none"}, [MET, MET]),
        ("ecn-cleared", {"ecn": True, "accecn": True}, [NOT_MET, MET]),
        ("growth-long", {}, [MET, MET]),
        ("growth-long", {"controller": "reno"}, [NOT_MET, NOT_MET]),
        ("growth-long", {"controller.c": 2}, [MET, NOT_MET]),
        ("growth-short", {}, [MET, MET]),
        ("growth-short", {"controller.variant": "linux"}, [MET, NOT_MET]),
        ("growth-short", {"controller.variant": "2005"}, [NOT_MET, NOT_MET]),
        ("long-path", {"packet": "1440 B"}, [MET]),
        ("long-path", {"packet": "700 B"}, [NOT_MET]),
        ("marks-all", {"ecn": True}, [MET, MET]),
        ("marks-all", {"ecn": True, "controller": "bbr"}, [NOT_MET, MET]),
        ("mtu", {"packet": "1500 B"}, [MET]),
        ("mtu", {"packet": "1228 B"}, [NOT_MET]),
        ("pacing", {"pacing": "quic"}, [MET, MET]),
        ("pacing", {}, [MET, NOT_MET]),
        ("pacing", {"offload": "64 packets"}, [NOT_MET, NOT_MET]),
        ("rtt-falls", {}, [MET]),
        ("pause", {"recovery": "rack", "on_timeout": "probe"}, [MET]),
        ("pause", {}, [NOT_MET]),
    ],
)
def test_the_bounds_for_stacks_tell_a_right_sender_from_a_wrong_one(
    scenario: str, own: dict[str, object], verdicts: list[str]
) -> None:
    """BBR, here the first one, reads no marks; `plain` starts over after a timeout."""
    settings = SENDER | {f"flow.mine.{key}": value for key, value in own.items()}
    (case,) = check(FOLDER / f"{scenario}.toml", settings).cases
    assert case.verdicts == verdicts


def test_every_expectation_for_stacks_names_a_document() -> None:
    for file in [*FOLDER.glob("*.toml"), *CASES.glob("*.toml")]:
        for expected in tomllib.loads(file.read_text())["expect"]:
            assert stack_part.SOURCE.match(expected["source"]), file


def test_the_cases_of_bbr_are_for_stacks_with_a_bbr(tmp_path: Path) -> None:
    assert not write_cases("quinn", tmp_path)
    files = write_cases("./mine.so:controller=bbr", tmp_path)
    # 17 cases, one of them in two files.
    assert len(files) == 18
    (flow,) = tomllib.loads(files[0].read_text())["flow"]
    own = {"controller": "bbr", "kind": str(Path("mine.so").resolve())}
    assert flow["stack"] == own
    assert "mtu_discovery = false" in bbr_setting("noq:controller=bbr3")[1]


@pytest.mark.parametrize(("slow_start", "verdict"), [("standard", NOT_MET), ("hystart++", MET)])
def test_hystart_pp_ends_before_a_deep_queue_overflows(slow_start: str, verdict: str) -> None:
    own = {"flow.mine.controller": "cubic", "flow.mine.slow_start": slow_start}
    (case,) = check(FOLDER / "slow-start.toml", own).cases
    assert case.verdicts == [verdict, MET]


def test_a_stack_is_attacked_in_the_places_of_a_box(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """ECN and offload are of the rivals' hosts; what a stack does not show is missing."""
    library = str(made / "libarq.so")
    box: dict[str, object] = {
        "rate": "2 Mbit/s",
        "rtt": "20 ms",
        "rival": "cubic",
        "round_trips": 20,
    }
    own = {"flows": 1, "rivals": 1, "least_duration": "3 s", "ecn": "on", "offload": "off"}
    question = read_question(None, "starve", stack=library, within=box | own)
    place = question.box.place([0.5] * len(question.box.names))
    ((trial,),) = Trials(attacked=question.attacked, objective=question.objective).run([place], [1])
    mine, cubic = (trial.runs["attacked"]["flows"][name] for name in ("own", "rival"))
    assert trial.value > 0
    assert (mine["timeouts"], cubic["timeouts"] is None) == (None, False)
    keys = question.attacked.keys(place, 1)["flow"]
    assert [set(flow) & {"ecn", "profile"} for flow in keys] == [set(), {"ecn", "profile"}]
    both = ["attack", "cubic", "--stack", library, "--objective", "starve"]
    assert cli.status_of(both) == 2
    assert "of a controller or of a --stack" in capsys.readouterr().err
    assert cli.status_of(["attack", str(made / "first.toml"), "--objective", "starve"]) == 2
    assert "which run in the simulator" in capsys.readouterr().err


def test_a_stack_is_scored(made: Path) -> None:
    library = read_stack(str(made / "libarq.so"))
    short = replace(drawn()[0], rate_bps=1_000_000, rtt_s=0.02, buffer_packets=20, loss=0.0)
    queue = {"kind": "droptail"}
    (figures,) = run_cases([short], library, TUNED, Running(), queue)
    parts = parts_of(short, figures)
    assert 0.3 < parts["throughput"] <= 1
    assert figures["pair"].jain is not None
    assert figures["beside cubic"].jain is None


@pytest.mark.parametrize(
    ("planted", "header", "name"),
    [
        (
            "struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); window = 2 + t.tv_nsec % 97;",
            "time.h",
            "clock_gettime",
        ),
        (
            "unsigned char drawn; getentropy(&drawn, 1); window = 2 + drawn % 97;",
            "unistd.h",
            "getentropy",
        ),
    ],
)
def test_hidden_time_and_chance_are_found_and_named(
    made: Path, tmp_path: Path, planted: str, header: str, name: str
) -> None:
    """The initial window of the stack is planted: by a clock, or by a random number."""
    old, before = "double window = 10;", f"#define _GNU_SOURCE\n#include <{header}>\n"
    scenario = changed(made, tmp_path, old, f"double window; {planted}", before)
    library = str(scenario.parent / "libarq.so")
    (found,) = differences([Case(library, {}, 0, 0.2)])
    assert "in one process" in str(found)
    assert str(found).endswith(f"; the library calls {name}")
    assert not differences([Case(str(made / "libarq.so"), {}, 0, 0.2)])


def test_a_stack_is_begun_whole_or_not_at_all(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.status_of(["new-stack", "arq", "--in", str(made.parent)]) == 2
    assert "it is there already" in capsys.readouterr().err

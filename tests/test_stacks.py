"""Transport stacks as flows, from the one that `fairhaul new-stack` begins."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import fairhaul
from fairhaul import RunError, ScenarioError, cli
from fairhaul.jobs.values import Running
from fairhaul.scenario.profiles import TUNED
from fairhaul.scenario.read import read_one
from fairhaul.scenario.template import new_stack
from fairhaul.scenario.transport import read_stack
from fairhaul.studies.attack import read_question
from fairhaul.studies.attack.trials import Trials
from fairhaul.studies.evaluation import SCENARIOS, evaluate
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
    ],
)
def test_a_stack_that_breaks_the_interface_ends_the_run_with_a_sentence(
    made: Path, tmp_path: Path, old: str, new: str, expected: str
) -> None:
    scenario = changed(made, tmp_path, old, new)
    with pytest.raises(RunError, match=expected):
        fairhaul.run(scenario, SHORT)


def test_the_keys_of_a_stack(made: Path) -> None:
    def mistakes(**settings: str | int) -> str:
        overrides = {key.replace("__", "."): value for key, value in settings.items()}
        with pytest.raises(ScenarioError) as error:
            read_one(made / "first.toml", overrides)
        return "\n".join(error.value.args)

    assert "not possible with a" in mistakes(flow__mine__recovery="sack")
    assert 'unknown setting "window"' in mistakes(flow__mine__stack__window=3)
    assert "from 1 to 100" in mistakes(flow__mine__stack__streams=0)
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


def test_a_stack_is_judged_by_rfc_9743(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scenario with keys of Fairhaul's sender, and a number that is relative to its CUBIC."""
    for name in ("incast", "deep-buffer", "l4s-sender-rtt"):
        shutil.copy(SCENARIOS / f"{name}.toml", tmp_path)
    text = (tmp_path / "deep-buffer.toml").read_text()
    (tmp_path / "deep-buffer.toml").write_text(
        text.replace('"60 s"', '"10 s"').replace('"20 s"', '"2 s"')
    )
    monkeypatch.setattr("fairhaul.studies.evaluation.SCENARIOS", tmp_path)
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


def test_a_stack_that_reads_a_clock_is_found(made: Path, tmp_path: Path) -> None:
    """Its initial window is planted: by the nanoseconds of the clock."""
    clock = "double window; struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);"
    scenario = changed(
        made,
        tmp_path,
        "double window = 10;",
        f"{clock} window = 2 + t.tv_nsec % 97;",
        "#include <time.h>\n",
    )
    library = str(scenario.parent / "libarq.so")
    (found,) = differences([Case(library, {}, 0, 0.2)])
    assert "in one process" in str(found)
    assert not differences([Case(str(made / "libarq.so"), {}, 0, 0.2)])


def test_a_stack_is_begun_whole_or_not_at_all(
    made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.status_of(["new-stack", "arq", "--in", str(made.parent)]) == 2
    assert "it is there already" in capsys.readouterr().err

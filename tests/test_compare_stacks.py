"""Transport stacks compared beside controllers in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fairhaul as package
from fairhaul import cli
from fairhaul.scenario.template import new_stack
from fairhaul.studies.comparison.outcome import outcome_of
from fairhaul.studies.comparison.plan import _cases, _scenario, budget_s
from fairhaul.studies.comparison.question import Question, read_question

from .test_stacks import built, changed

PATH: dict[str, Any] = {"rate": "4 Mbit/s", "rtt": "20 ms", "buffer": "20 ms"}
LINE = ("--rate", "4Mbit/s", "--rtt", "20ms", "--buffer", "20ms")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(new_stack("arq", tmp_path_factory.mktemp("stacks")))


@pytest.fixture(scope="module")
def library(made: Path) -> str:
    return str(made / "libarq.so")


def asked(controllers: list[str], stacks: list[str], **more: Any) -> Question:
    return read_question(
        controllers, stacks=stacks, **{"size": "1 TB", "against": None, **PATH, **more}
    )


def flows_of(question: Question, name: str) -> list[dict[str, Any]]:
    (found,) = (
        json.loads(_scenario(question, case, of, 10.0).describe())["flows"]
        for case, of in _cases(question).items()
        if case.name == name and case.beside == (question.others is not None)
    )
    flows: list[dict[str, Any]] = found
    return flows


def test_stacks_are_ranked_beside_controllers(library: str) -> None:
    few = f"{library}:initial_window=4"
    done = package.compare(["reno"], stacks=[library, few], duration="60 s", **PATH)
    assert [row["controller"] for row in done.rows] == ["reno", library, few]
    assert done.stationary
    assert "completes 1 TB first" in done.answer
    question = done.question.to_dict()
    assert question["controllers"] == ["reno", library, few]
    assert question["stacks"] == [library, few]
    text = outcome_of(done).markdown()
    assert f"{library} and {few} are transport stacks" in text
    assert "the largest packet of all flows has 1500 bytes" in text
    assert "controller or stack" in text
    assert "is not installed on a host" in text


def test_a_stack_replaces_the_controller_of_the_compared_flows_alone(library: str) -> None:
    question = asked(
        ["2xcubic"], [library], rtt="20ms,60ms", against="3xreno", profile="linux", pacing="fq"
    )
    flows = flows_of(question, library)
    mine, others = flows[:2], flows[2:]
    assert [flow["stack"].partition(",")[0] for flow in mine] == ["arq 0.1"] * 2
    assert all("pacing" not in flow and flow["role"] == "measured" for flow in mine)
    assert [(flow["controller"], flow["profile"]) for flow in others] == [("reno", "linux")] * 3
    assert not any("stack" in flow for flow in others)
    cubic, *_ = flows_of(question, "2xcubic")
    assert ("stack" in cubic, cubic["pacing"]) == (False, "fq")
    # Standard TCP beside the others is the reference of the harm of a stack, too.
    assert "stack" not in flows_of(question, "reno")[0]


def test_all_flows_have_packets_of_one_size(library: str) -> None:
    assert asked(["reno"], []).packet_bytes == 1000
    for mtu, size in ((None, 1500), (1300, 1300)):
        question = asked(["reno"], [library], mtu=mtu)
        assert question.packet_bytes == size
        for name in question.compared:
            assert {flow["packet_bytes"] for flow in flows_of(question, name)} == {size}


def test_a_packet_of_a_stack_counts_as_ten_of_a_budget(library: str) -> None:
    controllers, stacks = asked(["reno"], [], mtu=1500), asked([], [library])
    both = asked(["reno"], [library])
    cost_s = budget_s(controllers, 10.0, 5)
    assert budget_s(stacks, 10.0, 5) == pytest.approx(10 * cost_s)
    assert budget_s(both, 10.0, 5) == pytest.approx(11 * cost_s)


def test_a_library_that_was_built_again_never_meets_an_old_result(
    made: Path, library: str, tmp_path: Path
) -> None:
    def identity(given: str) -> str:
        question = asked([], [given])
        ((case, stack),) = _cases(question).items()
        return _scenario(question, case, stack, 10.0).identity()

    folder = tmp_path / "again"
    changed(made, folder, "double window = 10", "double window = 10")
    same = identity(str(folder / "libarq.so"))
    changed(made, folder, "double window = 10", "double window = 11")
    assert identity(str(folder / "libarq.so")) != same
    assert identity(library) == identity(library)


def test_a_stack_without_loss_events_is_not_ranked_and_the_answer_says_why(
    made: Path, tmp_path: Path
) -> None:
    changed(made, tmp_path, ".cwnd = end->cwnd", ".cwnd = NAN", "#include <math.h>\n")
    silent = str(tmp_path / "libarq.so")
    done = package.compare(
        ["reno"], stacks=[silent], against="1xreno", duration="60 s", seeds=2, **PATH
    )
    assert not done.stationary
    row: Any
    _, row = done.rows
    for case in ("alone", "beside"):
        found = (row[case]["least_cycles"], row[case]["stationary"], row[case]["wanted_duration_s"])
        assert found == (None, False, None)
        # What is known from outside is given.
        assert row[case]["utilization"]["mean"] > 0.3
    said = "Not ranked, because these stacks show no window and no loss events: alone, "
    assert f"{said}{silent}; competing with 1 reno flow, {silent}. Without" in done.answer
    for words in ("Too short", "Cannot say", "no cycle", "--budget"):
        assert words not in done.answer
    text = outcome_of(done).markdown()
    assert "length not judged without loss events" in text
    assert "not known" in text
    # Its cycles, which are not known, do not make the runs longer: reno has 20 long before.
    budget = package.compare(["reno"], stacks=[silent], seeds=1, **PATH)
    assert budget.duration_s < 60
    assert budget.rows[0]["alone"]["stationary"]


def test_a_stack_that_reports_no_reduction_has_reported_no_loss_event(
    made: Path, tmp_path: Path
) -> None:
    changed(made, tmp_path, ".reductions = end->reductions", ".reductions = UINT64_MAX")
    library = str(tmp_path / "libarq.so")
    done = package.compare([], stacks=[library], duration="20 s", seeds=1, **PATH)
    assert f"too short: alone, {library} (no loss event reported)" in done.answer
    assert "no cycle yet" not in done.answer


def test_what_makes_no_sense_is_refused_with_a_sentence(
    library: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*given: str) -> str:
        assert cli.status_of(["compare", *given]) == 2
        return " ".join(capsys.readouterr().err.split())

    mine = ("--stack", library)
    assert "CC... is missing" in refused(*LINE)
    assert "run in the simulator alone" in refused(*mine, *LINE, "--engine", "linux")
    assert "--stack quin: " in refused("--stack", "quin", *LINE)
    assert 'unknown setting "window"' in refused("--stack", f"{library}:window=3", *LINE)
    assert "does not have the form key=value" in refused("--stack", f"{library}:window", *LINE)
    assert f"--stack {library}: is given twice" in refused(*mine, *mine, *LINE)
    both = refused(*mine, *LINE, "--pacing", "fq", "--profile", "linux")
    assert "--pacing fq: it is of the hosts of controllers" in both
    assert "--profile linux: it is of the hosts of controllers" in both
    # Beside a controller or competing flows both have an effect.
    assert asked(["reno"], [library], pacing="fq", profile="linux").pacing == "fq"
    assert asked([], [library], against="1xreno", profile="linux").profile == "linux"
    with pytest.raises(package.ScenarioError, match="a controller has this name, too"):
        asked(["cubic"], [library, "cubic"])
    with pytest.raises(package.ScenarioError, match="up to 32 controllers and stacks"):
        asked([], [f"{library}:initial_window={window}" for window in range(1, 34)])

"""The engine as WebAssembly gives the records of the native engine, to the bit."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import digests

if TYPE_CHECKING:
    from fairhaul.scenario.read import Scenario

ENGINE = Path(str(files("fairhaul.studio"))) / "engine.wasm.gz"
# Most scenarios of the repository have fewer, and all of these together run within seconds.
MOST_PACKETS = 300_000
DRIVERS = Path(__file__).parent / "studio"
# With losses, marks, many undone reductions, enough loss events, and no endless flow.
JUDGED = (
    "conformance/bbr/18-spurious-fast-recovery.toml 0",
    "evaluation/incast.toml 0",
    # A controller whose cycle is half of its window in round trips.
    "examples/clocks.toml 0",
    "examples/ecn.toml 0",
    "examples/ecn.toml 1",
    "examples/late.toml 0",
    "examples/lossy.toml 0",
    "examples/rough.toml 0",
    # Its largest window limits it.
    "conformance/rfc3649/decrease.toml 0",
)


def in_wasm(inputs: dict[str, dict[str, object]], driver: str = "digests.mjs") -> dict[str, Any]:
    """Run scenarios in WebAssembly; give their digests, or what the engine says instead."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node, which runs WebAssembly")
    if not ENGINE.exists():
        pytest.skip("the engine as WebAssembly is not built: make studio")
    done = subprocess.run(
        [node, str(DRIVERS / driver), str(ENGINE)],
        input=json.dumps(inputs),
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def input_of(scenario: Scenario) -> dict[str, object]:
    """Give a scenario as a page asks for it."""
    text, file, overrides = scenario.source()
    return {"text": text, "file": file, "settings": [*overrides, *scenario.variant]}


def test_records_are_the_same_in_webassembly() -> None:
    inputs = {
        name: input_of(scenario)
        for name, scenario in digests.scenarios().items()
        if dict(scenario.estimate())["packets"] < MOST_PACKETS
    }
    recorded = json.loads(digests.RECORDED.read_text(encoding="utf-8"))
    answers = in_wasm(inputs)
    # A page has no files, so a scenario that reads one is refused, with a reason.
    refused = {name for name, answer in answers.items() if not isinstance(answer, str)}
    assert refused == {name for name in refused if reads_a_file(str(inputs[name]["text"]))}
    same = {name for name, answer in answers.items() if answer == recorded[name]}
    assert same == set(inputs) - refused
    assert len(same) >= 50


def reads_a_file(text: str) -> bool:
    return any(word in text for word in ("trace =", "vectors", "formulas"))


def test_another_seed_gives_another_digest() -> None:
    one = input_of(digests.scenarios()["examples/lossy.toml 0"])
    answers = in_wasm({"one": one, "other": {**one, "seed": 2}})
    assert answers["one"] != answers["other"]


def test_a_run_in_steps_has_the_same_record() -> None:
    one = input_of(digests.scenarios()["examples/two-flows.toml 0"])
    answers = in_wasm({"whole": one, "steps": {**one, "in_steps": True}})
    assert isinstance(answers["whole"], str)
    assert answers["steps"] == answers["whole"]


def test_the_page_judges_runs_as_the_measures_do() -> None:
    from fairhaul.measures.measures import measure
    from fairhaul.runs.runs import for_each

    scenarios = {name: digests.scenarios()[name] for name in JUDGED}
    shown = in_wasm({name: input_of(of) for name, of in scenarios.items()}, "figures.mjs")
    runs = for_each(list(scenarios.values()), lambda _, record: measure(record))
    measured = dict(zip(JUDGED, runs, strict=True))
    for name, run in measured.items():
        short = shown[name]["too_short"]
        assert (short is not None) == (run["stationary"] is False), name
        assert (short or {}).get("wanted_s") == pytest.approx(run["wanted_duration_s"]), name
        goodputs = [flow["goodput_bps"] / 1e6 for flow in run["flows"]]
        assert shown[name]["mbps"] == pytest.approx(goodputs), name
    assert {run["stationary"] for run in measured.values()} == {True, False, None}
    assert sum(run["wanted_duration_s"] is not None for run in measured.values()) >= 3


def test_mistakes_have_their_lines() -> None:
    answers = in_wasm({"wrong": {"text": 'duraton = "3 s"', "file": "x.toml"}})
    wrong = answers["wrong"]
    assert isinstance(wrong, dict)
    assert 'x.toml:1: "duraton" is not a key' in wrong["mistakes"][0]

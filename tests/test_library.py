"""Controllers in Rust, from the crate that `fairhaul new-controller` begins."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

import fairhaul
from fairhaul import ScenarioError, cli
from fairhaul.scenario.read import Scenario, read_one
from fairhaul.scenario.template import new_controller

from .compiled import build, crate
from .test_own import PATH, losses


@pytest.fixture(scope="module")
def library() -> Path:
    return crate("gentle", "changed")


def record(scenario: Scenario) -> fairhaul.Record:
    (answer,) = fairhaul.run_many([scenario])
    return answer.records[0]


def test_a_crate_is_begun_whole_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = new_controller("one", tmp_path)
    before = sorted(made.rglob("*"))
    assert cli.status_of(["new-controller", "one", "--in", str(tmp_path)]) == 2
    assert "it is there already" in capsys.readouterr().err
    assert sorted(made.rglob("*")) == before
    assert cli.status_of(["new-controller", "One Two", "--in", str(tmp_path)]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_the_crate_has_the_controller_of_the_page(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs/idea.md").read_text()
    shown = page.partition("```rust\n")[2].partition("```")[0]
    assert shown in (new_controller("gentle", tmp_path) / "src/lib.rs").read_text()


def test_the_scenario_of_the_crate_runs_and_a_changed_library_is_another(library: Path) -> None:
    scenario = library.parents[2] / "first.toml"
    question = read_one(scenario, {"duration": "5 s", "warmup": "1 s"})
    before = question.identity()
    first = record(question)
    assert first.meta["scenario"]["flows"][0]["controller"] == "library"
    again = record(pickle.loads(pickle.dumps(question)))
    assert losses(again) == losses(first)
    source = library.parents[2] / "src" / "lib.rs"
    source.write_text(source.read_text().replace("self.a * ack", "9.0 * self.a * ack"))
    build(library.parents[2])
    changed = read_one(scenario, {"duration": "5 s", "warmup": "1 s"})
    assert changed.identity() != before
    other = record(changed)
    assert losses(other) != losses(first)
    # What was loaded before stays what it was.
    assert losses(record(question)) == losses(first)


def test_a_panic_ends_the_run_with_its_text_and_the_time() -> None:
    panics = 'panic!("no window for {} packets", window.cwnd as u32);'
    library = crate("broken", old="window.give_up(self.b);", new=panics)
    with pytest.raises(fairhaul.RunError, match=r"at 6.* ms.*no window for \d+ packets"):
        fairhaul.run(
            PATH,
            {"flow.a.controller": "broken"},
            controllers={"broken": library},
        )


def test_parameters_of_a_library_are_checked(library: Path) -> None:
    def refused(**values: object) -> str:
        controller = {"kind": "library", "library": str(library), **values}
        with pytest.raises(ScenarioError) as raised:
            read_one(PATH, {"flow.a.controller": controller})
        return str(raised.value)

    assert "there is no parameter `c`; there are a, b" in refused(c=1)
    assert "a must be above 0" in refused(a=-1)
    assert "`a`: wanted a number" in refused(a="much")
    with pytest.raises(ScenarioError, match="no such file"):
        read_one(PATH, controllers={"mine": library.with_name("libnone.so")})
    with pytest.raises(ScenarioError, match="is not a shared library"):
        read_one(
            PATH,
            {"flow.a.controller": {"kind": "library", "library": str(Path(__file__))}},
        )

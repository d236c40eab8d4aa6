"""What all studies share: their options, their outcome, and the example of a study of one's own."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

from fairhaul import cli
from fairhaul.cli.study import EXCEPTIONS
from fairhaul.jobs.store import Store
from tools import ROOT

OPTIONS = {
    *("--out", "--dask", "--shard", "--jobs", "--seeds", "--profile"),
    *("--report", "--markdown", "--json"),
}
STUDIES = (
    *("compare", "advise", "score", "evaluate", "check", "attack", "reproduce", "sweep", "run"),
    "cells",
    "explain",
    "trial",
)
SCENARIO = """
title = "Two flows"
duration = "4 s"
profile = "plain"
[bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", capacity = "1 bdp" }
[[flow]]
name = "one"
rtt = "20 ms"
controller = "cubic"
[[flow]]
name = "two"
rtt = "40 ms"
controller = "reno"
[[expect]]
what = "The link is used"
number = "links.bottleneck.utilization"
at_least = 0.5
"""


def command(name: str) -> click.Command:
    within = {"cells": "lab", "trial": "kernel"}.get(name)
    group = cli.fairhaul if within is None else cli.fairhaul.commands[within]
    assert isinstance(group, click.Group)
    return group.commands[name]


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_has_the_options_of_all_studies_but_the_exceptions(name: str) -> None:
    has = {option for of in command(name).params for option in of.opts}
    lacks = set(EXCEPTIONS.get(name, {}))
    assert lacks <= OPTIONS
    assert has & OPTIONS == OPTIONS - lacks


def test_the_page_of_commands_has_the_exceptions() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    for name, reasons in EXCEPTIONS.items():
        for why in set(reasons.values()):
            options = ", ".join(f"`{option}`" for option in reasons if reasons[option] == why)
            assert f"| `{name}` | {options} | {why} |" in page


def test_a_shard_does_its_part_and_the_answer_requires_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.toml"
    file.write_text(SCENARIO)
    check = ["check", str(file), "--engine", "sim", "--out", str(tmp_path / "kept"), "--json"]
    for part in ("1/2", "2/2"):
        assert cli.status_of([*check, "--shard", part]) == 0
        shown = capsys.readouterr()
        if part == "1/2":
            assert shown.out == ""
            assert "3 of 5 results are in" in shown.err
    assert len(Store(tmp_path / "kept")) == 5
    assert cli.status_of(check) == 0
    whole = json.loads(capsys.readouterr().out)
    assert cli.status_of(["check", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["values"] == whole["values"]


def test_a_cluster_or_a_shard_requires_a_directory(capsys: pytest.CaptureFixture[str]) -> None:
    for option in (["--shard", "1/2"], ["--dask", "tcp://127.0.0.1:1"]):
        assert cli.status_of(["score", "cubic", *option]) == 2
        assert f"{option[0]} requires --out" in capsys.readouterr().err


def test_a_profile_is_for_files_that_name_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "two.toml"

    def profiles(text: str, *more: str) -> set[str]:
        file.write_text(text)
        assert cli.status_of(["run", str(file), "--json", *more]) == 0
        (of,) = json.loads(capsys.readouterr().out)["values"]["scenarios"]
        (run,) = of["runs"]
        return {flow["profile"] for flow in run["flows"]}

    bare = SCENARIO.replace('profile = "plain"\n', "")
    assert profiles(bare) == {"linux"}
    assert profiles(bare, "--profile", "plain") == {"plain"}
    assert profiles(SCENARIO, "--profile", "linux") == {"plain"}
    assert profiles(bare, "--profile", "linux", "--set", "profile=plain") == {"plain"}
    assert cli.status_of(["run", str(file), "--profile", "linus"]) == 2
    assert "linus" in capsys.readouterr().err


@pytest.fixture
def example(tmp_path: Path) -> ModuleType:
    """The study of the page for contributors."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    (code,) = re.findall(r"```python\n(\"\"\"[^`]*StudyResult[^`]*)```", page)
    assert len(code.splitlines()) <= 36
    file = tmp_path / "fairest.py"
    file.write_text(code)
    spec = importlib.util.spec_from_file_location("fairest", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fairest"] = module
    spec.loader.exec_module(module)
    return module


def test_the_example_of_a_study_runs_keeps_its_runs_and_is_written(
    example: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO)
    done = example.fairest(tmp_path / "two.toml", ["cubic", "reno"], out=tmp_path / "kept")
    assert len(Store(tmp_path / "kept")) == 2
    again = example.fairest(tmp_path / "two.toml", ["cubic", "reno"], out=tmp_path / "kept")
    assert again.to_dict() == done.to_dict()
    index = done.to_dict()["values"]
    assert set(index) == {"cubic", "reno"}
    assert f"{max(index, key=lambda name: index[name])} divides" in done.markdown()

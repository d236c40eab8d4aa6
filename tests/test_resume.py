"""What was interrupted goes on: `run --out`, and the reproduction of a paper."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairhaul import cli
from fairhaul.jobs.store import Store
from fairhaul.record.record import read_record
from fairhaul.runs import runs
from fairhaul.studies import papers
from tests.test_sweep import SWEEP

LONG = SWEEP.replace('"2 s"', '"20 s"').replace("20 Mbit/s", "200 Mbit/s")


def run(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "fairhaul", "run", str(folder / "two.toml"), "--out"]
    return subprocess.Popen(
        [*command, str(folder / "out"), "--seeds", "2", "--jobs", "1", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_complete_runs_are_kept_and_not_run_again(tmp_path: Path, how: int) -> None:
    (tmp_path / "two.toml").write_text(LONG)
    process = run(tmp_path)
    draft = tmp_path / ".out.draft"
    deadline_s = time.monotonic() + 60
    while len(list(draft.glob("*/meta.json"))) < 2:
        assert process.poll() is None
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    process.send_signal(how)
    _, err = process.communicate(timeout=20)
    assert ("the same command goes on" in err) == (how == signal.SIGINT)
    before = {file.parent.name: read_record(file.parent).meta for file in draft.glob("*/meta.json")}
    assert 2 <= len(before) < 12
    again = run(tmp_path)
    _, err = again.communicate(timeout=60)
    assert again.returncode == 0
    assert f"{len(before)} of 12 runs are complete already" in err
    files = tmp_path.glob("out/*/meta.json")
    after = {file.parent.name: read_record(file.parent).meta for file in files}
    assert len(after) == 12
    for name, meta in before.items():
        assert after[name] == meta, "it was run again"
    assert not draft.exists()


def test_a_record_of_another_scenario_is_not_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "two.toml").write_text(SWEEP)
    command = ["run", str(tmp_path / "two.toml"), "--out", str(tmp_path / "out")]
    assert cli.status_of(command) == 0
    # As if the command had been killed before its last step, and a record damaged since.
    (tmp_path / "out").rename(tmp_path / ".out.draft")
    damaged = sorted((tmp_path / ".out.draft").glob("*/event.parquet"))[0]
    damaged.write_bytes(damaged.read_bytes()[:-3])
    capsys.readouterr()
    assert cli.status_of(command) == 0
    assert "5 of 6 runs are complete already" in capsys.readouterr().err
    (tmp_path / "out").rename(tmp_path / ".out.draft")
    assert cli.status_of([*command, "--set", "bottleneck.rate=21 Mbit/s"]) == 0
    assert "complete already" not in capsys.readouterr().err
    rates = {
        read_record(file.parent).meta["scenario"]["links"][0]["rate_bps"]
        for file in tmp_path.glob("out/*/meta.json")
    }
    assert rates == {21_000_000}


class AllAgain(Exception):
    """What is to be run is known, and need not be run."""


def test_a_paper_is_not_run_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    for_each = runs.for_each

    def counted(plan: list[object], *rest: object, **more: object) -> object:
        ran.append(len(plan))
        if len(ran) == 3:
            raise AllAgain
        return for_each(plan, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("fairhaul.jobs.values.for_each", counted)

    def reproduce() -> str:
        done = papers.reproduce(
            "ghstcp", quick=True, only=["switching"], seeds=2, out=tmp_path / "paper"
        )
        kept = [part.results.kept for part in done.parts]
        return json.dumps([table.to_dict() for table in done.tables]) + re.sub(
            r" at 0x\w+", "", repr(kept)
        )

    first = reproduce()
    assert ran[0] > 0
    assert reproduce() == first
    assert ran[1:] == [0]
    assert len(Store(tmp_path / "paper")) == ran[0]
    monkeypatch.setattr("fairhaul.studies.papers.folder.build_of", lambda *_: "changed")
    with pytest.raises(AllAgain):
        reproduce()
    assert ran[2] == ran[0], "other code computes the numbers"


@pytest.mark.parametrize(
    "command",
    [
        "compare cubic reno --rate 10Mbit/s --rtt 40ms --buffer 1bdp --duration 5s --seeds 2",
        "score reno --paths 8",
        "advise --rate 10Mbit/s --rtt 40ms --buffer 1bdp --budget 5s --only cubic --only reno",
    ],
)
def test_a_study_with_a_directory_goes_on_with_the_runs_that_it_finds(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [*command.split(), "--json", "--out", str(tmp_path / "kept")]
    assert cli.status_of(words) == 0
    first = capsys.readouterr().out

    def none_left(plan: list[object], *_: object, **__: object) -> list[object]:
        assert plan == []
        return []

    monkeypatch.setattr("fairhaul.runs.runs.for_each", none_left)
    assert cli.status_of(words) == 0
    assert capsys.readouterr().out == first

"""The exercises of the course: what meets them, what does not, and the marks of a folder."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

import fairhaul
from fairhaul import cli
from fairhaul.scenario import own
from tests.course import (
    fair_factor,
    long_path,
    round_trips,
    sawtooth,
    short_queue,
    two_worlds,
)

COURSE = Path(__file__).parents[1] / "scenarios" / "course"
SOLUTIONS = {
    "1-sawtooth": sawtooth,
    "2-round-trips": round_trips,
    "3-long-path": long_path,
    "4-short-queue": short_queue,
    "5-two-worlds": two_worlds,
    "6-fair-factor": fair_factor,
}
SET = {"flow.student*.controller": "student"}
BEGIN = own.load("--controller", [f"student={COURSE}/student.py:Student"])["student"]


def test_every_exercise_has_a_solution() -> None:
    assert sorted(SOLUTIONS) == sorted(file.stem for file in COURSE.glob("*.toml"))


@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_solution_meets_everything_and_the_begin_does_not(name: str) -> None:
    file = COURSE / f"{name}.toml"
    solved = fairhaul.check(
        file, SET, strict=True, controllers={"student": SOLUTIONS[name].Student}
    )
    assert solved.passed(), str(solved)
    begun = fairhaul.check(file, SET, controllers={"student": BEGIN})
    assert not begun.passed() or begun.count("undecided") > 0


def test_a_folder_is_marked_into_a_table_with_pictures_of_what_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "submissions"
    (folder / "anna").mkdir(parents=True)
    shutil.copy(Path(sawtooth.__file__), folder / "anna" / "mine.py")
    shutil.copy(COURSE / "student.py", folder / "begin.py")
    (folder / "broken.py").write_text("class Student:\n    every = 'round'\n")
    endless = "import time\ntime.sleep(1000)\nclass Student: ...\n"
    (folder / "endless.py").write_text(endless)
    (folder / "notes.py").write_text("x = 1\n")
    table = tmp_path / "marks.csv"
    command = ["mark", str(COURSE / "1-sawtooth.toml"), str(folder), "--csv", str(table)]
    command += ["--out", str(tmp_path / "out"), "--seconds", "30"]
    assert cli.status_of(command) == 0
    shown = capsys.readouterr().out
    assert "1 of 4 submissions meet everything" in shown
    assert "Not marked, because they have no class Student: notes.py." in shown
    rows = {row["submission"]: row for row in csv.DictReader(table.open(encoding="utf-8"))}
    assert {name: (row["met"], row["expectations"]) for name, row in rows.items()} == {
        "anna/mine.py": ("2", "2"),
        "begin.py": ("0", "2"),
        "broken.py": ("0", "0"),
        "endless.py": ("0", "0"),
    }
    assert "a round trip adds half a packet" in rows["begin.py"]["failed"]
    assert "Controller" in rows["broken.py"]["error"]
    assert rows["endless.py"]["error"] == "was not done after 30 s"
    pages = [Path(rows[name]["report"]).read_text() for name in ("anna/mine.py", "begin.py")]
    assert ["<figure" in page for page in pages] == [False, True]


@pytest.mark.parametrize(
    ("exercise", "folder", "message"),
    [
        ("none.toml", ".", "none.toml: no such file"),
        (str(COURSE / "1-sawtooth.toml"), "empty", "has no submission"),
    ],
)
def test_mistakes_are_explained(
    exercise: str,
    folder: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert cli.status_of(["mark", exercise, folder]) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [tmp_path / "empty"]

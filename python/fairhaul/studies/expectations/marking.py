"""Marks: whether each controller in a folder of submissions meets what an exercise expects.

A submission is a file of Python with a class `Student`. Each is checked in a process of its own,
which ends after some time, so that one that fails or hangs costs nothing but its own mark.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from fairhaul.files.files import csv_text, in_package
from fairhaul.files.files import replace as write_file
from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.expectations import MET
from fairhaul.studies.expectations.cases import files_of

__all__ = ["Mark", "mark", "write_marks"]

CLASS, NAME = "Student", "student"
# What a submission controls.
FLOWS = "flow.student*.controller"
SECONDS = 60.0
COLUMNS = ("submission", "met", "expectations", "failed", "error", "report")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The mark of a submission: how many expectations it meets, and which it does not."""

    submission: str
    met: int = 0
    expectations: int = 0
    failed: tuple[str, ...] = ()
    """What was expected and is not met, or undecided."""
    error: str = ""
    """Why it could not be checked."""
    report: str = ""
    """The page with the figures of its runs."""

    @property
    def passed(self) -> bool:
        """Whether it meets everything."""
        return not self.error and not self.failed


def mark(
    exercise: str | PathLike[str],
    folder: str | PathLike[str],
    *,
    out: str | PathLike[str] = "out/marks",
    seconds: float = SECONDS,
    on_mark: Callable[[Mark], None] | None = None,
) -> list[Mark]:
    """Mark every submission of a folder by an exercise.

    Args:
        exercise: a scenario with `[[expect]]`, of which a submission controls the flows whose names
            begin with `student`; or a folder of them.
        folder: files of Python with a class `Student`, in it or in folders of it.
        out: the directory that gets the runs and a page for each submission.
        seconds: how long the check of one may take.
        on_mark: is called with each mark when it is known.

    Raises:
        ScenarioError: there is no such exercise, or no submission.
    """
    files_of([Path(exercise)])
    if not Path(exercise).exists():
        raise ScenarioError(f"{exercise}: no such file{in_package(Path(exercise))}")
    submissions = _sources(Path(folder), with_class=True)
    if not submissions:
        raise ScenarioError(f"{folder}: the folder has no submission (*.py)")
    marks = []
    for file in submissions:
        name = str(file.relative_to(folder))
        place = Path(out) / name.removesuffix(".py")
        marks.append(_marked(name, file, Path(exercise), place, seconds))
        if on_mark is not None:
            on_mark(marks[-1])
    return marks


def write_marks(file: Path, marks: Sequence[Mark]) -> None:
    """Write marks as CSV, whole or not at all."""
    rows = (
        (one.submission, one.met, one.expectations, "; ".join(one.failed), one.error, one.report)
        for one in marks
    )
    write_file(file, csv_text([COLUMNS, *rows]).encode())


def unmarked(folder: Path) -> list[str]:
    """Name the files of Python in a folder that are no submissions."""
    return [str(file.relative_to(folder)) for file in _sources(folder, with_class=False)]


def _sources(folder: Path, *, with_class: bool) -> list[Path]:
    """Give the files of Python in a folder that have the class of a submission, or do not."""
    word = f"class {CLASS}"
    return [
        file
        for file in sorted(folder.rglob("*.py"))
        if (word in file.read_text(encoding="utf-8", errors="replace")) == with_class
    ]


def _marked(name: str, file: Path, exercise: Path, place: Path, seconds: float) -> Mark:
    command = [sys.executable, "-m", "fairhaul", "check", str(exercise), "--json", "--report"]
    command += ["--controller", f"{NAME}={file}:{CLASS}", "--set", f"{FLOWS}={NAME}"]
    command += ["--out", str(place)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            shown, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Mark(submission=name, error=f"was not done after {seconds:g} s")
    if not shown.strip():
        lines = said.strip().splitlines() or [f"ended with status {process.returncode}"]
        return Mark(submission=name, error=lines[-1])
    cases = json.loads(shown)["values"]["cases"]
    every = [one for case in cases for one in case["expectations"]]
    missed = [one for one in every if one["verdict"] != MET]
    page = place / "report.html"
    return Mark(
        submission=name,
        met=len(every) - len(missed),
        expectations=len(every),
        failed=tuple(one["what"] for one in missed),
        report=str(page) if page.is_file() else "",
    )

"""The layers of the package: an import from above, or in a circle, breaks `make check`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import ROOT


def linted(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts of `pyproject.toml` on a copy of the package in a folder."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package's sources, which a test may change."""
    copy = tmp_path / "fairhaul"
    ignored = shutil.ignore_patterns("bin", "scenarios", "*.gz", "__pycache__")
    shutil.copytree(ROOT / "python" / "fairhaul", copy, ignore=ignored)
    return copy


def test_the_package_keeps_to_its_layers(package: Path) -> None:
    done = linted(package.parent)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("file", "line", "broken"),
    [
        ("text/digits.py", "from fairhaul.cli import show", "Folders import those below them"),
        ("measures/losses.py", "def f():\n    from fairhaul.jobs import plan", "Folders import"),
        ("studies/scoring/cases.py", "import fairhaul.studies.attack", "Studies import no other"),
        ("record/columns.py", "import fairhaul.record.series", "No modules import each other"),
        ("newroom.py", "", "Folders import"),
    ],
)
def test_an_import_from_above_is_found(package: Path, file: str, line: str, broken: str) -> None:
    with (package / file).open("a") as source:
        source.write(f"\n{line}\n")
    done = linted(package.parent)
    assert done.returncode == 1
    assert broken in done.stdout.replace("\n", " ")

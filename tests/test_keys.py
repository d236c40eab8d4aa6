"""Keys of results: what computes a value is part of its key, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairhaul.jobs.store import sources
from fairhaul.measures import measures
from fairhaul.record import outcome
from fairhaul.studies import expectations, papers
from fairhaul.studies.advice import measured as advice_figures
from fairhaul.studies.attack import figures as attack_figures
from fairhaul.studies.cells import figures as cell_figures
from fairhaul.studies.scoring import figures as score_figures
from fairhaul.studies.tcpeval import measures as suite_measures

PAPER = papers.paper_of("xcp-tcp")
NUMBERS = next(iter(PAPER.experiments.values())).numbers

# What computes the values of each study, a file on which they depend, and one on which they do not.
STUDIES: dict[str, tuple[Callable[..., Any], str, str]] = {
    "run": (outcome.record_of, "record/record.py", "measures/measures.py"),
    "sweep": (measures.figures, "measures/fairness.py", "figures/swept.py"),
    "compare": (measures.figures, "measures/losses.py", "studies/comparison/plan.py"),
    "advise": (
        advice_figures.transfer_figures,
        "measures/losses.py",
        "studies/advice/tournament.py",
    ),
    "score": (score_figures.figures_of, "measures/dynamics.py", "studies/scoring/cases.py"),
    "check": (expectations.expected, "measures/formula.py", "studies/expectations/checking.py"),
    "attack": (attack_figures.figures_of, "measures/dynamics.py", "studies/attack/search.py"),
    "lab cells": (cell_figures.figures_of, "measures/losses.py", "studies/cells/agreement.py"),
    "evaluate --suite": (
        suite_measures.central_link,
        "measures/measures.py",
        "studies/tcpeval/template.py",
    ),
    "reproduce": (NUMBERS, "measures/loss_sync.py", "cli/reproduce.py"),
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the sources, which a test may change."""
    copy = tmp_path / "fairhaul"
    shutil.copytree(sources.ROOT, copy, ignore=shutil.ignore_patterns("*.so", "bin", "*.wasm"))
    monkeypatch.setattr(sources, "ROOT", copy)
    return copy


def digest(package: Path, compute: Callable[..., Any], *files: Path) -> str:
    sources.sources.cache_clear()
    sources.imported.cache_clear()
    file = sources.file_of(compute)
    own = Path(*file.parts[file.parts.index("fairhaul") + 1 :])
    return sources.digest([package / own, *files])


@pytest.mark.parametrize("study", STUDIES)
def test_a_key_depends_on_what_computes_the_value_and_on_nothing_else(
    study: str, package: Path
) -> None:
    compute, source, other = STUDIES[study]
    before = digest(package, compute)
    (package / other).write_text((package / other).read_text() + "\nCHANGED = 1\n")
    assert digest(package, compute) == before
    (package / source).write_text((package / source).read_text() + "\nCHANGED = 1\n")
    assert digest(package, compute) != before


def test_of_a_paper_its_own_files_count(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    shutil.copytree(Path(__file__).parents[1] / "docs" / "own-paper", folder)

    def by() -> str:
        paper = papers.paper_of(folder)
        sources.sources.cache_clear()
        name, experiment = next(iter(paper.experiments.items()))
        return paper.task(name, experiment, [], 1).by

    before = by()
    (folder / "notes.txt").write_text("nothing is computed here")
    assert by() == before
    (folder / "paper.toml").write_text((folder / "paper.toml").read_text() + "\n# changed\n")
    assert by() != before


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from fairhaul import measure", {"measures/measures.py"}),
        ("from fairhaul.measures.formula import read_formula", {"measures/formula.py"}),
        ("def f():\n    from fairhaul.record import record", {"record/record.py"}),
        ("import fairhaul\nfairhaul.read_record(1)", {"record/record.py"}),
        ("from fairhaul import kernel", {"host/kernel.py"}),
        ("import fairhaul.studies.scoring.paths as paths", {"studies/scoring/paths.py"}),
        ("if TYPE_CHECKING:\n    from fairhaul.record import record", set()),
        ("import numpy\nfrom math import pi", set()),
    ],
)
def test_what_a_file_imports_of_fairhaul(text: str, found: set[str], tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(text)
    of_fairhaul = {source.relative_to(sources.ROOT).as_posix() for source in sources.imported(file)}
    assert of_fairhaul == found

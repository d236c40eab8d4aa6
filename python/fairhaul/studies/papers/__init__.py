"""Papers that are reproduced: their numbers beside ours, and a verdict on each of their claims.

A paper is a folder with a `paper.toml`: its question and its experiments. An experiment declares
the cases to run, the numbers of a run, and from those of all seeds tables, claims and figures.
`folder` reads it, `run` runs all cases, `outcome` puts the result into words. A user's own paper is
a folder of the same kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fairhaul.files.files import PACKAGE
from fairhaul.studies.papers.table import Cell, Row, Table

if TYPE_CHECKING:
    from fairhaul.jobs.values import RunOptions
    from fairhaul.scenario.engines import Engine
    from fairhaul.studies.papers.run import Paper, Reproduction

__all__ = [
    "PAPERS",
    "Cell",
    "Row",
    "Table",
    "catalogue",
    "on_a_kernel",
    "paper_of",
    "reproduce",
    "scenario_file",
]

OWN = "Your own paper is a folder with a paper.toml."

# Each is a folder of this package, with "_" for "-".
PAPERS = ("fhstcp", "ghstcp", "synctcp", "xcp-tcp", "cubic-fairness")


def catalogue() -> list[dict[str, Any]]:
    """Give the papers by name, title and key."""
    from fairhaul.studies.papers.folder import heading

    return [{"name": name, **heading(name)} for name in PAPERS]


def on_a_kernel() -> list[str]:
    """Give the papers of which experiments can run on hosts with a kernel."""
    return [
        name
        for name in PAPERS
        if any(experiment.on(["linux"]) for experiment in paper_of(name).experiments.values())
    ]


def paper_of(paper: str | PathLike[str]) -> Paper:
    """Read one of `PAPERS`, or the paper of a folder with a `paper.toml`.

    Raises:
        ScenarioError: there is no such paper, or it is wrong; `args` are all mistakes.
    """
    from fairhaul.scenario.read import ScenarioError
    from fairhaul.studies.papers import folder
    from fairhaul.text.nearest import hint

    if isinstance(paper, str) and paper in PAPERS:
        return folder.built_in(paper)
    if isinstance(paper, str) and not is_folder(paper):
        raise ScenarioError(f"unknown paper {paper!r}; {hint(paper, PAPERS)} {OWN}")
    return folder.load(Path(paper))


def is_folder(paper: str) -> bool:
    """Whether a word on the command line is a folder and not the name of a paper."""
    return "/" in paper or paper == "." or Path(paper).is_dir()


def reproduce(
    paper: str | PathLike[str],
    *,
    quick: bool = False,
    seeds: int | None = None,
    only: Sequence[str] = (),
    overrides: Mapping[str, object] | None = None,
    engine: Engine | Sequence[Engine] = "sim",
    **options: Unpack[RunOptions],
) -> Reproduction:
    """Reproduce the tables of `paper` beside its own numbers.

    Args:
        paper: one of `PAPERS`, such as `"fhstcp"`, or a folder with a `paper.toml`.
        quick: fewer seeds and shorter runs.
        seeds: the number of runs of each scenario; by default the experiment's own.
        only: the names of the experiments to run; by default all of the paper.
        overrides: further keys to change in their scenarios.
        engine: `"sim"`, or with it `"linux"`, `"lab"` or both. With these, the simulator predicts
            and kernels run the same scenarios; `seeds` is then the number of kernel runs.
        options: how the runs are run, as `fairhaul.jobs.values.Running` has it. With a kernel, the
            prediction is in the directory before the kernel runs, by default in the working
            directory.

    Raises:
        ScenarioError: there is no such paper or experiment, the paper is wrong, or it cannot run in
            an engine with a kernel.
        Refused: such an engine cannot run here; nothing was changed.
        RunError: a run failed.
    """
    from fairhaul.jobs.values import Running
    from fairhaul.studies.papers import run

    return run.reproduce(
        paper_of(paper),
        quick=quick,
        seeds=seeds,
        only=only,
        set=overrides or {},
        running=Running.of(options),
        on=(engine,) if isinstance(engine, str) else engine,
    )


def scenario_file(paper: str, name: str) -> Path:
    """Give the file of a scenario of one of `PAPERS`."""
    return PACKAGE / "scenarios" / "papers" / paper / name

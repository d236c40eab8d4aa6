"""The papers that are reproduced: their numbers beside ours, and what is to be said of both.

A paper is a module of this package with a `PAPER`: its question and its experiments. An experiment
gives cases to run, the numbers of a run, and from those of all seeds tables, claims and figures.
All the rest is here: `run` runs everything, `report` writes the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul.papers.table import Cell, Row, Table
from fairhaul.renamed import renamed

if TYPE_CHECKING:
    from fairhaul.papers.run import Paper, Reproduction
    from fairhaul.runs import Engine, OnProgress

__all__ = [
    "PAPERS",
    "Cell",
    "Row",
    "Table",
    "catalogue",
    "on_the_lab",
    "reproduce",
    "scenario_file",
]

# Each is a module of this package, with "_" for "-".
PAPERS = {
    "fhstcp": ("A Fair Bulk Data Transmission Protocol in Grid Environments", "FHSTCP"),
    "ghstcp": ("Experimental Evaluation of Gentle HighSpeed TCP", "GHSTCP"),
    "synctcp": ("Sync-TCP in High-Speed Environments", "SYNC-TCP"),
    "xcp-tcp": (
        "Fairness Issues When Transferring Large Volumes of Data on High Speed Networks With "
        "Router-Assisted Transport Protocols",
        "XCP-TCP",
    ),
    "cubic-fairness": ("TCP Fairness Analysis of CUBIC TCP Simulated by NS-2", "CUBIC-FAIRNESS"),
}


def catalogue() -> list[dict[str, Any]]:
    """Give the papers by name, title and key."""
    return [
        {"name": name, "title": title, "source": source} for name, (title, source) in PAPERS.items()
    ]


def on_the_lab() -> list[str]:
    """Give the papers of which experiments can run on real hosts."""
    return [
        name
        for name in PAPERS
        if any(one.lab is not None for one in _paper(name).experiments.values())
    ]


def _paper(name: str) -> Paper:
    module = import_module(f"fairhaul.papers.{name.replace('-', '_')}")
    found: Paper = module.PAPER
    return found


@renamed(set="overrides", on="engine", watch="on_progress")
def reproduce(  # noqa: PLR0913
    paper: str,
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
    only: Sequence[str] = (),
    overrides: Mapping[str, object] | None = None,
    engine: Engine | Sequence[Engine] = "sim",
    out: Path | None = None,
) -> Reproduction:
    """Reproduce the tables of `paper` beside its own numbers.

    `fairhaul.papers.report.write` makes a report of what this gives.

    Args:
        paper: one of `PAPERS`, such as `"fhstcp"`.
        quick: fewer seeds and shorter runs.
        seeds: the number of runs of each scenario; by default the experiment's own.
        jobs: the number of runs at a time; by default one per core.
        on_progress: called with the progress of the runs.
        only: the names of the experiments to run; by default all of the paper.
        overrides: further keys to change in their scenarios.
        engine: `"sim"`, or `("sim", "lab")`. With `"lab"`, as root, the simulator predicts and real
            kernels run the same scenarios; `seeds` is then the number of kernel runs.
        out: the directory where the prediction is stored before the kernel runs; by default the
            working directory.

    Raises:
        ScenarioError: there is no such paper or experiment, or it cannot run in the lab.
        Refused: the lab cannot run here; nothing was changed.
        RunError: a run failed.
    """
    from fairhaul.nearest import hint
    from fairhaul.papers import run
    from fairhaul.scenario import ScenarioError

    if paper not in PAPERS:
        raise ScenarioError(f"unknown paper {paper!r}; {hint(paper, PAPERS)}")
    return run.reproduce(
        _paper(paper),
        quick=quick,
        seeds=seeds,
        jobs=jobs,
        on_progress=on_progress,
        only=only,
        set=overrides or {},
        on=(engine,) if isinstance(engine, str) else engine,
        out=out,
    )


def scenario_file(paper: str, name: str) -> Path:
    """Where a scenario of a paper lies in the package."""
    return Path(__file__).parents[1] / "scenarios" / "papers" / paper / name

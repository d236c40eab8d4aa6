"""Papers that are reproduced: their numbers beside ours, and a verdict on each of their claims.

A paper is a folder with a `paper.toml`: its question and its experiments. An experiment declares
the cases to run, the numbers of a run, and from those of all seeds tables, claims and figures.
`folder` reads it, `run` runs all cases, `outcome` puts the result into words. A user's own paper is
a folder of the same kind.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul.files.names import imported

if TYPE_CHECKING:
    # What is read or imported only where it is needed.
    from fairhaul.studies.papers.folder import Paper as Paper
    from fairhaul.studies.papers.folder import catalogue as catalogue
    from fairhaul.studies.papers.folder import on_a_kernel as on_a_kernel
    from fairhaul.studies.papers.folder import paper_of as paper_of
    from fairhaul.studies.papers.folder import scenario_file as scenario_file
    from fairhaul.studies.papers.run import reproduce as reproduce
    from fairhaul.studies.papers.table import Cell as Cell

_HOME = imported(Path(__file__), "fairhaul")

OWN = "Your own paper is a folder with a paper.toml."

# Each is a folder of this package, with "_" for "-".
PAPERS = ("fhstcp", "ghstcp", "synctcp", "xcp-tcp", "cubic-fairness")


def is_folder(paper: str) -> bool:
    """Whether a word on the command line is a folder and not the name of a paper."""
    return "/" in paper or paper == "." or Path(paper).is_dir()


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name].rpartition(".")[0]), name)

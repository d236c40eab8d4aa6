"""Fairhaul: congestion control for bulk data on fast, long paths, simulated and on real kernels.

    >>> import fairhaul
    >>> answer = fairhaul.run("scenario.toml", {"duration": "60 s"}, seeds=5)
    >>> answer.summary["fairness"]["jain"]

Every command of the command line is a function here, or a module of functions: `kernel`, `flows`,
`lab`, `linux` and `studio`; `report` is `write_report`, `results` is `read_sweep`, `list` is
`catalogue`. Heavy libraries are imported when they are first used.

All errors are one of four: `ScenarioError` (the input is wrong; `args` are all mistakes, one line
each), `RunError` (a run failed), `Stopped` (a `RunError`: a run was asked to stop), and `Refused`
(the lab or the kernel cannot do it on this host, and nothing was changed).
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul._core import RunError, Scenario, ScenarioError, Stopped, __version__
from fairhaul.files.names import imported

if TYPE_CHECKING:
    # The one table of public names: the rest of this file reads it.
    from fairhaul import linux as linux
    from fairhaul import studio as studio
    from fairhaul.answers.answers import Answer as Answer
    from fairhaul.answers.answers import Answers as Answers
    from fairhaul.figures.view import View as View
    from fairhaul.host import flows as flows
    from fairhaul.host import kernel as kernel
    from fairhaul.host.process import Refused as Refused
    from fairhaul.jobs.values import Running as Running
    from fairhaul.measures.batches import batch_means as batch_means
    from fairhaul.measures.dynamics import dynamics as dynamics
    from fairhaul.measures.harm import harm as harm
    from fairhaul.measures.measures import measure as measure
    from fairhaul.record.record import Record as Record
    from fairhaul.record.record import read_record as read_record
    from fairhaul.record.record import write_record as write_record
    from fairhaul.report.outcome import Outcome as Outcome
    from fairhaul.report.outcome import Section as Section
    from fairhaul.report.outcome import StudyResult as StudyResult
    from fairhaul.runs import lab as lab
    from fairhaul.runs.runs import Progress as Progress
    from fairhaul.runs.runs import for_each as for_each
    from fairhaul.runs.runs import run as run
    from fairhaul.runs.runs import run_each as run_each
    from fairhaul.runs.runs import run_many as run_many
    from fairhaul.runs.simulation import Simulation as Simulation
    from fairhaul.scenario.listings import catalogue as catalogue
    from fairhaul.scenario.listings import schema as schema
    from fairhaul.scenario.own import Ack as Ack
    from fairhaul.scenario.own import Controller as Controller
    from fairhaul.scenario.own import Event as Event
    from fairhaul.scenario.own import Round as Round
    from fairhaul.scenario.own import Window as Window
    from fairhaul.scenario.read import read as read
    from fairhaul.scenario.template import new_controller as new_controller
    from fairhaul.scenario.template import new_stack as new_stack
    from fairhaul.studies.advice import Advice as Advice
    from fairhaul.studies.advice import advise as advise
    from fairhaul.studies.attack import Attack as Attack
    from fairhaul.studies.attack import attack as attack
    from fairhaul.studies.comparison import Comparison as Comparison
    from fairhaul.studies.comparison import compare as compare
    from fairhaul.studies.evaluation import Evaluation as Evaluation
    from fairhaul.studies.evaluation import evaluate as evaluate
    from fairhaul.studies.expectations.checking import Check as Check
    from fairhaul.studies.expectations.checking import check as check
    from fairhaul.studies.expectations.marking import mark as mark
    from fairhaul.studies.explanation import Explanation as Explanation
    from fairhaul.studies.explanation import explain as explain
    from fairhaul.studies.papers import reproduce as reproduce
    from fairhaul.studies.report import write_report as write_report
    from fairhaul.studies.scoring import Score as Score
    from fairhaul.studies.scoring import score as score
    from fairhaul.studies.sweep import Sweep as Sweep
    from fairhaul.studies.sweep import read_sweep as read_sweep
    from fairhaul.studies.sweep import sweep as sweep
    from fairhaul.studies.tcpeval import SuiteResult as SuiteResult
    from fairhaul.text.table import Table as Table

_HOME = imported(Path(__file__), __name__)
# The names that are modules within a folder.
MODULES = ("flows", "kernel", "lab")

__all__ = ["RunError", "Scenario", "ScenarioError", "Stopped", "__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairhaul' has no attribute {name!r}")
    home = _HOME[name].rpartition(".")[0]
    is_module = home == __name__ or name in MODULES
    value = import_module(_HOME[name]) if is_module else getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

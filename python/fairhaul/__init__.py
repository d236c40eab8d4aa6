"""Fairhaul: congestion control for bulk data on fast, long paths, simulated and on real kernels.

    >>> import fairhaul
    >>> answer = fairhaul.run("scenario.toml", {"duration": "60 s"}, seeds=5)
    >>> answer.to_dict()["summary"]["fairness"]["jain"]

Every command of the command line is a function here. Heavy libraries are imported when they are
first used.

All errors are one of four: `ScenarioError` (the input is wrong; `args` are all mistakes, one line
each), `RunError` (a run failed), `Stopped` (a `RunError`: a run was asked to stop), and `Refused`
(the lab or the kernel cannot do it on this host, and nothing was changed).
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fairhaul._core import RunError, Scenario, ScenarioError, Stopped, __version__

if TYPE_CHECKING:
    from fairhaul.answers import Answer, Answers
    from fairhaul.batches import batch_means
    from fairhaul.checking import Check, check
    from fairhaul.comparison import Comparison, compare
    from fairhaul.dynamics import dynamics
    from fairhaul.evaluation import Evaluation, evaluate
    from fairhaul.harm import harm
    from fairhaul.host import Refused
    from fairhaul.listings import catalogue, schema
    from fairhaul.measures import measure
    from fairhaul.own import Controller
    from fairhaul.papers import reproduce
    from fairhaul.record import Record
    from fairhaul.record import read as read_record
    from fairhaul.record import write as write_record
    from fairhaul.report import write_report
    from fairhaul.runs import Progress, for_each, run, run_each, run_many
    from fairhaul.scenario import read
    from fairhaul.scoring import Score, score
    from fairhaul.simulation import Simulation
    from fairhaul.sweeps import Sweep, sweep

__all__ = [
    "Answer",
    "Answers",
    "Check",
    "Comparison",
    "Controller",
    "Evaluation",
    "Progress",
    "Record",
    "Refused",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Score",
    "Simulation",
    "Stopped",
    "Sweep",
    "__version__",
    "batch_means",
    "catalogue",
    "check",
    "compare",
    "dynamics",
    "evaluate",
    "for_each",
    "harm",
    "measure",
    "read",
    "read_record",
    "reproduce",
    "run",
    "run_each",
    "run_many",
    "schema",
    "score",
    "sweep",
    "write_record",
    "write_report",
]

HOME = {
    "Answer": ("runs", "Answer"),
    "Answers": ("runs", "Answers"),
    "Check": ("checking", "Check"),
    "Comparison": ("comparison", "Comparison"),
    "Controller": ("own", "Controller"),
    "Evaluation": ("evaluation", "Evaluation"),
    "Progress": ("runs", "Progress"),
    "Record": ("record", "Record"),
    "Refused": ("host", "Refused"),
    "Score": ("scoring", "Score"),
    "Simulation": ("simulation", "Simulation"),
    "Sweep": ("sweeps", "Sweep"),
    "batch_means": ("batches", "batch_means"),
    "catalogue": ("listings", "catalogue"),
    "check": ("checking", "check"),
    "compare": ("comparison", "compare"),
    "dynamics": ("dynamics", "dynamics"),
    "evaluate": ("evaluation", "evaluate"),
    "for_each": ("runs", "for_each"),
    "harm": ("harm", "harm"),
    "measure": ("measures", "measure"),
    "read": ("scenario", "read"),
    "read_record": ("record", "read"),
    "reproduce": ("papers", "reproduce"),
    "run": ("runs", "run"),
    "run_each": ("runs", "run_each"),
    "run_many": ("runs", "run_many"),
    "schema": ("listings", "schema"),
    "score": ("scoring", "score"),
    "sweep": ("sweeps", "sweep"),
    "write_record": ("record", "write"),
    "write_report": ("report", "write_report"),
}


def __getattr__(name: str) -> Any:
    if name not in HOME:
        raise AttributeError(f"module 'fairhaul' has no attribute {name!r}")
    module, attribute = HOME[name]
    value = getattr(import_module(f"fairhaul.{module}"), attribute)
    globals()[name] = value
    return value


class _Package(ModuleType):
    """The package, in which a name of `HOME` is never the module of the same name.

    Importing a module such as `fairhaul.dynamics` would replace the function `dynamics`.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name not in HOME or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted({*globals(), *HOME})

"""Fairhaul: congestion control for bulk data on fast, long paths, simulated and on real kernels.

    >>> import fairhaul
    >>> answer = fairhaul.run("scenario.toml", {"duration": "60 s"}, seeds=5)
    >>> answer.to_dict()["summary"]["fairness"]["jain"]

Every command of the command line is a function here, or a module of functions: `kernel`, `flows`,
`lab`, `linux` and `studio`. Heavy libraries are imported when they are first used.

All errors are one of four: `ScenarioError` (the input is wrong; `args` are all mistakes, one line
each), `RunError` (a run failed), `Stopped` (a `RunError`: a run was asked to stop), and `Refused`
(the lab or the kernel cannot do it on this host, and nothing was changed).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairhaul._core import RunError, Scenario, ScenarioError, Stopped, __version__

if TYPE_CHECKING:
    from fairhaul import linux, studio
    from fairhaul.answers.answers import Answer, Answers
    from fairhaul.host import flows, kernel
    from fairhaul.host.process import Refused
    from fairhaul.measures.batches import batch_means
    from fairhaul.measures.dynamics import dynamics
    from fairhaul.measures.harm import harm
    from fairhaul.measures.measures import measure
    from fairhaul.record.record import Record
    from fairhaul.record.record import read as read_record
    from fairhaul.record.record import write as write_record
    from fairhaul.runs import lab
    from fairhaul.runs.runs import Progress, for_each, run, run_each, run_many
    from fairhaul.runs.simulation import Simulation
    from fairhaul.scenario.listings import catalogue, schema
    from fairhaul.scenario.own import Controller
    from fairhaul.scenario.read import read
    from fairhaul.studies.advice import Advice, advise
    from fairhaul.studies.attack import Attack, attack
    from fairhaul.studies.comparison import Comparison, compare
    from fairhaul.studies.evaluation import Evaluation, evaluate
    from fairhaul.studies.expectations.checking import Check, check
    from fairhaul.studies.papers import reproduce
    from fairhaul.studies.report import write_report
    from fairhaul.studies.scoring import Score, score
    from fairhaul.studies.sweep import Sweep, sweep
    from fairhaul.studies.tcpeval import SuiteResult

__all__ = [
    "Advice",
    "Answer",
    "Answers",
    "Attack",
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
    "SuiteResult",
    "Sweep",
    "__version__",
    "advise",
    "attack",
    "batch_means",
    "catalogue",
    "check",
    "compare",
    "dynamics",
    "evaluate",
    "flows",
    "for_each",
    "harm",
    "kernel",
    "lab",
    "linux",
    "measure",
    "read",
    "read_record",
    "reproduce",
    "run",
    "run_each",
    "run_many",
    "schema",
    "score",
    "studio",
    "sweep",
    "write_record",
    "write_report",
]

# The module of each name; a name without another is the module itself.
_HOME = {
    "Advice": ("studies.advice", "Advice"),
    "Answer": ("runs.runs", "Answer"),
    "Answers": ("runs.runs", "Answers"),
    "Attack": ("studies.attack", "Attack"),
    "Check": ("studies.expectations.checking", "Check"),
    "Comparison": ("studies.comparison", "Comparison"),
    "Controller": ("scenario.own", "Controller"),
    "Evaluation": ("studies.evaluation", "Evaluation"),
    "Progress": ("runs.runs", "Progress"),
    "Record": ("record.record", "Record"),
    "Refused": ("host.process", "Refused"),
    "Score": ("studies.scoring", "Score"),
    "Simulation": ("runs.simulation", "Simulation"),
    "SuiteResult": ("studies.tcpeval", "SuiteResult"),
    "Sweep": ("studies.sweep", "Sweep"),
    "advise": ("studies.advice", "advise"),
    "attack": ("studies.attack", "attack"),
    "batch_means": ("measures.batches", "batch_means"),
    "catalogue": ("scenario.listings", "catalogue"),
    "check": ("studies.expectations.checking", "check"),
    "compare": ("studies.comparison", "compare"),
    "dynamics": ("measures.dynamics", "dynamics"),
    "evaluate": ("studies.evaluation", "evaluate"),
    "flows": ("host.flows", ""),
    "for_each": ("runs.runs", "for_each"),
    "harm": ("measures.harm", "harm"),
    "kernel": ("host.kernel", ""),
    "lab": ("runs.lab", ""),
    "linux": ("linux", ""),
    "measure": ("measures.measures", "measure"),
    "read": ("scenario.read", "read"),
    "read_record": ("record.record", "read"),
    "reproduce": ("studies.papers", "reproduce"),
    "run": ("runs.runs", "run"),
    "run_each": ("runs.runs", "run_each"),
    "run_many": ("runs.runs", "run_many"),
    "schema": ("scenario.listings", "schema"),
    "score": ("studies.scoring", "score"),
    "studio": ("studio", ""),
    "sweep": ("studies.sweep", "sweep"),
    "write_record": ("record.record", "write"),
    "write_report": ("studies.report", "write_report"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairhaul' has no attribute {name!r}")
    home, attribute = _HOME[name]
    module = import_module(f"fairhaul.{home}")
    value = getattr(module, attribute) if attribute else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

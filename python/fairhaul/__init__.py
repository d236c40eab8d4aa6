"""Fairhaul: who gets how much of a fast, long path, how soon, and at whose cost.

    >>> import fairhaul
    >>> answer = fairhaul.run("scenario.toml", {"duration": "60 s"}, seeds=5)
    >>> answer.to_dict()["summary"]["fairness"]["jain"]

Every verb of the command line is a function here. Nothing heavy is imported before it is used.

What goes wrong is one of four errors: `ScenarioError` (the input is wrong; `args` are all mistakes,
a line each), `RunError` (a run failed), `Refused` (the lab or the kernel cannot do it here, and
nothing was changed), `Stopped` (a run was asked to stop).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairhaul._core import RunError, Scenario, ScenarioError, Stopped, __version__

if TYPE_CHECKING:
    from fairhaul.comparison import Comparison, compare
    from fairhaul.host import Refused
    from fairhaul.look import catalogue, schema
    from fairhaul.measures import measure
    from fairhaul.papers import reproduce
    from fairhaul.record import Record
    from fairhaul.record import read as read_record
    from fairhaul.record import write as write_record
    from fairhaul.report import write_report
    from fairhaul.runs import Answer, run, run_many
    from fairhaul.scenario import read

__all__ = [
    "Answer",
    "Comparison",
    "Record",
    "Refused",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Stopped",
    "__version__",
    "catalogue",
    "compare",
    "measure",
    "read",
    "read_record",
    "reproduce",
    "run",
    "run_many",
    "schema",
    "write_record",
    "write_report",
]

_HOME = {
    "Answer": ("runs", "Answer"),
    "Comparison": ("comparison", "Comparison"),
    "Record": ("record", "Record"),
    "Refused": ("host", "Refused"),
    "catalogue": ("look", "catalogue"),
    "compare": ("comparison", "compare"),
    "measure": ("measures", "measure"),
    "read": ("scenario", "read"),
    "read_record": ("record", "read"),
    "reproduce": ("papers", "reproduce"),
    "run": ("runs", "run"),
    "run_many": ("runs", "run_many"),
    "schema": ("look", "schema"),
    "write_record": ("record", "write"),
    "write_report": ("report", "write_report"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fairhaul' has no attribute {name!r}")
    module, attribute = _HOME[name]
    found = getattr(import_module(f"fairhaul.{module}"), attribute)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

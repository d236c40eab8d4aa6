"""`fairhaul evaluate`: the criteria of RFC 9743 for controllers, by scenarios with expectations.

The scenarios are those of `scenarios/evaluation`, in which the flows `mine*` get the controller.
The files: `criteria` (the headings of the document), `rows` (what is found for each), `words`,
`markdown` and `report` (how it is written). `docs/evaluate.md` describes it.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul.files.files import PACKAGE
from fairhaul.scenario import own
from fairhaul.scenario.read import toml
from fairhaul.scenario.transport import read_transport
from fairhaul.studies.evaluation.criteria import HEADINGS
from fairhaul.studies.evaluation.rows import Row, rows_of, verdict_of
from fairhaul.studies.expectations.checking import Check, check_scenarios, files_of, read_cases

if TYPE_CHECKING:
    from fairhaul.jobs.values import Keeping
    from fairhaul.runs.runs import OnProgress
    from fairhaul.scenario.engines import Engine
    from fairhaul.studies.expectations import Verdict

__all__ = ["QUICK", "SCENARIOS", "SEEDS", "Evaluation", "evaluate"]

SCHEMA = 1
SCENARIOS = PACKAGE / "scenarios" / "evaluation"
# Runs of each scenario: in full, and quick.
SEEDS, QUICK = 20, 5


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What was found for each controller, by the rows of the table."""

    controllers: tuple[str, ...]
    seeds: int
    engines: tuple[Engine, ...]
    rows: tuple[Row, ...]
    settings: tuple[tuple[str, ...], ...]
    """Of each controller, the settings with which a scenario runs it, as for `--set`."""

    def of(self, section: str) -> list[Row]:
        """Give the rows of a heading."""
        return [row for row in self.rows if row.section == section]

    def verdict(self, section: str, controller: str) -> Verdict | None:
        """Judge a heading: not met if a row is not met, met if all are; None without rows."""
        return verdict_of([row.found[controller].verdict for row in self.of(section)])

    def to_dict(self) -> dict[str, Any]:
        """Give the object that `fairhaul evaluate --json` prints."""
        return {
            "schema": SCHEMA,
            "document": "RFC 9743",
            "controllers": list(self.controllers),
            "seeds": self.seeds,
            "engines": list(self.engines),
            "criteria": [
                {
                    "section": heading.section,
                    "title": heading.title,
                    "level": heading.level,
                    "not_evidenced": heading.missing or None,
                    "verdicts": {
                        name: self.verdict(heading.section, name) for name in self.controllers
                    },
                    "rows": [row.to_dict() for row in self.of(heading.section)],
                }
                for heading in HEADINGS
            ],
        }


def evaluate(
    controllers: Sequence[str | type[own.Controller]],
    *,
    seeds: int = SEEDS,
    engines: Sequence[Engine] = ("sim",),
    keeping: Keeping | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Run the scenarios of the evaluation with each controller, and judge their expectations.

    Args:
        controllers: names such as `"fhstcp"` and `"fhstcp:c=20"`, or classes of your own.
        seeds: the number of runs of each scenario; fewer than 5 decide nothing.
        engines: `"sim"`, `"linux"` or `"lab"`, or several of them.
        keeping: the store that keeps the numbers of runs in simulated time; what it has is not run
            again.
        jobs: the number of runs at a time; by default one per core.
        on_progress: called with the progress of the runs of one controller after the other.

    Raises:
        ScenarioError: a controller is wrong.
        Refused: an engine can run none of the scenarios here.
        RunError: a run failed.
    """
    files = files_of([SCENARIOS])
    with own.named(controllers) as names:
        settings = [_settings(name) for name in names]
        plans = [read_cases(files, pairs) for pairs in settings]
        checks: list[Check] = [
            check_scenarios(
                cases,
                tuple(engines),
                seeds=seeds,
                jobs=jobs,
                on_progress=on_progress,
                keeping=keeping,
            )
            for cases in plans
        ]
    return Evaluation(
        controllers=tuple(names),
        seeds=seeds,
        engines=tuple(engines),
        rows=tuple(rows_of(dict(zip(names, checks, strict=True)))),
        settings=tuple(tuple(f"{key}={value}" for key, value in pairs) for pairs in settings),
    )


def _settings(name: str) -> list[tuple[str, str]]:
    transport = read_transport(name)
    controller = transport.controller
    short = controller["kind"] if len(controller) == 1 else controller
    settings = [("flow.mine*.controller", toml(short))]
    if transport.connections > 1:
        settings.append(("flow.mine*.connections", str(transport.connections)))
    return settings


def copy_scenarios(out: Path) -> None:
    """Copy the scenarios beside a report, whose commands name them."""
    target = out / "scenarios"
    target.mkdir(parents=True, exist_ok=True)
    for file in files_of([SCENARIOS]):
        shutil.copyfile(file, target / file.name)

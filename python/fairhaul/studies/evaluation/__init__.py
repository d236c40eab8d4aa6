"""`fairhaul evaluate`: controllers by the scenarios of a suite.

The suite `rfc9743` has the criteria of RFC 9743, as scenarios with expectations. They are those of
`scenarios/evaluation`, in which the flows `mine*` get the controller, or a transport stack. A stack
is also judged by scenarios of its own (`stacks`). The files: `criteria.toml` (the headings of the
document), `rows` (what is found for each), and `words` (how it is written). The suite `tcpeval` is
`studies/tcpeval`. `docs/evaluate.md` describes both.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Unpack, overload

from fairhaul._core import ScenarioError
from fairhaul.files.files import PACKAGE
from fairhaul.jobs.values import Running, RunOptions
from fairhaul.report.outcome import StudyResult
from fairhaul.scenario import own
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import toml
from fairhaul.scenario.transport import read_transport
from fairhaul.studies.evaluation.rows import (
    HEADINGS,
    Row,
    RowVerdict,
    rows_of,
    verdict_of_rows,
)
from fairhaul.studies.evaluation.stacks import (
    DOCUMENTS,
    JUDGED,
    Part,
    Plan,
    plans_of,
    stack_rows,
)
from fairhaul.studies.evaluation.words import outcome_of
from fairhaul.studies.expectations.cases import files_of, read_cases
from fairhaul.studies.expectations.checking import check_all
from fairhaul.studies.expectations.stack_cases import stack_setting
from fairhaul.studies.tcpeval import SuiteResult, evaluate_by_tcpeval
from fairhaul.text.nearest import hint

__all__ = ["QUICK", "SCENARIOS", "SEEDS", "SUITES", "Evaluation", "SuiteResult", "evaluate"]

SCENARIOS = PACKAGE / "scenarios" / "evaluation"
# Runs of each scenario: in full, and quick.
SEEDS, QUICK = 20, 5
OF_STACKS = (
    "a transport stack sets the codepoint of its packets itself, so that no scenario can ask it "
    "for ECT(1)"
)
# The scenarios in which they send ECT(1), for controllers that can be L4S senders. What the reader
# says of these keys is why another one cannot, in its first sentence, and then advice on the keys.
SENDERS = "l4s-sender"
CANNOT = re.compile(r".*?: (?:ect1|accecn|ecn): (?P<why>.*?)(?:\. .*)?", re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Evaluation(StudyResult):
    """What was found for each controller, by the rows of the table."""

    controllers: tuple[str, ...]
    """Controllers and transport stacks, as they were given."""
    seeds: int
    engines: tuple[Engine, ...]
    rows: tuple[Row, ...]
    settings: tuple[tuple[str, ...], ...]
    """Of each controller, the settings with which a scenario runs it, as for `--set`."""
    folder: Path
    """Where the scenarios are."""
    options: str = ""
    """The options of a command that runs them with controllers of one's own, after a space."""
    stacks: tuple[str, ...] = ()
    """What of `controllers` are transport stacks."""
    stack_rows: tuple[Row, ...] = ()
    """What was found for the stacks by scenarios of their own; its sections are documents."""
    parts: tuple[Part, ...] = ()
    """The checks: of each controller and stack by the criteria, and of stacks by the others."""

    def of(self, section: str) -> list[Row]:
        """Give the rows of a heading."""
        return [row for row in self.rows if row.section == section]

    def verdict(self, section: str, controller: str) -> RowVerdict | None:
        """Judge a heading: not met if a row is not met, met if all are; None without rows."""
        return verdict_of_rows([row.found[controller].verdict for row in self.of(section)])

    outcome = outcome_of

    def values(self) -> dict[str, Any]:
        """Give the verdicts and numbers."""
        return {
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
            "documents": [
                {
                    "document": document,
                    "title": title,
                    "rows": [row.to_dict() for row in self.stack_rows if row.section == document],
                }
                for document, title in DOCUMENTS.items()
                if self.stacks
            ],
        }


@overload
def evaluate(
    controllers: Sequence[str | type[own.Controller]],
    *,
    suite: Literal["rfc9743"] = ...,
    stacks: Sequence[str] = ...,
    quick: bool = ...,
    seeds: int | None = ...,
    engines: Sequence[Engine] = ...,
    **options: Unpack[RunOptions],
) -> Evaluation: ...


@overload
def evaluate(
    controllers: Sequence[str | type[own.Controller]],
    *,
    suite: Literal["tcpeval"],
    quick: bool = ...,
    seeds: int | None = ...,
    only: Sequence[str] = ...,
    vectors: Path | None = ...,
    **options: Unpack[RunOptions],
) -> SuiteResult: ...


def evaluate(
    controllers: Sequence[str | type[own.Controller]], *, suite: str = "rfc9743", **options: Any
) -> Evaluation | SuiteResult:
    """Run the scenarios of a suite with each controller, and give what they found.

    Args:
        controllers: names such as `"fhstcp"` and `"fhstcp:c=20"`, or classes of your own.
        suite: `"rfc9743"`, the criteria of RFC 9743, each with a verdict; or `"tcpeval"`, the
            Common TCP Evaluation Suite, whose tables have no verdicts.
        options: of both suites: `quick` (5 seeds instead of 20, or in `"tcpeval"` one seed instead
            of 3 and a tenth of the times), `seeds` (another number of runs of each scenario; fewer
            than 5 decide nothing), and how the runs are run, as `fairhaul.jobs.values.Running` has
            it; a directory gets the scenarios, too. Of `"rfc9743"`: `stacks` (transport stacks that
            are judged as well, such as `"quinn"` or `"./libmine.so"`) and `engines` (`"sim"`,
            `"linux"` or `"lab"`, or several of them). Of `"tcpeval"`: `only` (the tests, by default
            all), and `vectors` (the directory of the nine traces; by default traffic is generated).

    Raises:
        ScenarioError: a controller is wrong, or the name of the suite or of a test.
        Refused: an engine can run none of the scenarios here.
        RunError: a run failed.
    """
    if suite not in SUITES:
        raise ScenarioError(f"unknown suite {suite!r}; {hint(suite, SUITES)}")
    return SUITES[suite](controllers, **options)


def evaluate_by_rfc9743(
    controllers: Sequence[str | type[own.Controller]],
    *,
    stacks: Sequence[str] = (),
    quick: bool = False,
    seeds: int | None = None,
    engines: Sequence[Engine] = ("sim",),
    **options: Unpack[RunOptions],
) -> Evaluation:
    """Run the scenarios of the criteria with each controller and stack, and judge them."""
    number = seeds or (QUICK if quick else SEEDS)
    files, running = files_of([SCENARIOS]), Running.of(options)
    with own.named(controllers) as names, TemporaryDirectory() as spare:
        kinds = [str(read_transport(name).controller["kind"]) for name in names]
        known = own.options(kinds)
        of_names = [_settings(name) for name in names]
        settings = [*of_names, *([stack_setting(stack, JUDGED)] for stack in stacks)]
        judged = [*names, *stacks]
        senders = [file for file in files if file.name.startswith(SENDERS)]
        reasons = _no_senders(senders, dict(zip(names, of_names, strict=True)))
        reasons |= dict.fromkeys(stacks, OF_STACKS)
        others = [file for file in files if file not in senders]
        plans = [
            Plan(
                name=name,
                files=others if name in reasons else files,
                settings=pairs,
                flow=JUDGED,
                by_criteria=True,
            )
            for name, pairs in zip(judged, settings, strict=True)
        ]
        for place, stack in enumerate(stacks):
            plans += plans_of(stack, Path(spare) / str(place))
        parts = _checked(plans, engines, running, number)
    return Evaluation(
        controllers=tuple(judged),
        seeds=number,
        engines=tuple(engines),
        rows=tuple(
            rows_of(
                {of.plan.name: of.check for of in parts if of.plan.by_criteria},
                read_cases(senders, []),
                reasons,
            )
        ),
        settings=tuple(tuple(f"{key}={value}" for key, value in pairs) for pairs in settings),
        folder=_kept(files, running.out),
        options=known,
        stacks=tuple(stacks),
        stack_rows=tuple(stack_rows([of for of in parts if not of.plan.by_criteria])),
        parts=tuple(parts),
    )


def _checked(
    plans: Sequence[Plan], engines: Sequence[Engine], running: Running, seeds: int
) -> list[Part]:
    cases = [read_cases(plan.files, plan.settings) for plan in plans]
    with running.opened() as opened:
        checks = check_all(cases, engines, opened, seeds=seeds)
    return [Part(plan=plan, check=of) for plan, of in zip(plans, checks, strict=True)]


def _kept(files: Sequence[Path], out: Path | None) -> Path:
    """Copy the scenarios to the results: the commands of a report name their folder."""
    if out is None:
        return SCENARIOS
    folder = out / "scenarios"
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copyfile(file, folder / file.name)
    return folder


SUITES: Mapping[str, Callable[..., Evaluation | SuiteResult]] = {
    "rfc9743": evaluate_by_rfc9743,
    "tcpeval": evaluate_by_tcpeval,
}


def _no_senders(
    files: Sequence[Path], settings: Mapping[str, Sequence[tuple[str, str]]]
) -> dict[str, str]:
    """Say of each controller that cannot be an L4S sender why, as its scenarios are read."""
    reasons = {}
    for name, pairs in settings.items():
        try:
            read_cases(files, pairs)
        except ScenarioError as error:
            found = next(filter(None, map(CANNOT.fullmatch, error.args)), None)
            if found is None:
                raise
            reasons[name] = found["why"]
    return reasons


def _settings(name: str) -> list[tuple[str, str]]:
    transport = read_transport(name)
    controller = transport.controller
    short = controller["kind"] if len(controller) == 1 else controller
    settings = [(f"flow.{JUDGED}.controller", toml(short))]
    if transport.connections > 1:
        settings.append((f"flow.{JUDGED}.connections", str(transport.connections)))
    return settings

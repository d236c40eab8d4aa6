"""`fairhaul evaluate --suite tcpeval`: the Common TCP Evaluation Suite [TCPEVAL].

Its tests are data: `suite.toml` has their tables, and `scenarios` their networks. The files:
`vectors` and `traffic` (what is offered), `template` (a scenario with its traffic),
`measures` (what is measured in a run), `tables`, and `outcome` (how they are written).
`docs/evaluate.md` describes it.
"""

from __future__ import annotations

import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Unpack

from fairhaul._core import ScenarioError
from fairhaul.jobs.store import Job, build_of, jobs_of
from fairhaul.jobs.values import Parts, Running, RunOptions, values
from fairhaul.report.outcome import Outcome, StudyResult
from fairhaul.scenario import own
from fairhaul.scenario.read import read_as_typed, toml, variant
from fairhaul.scenario.transport import STANDARD, read_transport
from fairhaul.studies.tcpeval.measures import MEASURES
from fairhaul.studies.tcpeval.tables import Column, Row, rows_of
from fairhaul.studies.tcpeval.template import Template
from fairhaul.studies.tcpeval.traffic import Made, Traffic
from fairhaul.text.nearest import hint

__all__ = ["Suite", "SuiteResult", "SuiteTest", "evaluate_by_tcpeval", "suite"]

SEEDS, QUICK_SEEDS = 3, 1
# The scenarios and their traffic, in the directory of the results.
SCENARIOS = "scenarios"
# How much shorter the times of a quick suite are.
QUICK = 10.0


@dataclass(frozen=True, kw_only=True)
class SuiteTest:
    """A test of the suite, as `suite.toml` has it."""

    name: str
    title: str
    what: str
    points: tuple[str, ...]
    """The heads of the columns of its points."""
    measure: str
    """The function of `MEASURES`."""
    mine: str
    """The flows that get the controller."""
    scenarios: Mapping[str, str]
    """The templates, and what the first column says of each; empty without such a column."""
    columns: tuple[Column, ...]
    relative: bool = False
    """Whether numbers are relative to those of standard TCP."""

    def heads(self, columns: Sequence[Column]) -> list[str]:
        """Give the heads of the columns of its table."""
        return [*self.points, "controller", *(column.head for column in columns)]


@dataclass(frozen=True, kw_only=True)
class Suite:
    """The suite: its document, its tests by name, and what differs from the document."""

    document: str
    departures: tuple[str, ...]
    tests: Mapping[str, SuiteTest]


@cache
def suite() -> Suite:
    """Read the suite."""
    content = tomllib.loads(Path(__file__).with_name("suite.toml").read_text(encoding="utf-8"))
    tests = {
        name: SuiteTest(
            **{**keys, "name": name, "points": tuple(keys["points"])}
            | {"columns": tuple(Column(**column) for column in keys["columns"])}
        )
        for name, keys in content["test"].items()
    }
    departures = tuple(content["departures"])
    return Suite(document=content["document"], departures=departures, tests=tests)


@dataclass(frozen=True, kw_only=True)
class SuiteResult(StudyResult):
    """What the tests of the suite found for controllers."""

    controllers: tuple[str, ...]
    """What is under test; `reno` was run in the same places for comparison."""
    seeds: int
    shorter: float
    """The factor by which times are shorter than the draft's."""
    rows: Mapping[str, Sequence[Row]]
    """By test."""
    runs: int
    traffic: Mapping[str, Made]
    """By the folder of the traffic."""
    generated: bool
    """Whether the traffic was generated, and not that of the user's traces."""

    def outcome(self) -> Outcome:
        """Put the results into words and tables."""
        from fairhaul.studies.tcpeval.outcome import outcome_of

        return outcome_of(self)

    def values(self) -> dict[str, Any]:
        """Give the numbers of each test."""
        return {
            "document": suite().document,
            "controllers": list(self.controllers),
            "seeds": self.seeds,
            "shorter": self.shorter,
            "traffic": "generated" if self.generated else "traces",
            "tests": {test: [row.to_dict() for row in rows] for test, rows in self.rows.items()},
        }


def evaluate_by_tcpeval(
    controllers: Sequence[str | type[own.Controller]],
    *,
    quick: bool = False,
    seeds: int | None = None,
    only: Sequence[str] = (),
    vectors: Path | None = None,
    **options: Unpack[RunOptions],
) -> SuiteResult:
    """Run the suite for controllers, and for standard TCP beside them.

    The arguments are those of `fairhaul.evaluate`.
    """
    tests = suite().tests
    for name in only:
        if name not in tests:
            raise ScenarioError(f"--only {name}: no test of the suite; {hint(name, tests)}")
    number, shorter = seeds or (QUICK_SEEDS if quick else SEEDS), QUICK if quick else 1.0
    running, parts = Running.of(options), Parts()
    rows, count = {}, 0
    with own.named(controllers) as names:
        kinds = {name: _controller(name) for name in [STANDARD, *names]}
        with tempfile.TemporaryDirectory() as nowhere, running.opened() as opened:
            folder = Path(nowhere) if running.out is None else running.out / SCENARIOS
            traffic = Traffic(folder.resolve(), vectors)
            for test in (test for test in tests.values() if not only or test.name in only):
                cases = list(_cases(test, kinds, traffic, number, shorter))
                plan = [job for _, _, job in cases]
                found = parts.of(partial(values, plan, MEASURES[test.measure], opened)) or []
                runs: dict[tuple[tuple[str, ...], str], list[Any]] = {}
                for (point, name, _), figures in zip(cases, found, strict=False):
                    runs.setdefault((point, name), []).append(figures)
                rows[test.name] = rows_of(test.columns, runs, STANDARD if test.relative else "")
                count += len(cases)
            parts.end()
    return SuiteResult(
        controllers=tuple(names),
        seeds=number,
        shorter=shorter,
        rows=rows,
        runs=count,
        traffic=traffic.made,
        generated=vectors is None,
    )


def _controller(name: str) -> Any:
    transport = read_transport(name)
    if transport.connections > 1:
        raise ScenarioError(
            f"{name}: the connections of the suite open and close; name one controller, not "
            "parallel TCP"
        )
    controller = transport.controller
    return controller["kind"] if len(controller) == 1 else controller


def _cases(
    test: SuiteTest, kinds: Mapping[str, Any], traffic: Traffic, seeds: int, shorter: float
) -> Iterator[tuple[tuple[str, ...], str, Job]]:
    """Give each run of a test: its point, its controller, and the job."""
    by = build_of(MEASURES[test.measure])
    for name, title in test.scenarios.items():
        first = (title,) if title else ()
        for written in Template(name).write(traffic, seeds, shorter):
            read = {
                name: read_as_typed(
                    str(written.file), [(f"flow.{test.mine}.controller", toml(kind))]
                )
                for name, kind in kinds.items()
            }
            for point in zip(*read.values(), strict=True):
                for controller, scenario in zip(read, point, strict=True):
                    [job] = jobs_of(scenario, 1, "sim", f"tcpeval {test.measure}", by)
                    settings = tuple(map(str, variant(scenario).values()))
                    yield (*first, *written.point, *settings), controller, job

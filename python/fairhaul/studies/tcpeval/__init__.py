"""`fairhaul suite tcpeval`: the Common TCP Evaluation Suite [TCPEVAL].

The files: `vectors`, `generator`, `load` and `traffic` (what is offered), `network` and `links`
(where), `basic`, `latency` and `fairness` (the tests), `cases` (a run), `results` (what was
measured, kept so that an interrupted suite goes on), `tables`, and `report` (how it is written).
`docs/suite.md` describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul._core import ScenarioError
from fairhaul.files.files import replace
from fairhaul.measures.types import SCHEMA
from fairhaul.runs.runs import for_each
from fairhaul.scenario import own
from fairhaul.scenario.read import read_one
from fairhaul.scenario.transport import read_transport
from fairhaul.studies.tcpeval import basic, fairness, latency
from fairhaul.studies.tcpeval.cases import STANDARD, Case, Effort, Figures
from fairhaul.studies.tcpeval.results import Results
from fairhaul.studies.tcpeval.traffic import Made, Traffic
from fairhaul.text.nearest import hint

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.runs.runs import OnProgress

__all__ = ["TESTS", "Done", "tcpeval"]

Cases = Callable[[Mapping[str, Any], Traffic, Effort], Iterator[Case]]

TESTS: Mapping[str, Cases] = {
    "basic": basic.basic,
    "tradeoff": basic.tradeoff,
    "ramp-up": latency.ramp_up,
    "transients": latency.transients,
    "impact": basic.impact,
    "fairness": fairness.fairness,
    "bottlenecks": fairness.bottlenecks,
}
SEEDS, QUICK_SEEDS = 3, 1
# How much shorter the times of a quick suite are.
QUICK = 10.0


@dataclass(frozen=True, kw_only=True)
class Done:
    """The results of a suite."""

    controllers: tuple[str, ...]
    """What is under test; `reno` was run in the same places for comparison."""
    effort: Effort
    cases: Mapping[str, tuple[Case, ...]]
    """By test."""
    figures: Mapping[str, Figures]
    """By the name of the case."""
    traffic: Mapping[str, Made]
    """By the folder of the traffic."""
    generated: bool
    """Whether the traffic was generated, and not that of the user's traces."""

    def to_dict(self) -> dict[str, Any]:
        """Give the object that `fairhaul suite tcpeval --json` prints."""
        from fairhaul.studies.tcpeval.tables import rows

        return {
            "schema": SCHEMA,
            "document": "draft-irtf-iccrg-tcpeval-01",
            "controllers": list(self.controllers),
            "seeds": self.effort.seeds,
            "shorter": self.effort.shorter,
            "traffic": "generated" if self.generated else "traces",
            "tests": {test: [row.to_dict() for row in rows(self, test)] for test in self.cases},
        }


def tcpeval(  # noqa: PLR0913
    controllers: Sequence[str | type[own.Controller]],
    *,
    out: Path,
    quick: bool = False,
    seeds: int | None = None,
    only: Sequence[str] = (),
    vectors: Path | None = None,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
) -> Done:
    """Run the suite for controllers, and for standard TCP beside them.

    Args:
        controllers: names such as `"cubic"` and `"fhstcp:c=20"`, or classes of your own.
        out: the directory of scenarios, traffic and results. Runs that it has are not repeated.
        quick: a tenth of the draft's times, and one seed instead of three.
        seeds: the number of seeds.
        only: the tests, by default all of `TESTS`.
        vectors: the directory of the nine traces; by default traffic is generated.
        jobs: the number of runs at a time; by default one per core.
        on_progress: called with the progress of the runs of one test after the other.

    Raises:
        ScenarioError: a controller, a test or a trace is wrong.
        RunError: a run failed; the results of those before it are kept.
    """
    for test in only:
        if test not in TESTS:
            raise ScenarioError(f"--only {test}: no test of the suite; {hint(test, list(TESTS))}")
    number = seeds or (QUICK_SEEDS if quick else SEEDS)
    effort = Effort(
        seeds=number,
        shorter=QUICK if quick else 1.0,
        only=tuple(test for test in TESTS if not only or test in only),
    )
    cases: dict[str, tuple[Case, ...]] = {}
    with own.named(controllers) as names:
        by_name = {name: _controller(name) for name in [STANDARD, *names]}
        traffic, results = Traffic(out, vectors), Results(out)
        for test in effort.only:
            cases[test] = tuple(TESTS[test](by_name, traffic, effort))
            _run(cases[test], out, results, jobs, on_progress)
    return Done(
        controllers=tuple(names),
        effort=effort,
        cases=cases,
        figures=results.figures,
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


def _run(
    cases: Sequence[Case],
    out: Path,
    results: Results,
    jobs: int | None,
    on_progress: OnProgress | None,
) -> None:
    for case in cases:
        replace(case.file(out), case.text.encode())
    missing = [case for case in cases if not results.has(case)]
    plan = [read_one(case.file(out)) for case in missing]

    def then(index: int, record: Record) -> None:
        results.add(missing[index], missing[index].measure(record))

    if plan:
        for_each(plan, then, jobs=jobs, on_progress=on_progress)

"""`fairhaul check`: whether the runs of scenarios are as their `[[expect]]` say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from os import PathLike
from typing import Any, Unpack

from fairhaul.host.process import Refused
from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Invalid, Parts, Running, RunOptions, values
from fairhaul.report.outcome import StudyResult
from fairhaul.runs.runs import refuse_if_impossible
from fairhaul.scenario import own
from fairhaul.scenario.engines import FACTS, Engine, in_order
from fairhaul.scenario.read import Controllers, Settings, toml, variant
from fairhaul.statistics.estimate import LEAST_RUNS, LEVEL, STRICT_LEVEL
from fairhaul.studies.expectations import (
    MET,
    NOT_MET,
    UNDECIDED,
    Expectation,
    Judged,
    Run,
    Verdict,
    disagree,
    expected,
    judge,
    verdict_of,
)
from fairhaul.studies.expectations.cases import Case, Path_, files_of, read_cases
from fairhaul.studies.expectations.words import outcome_of

__all__ = ["Check", "Checked", "check", "check_all", "check_scenarios"]

SEEDS = 5
# With how many times the seeds a strict check looks again at what stayed undecided.
MORE = 4

# The numbers in each of its valid runs.
Runs = list[Run]


@dataclass(frozen=True, kw_only=True)
class Checked:
    """An expectation of a case, and the verdict by the runs of each engine that ran it."""

    expectation: Expectation
    by: Mapping[Engine, Judged]

    @property
    def verdict(self) -> Verdict:
        """`not met` if it is not met on some engine, `met` if it is met on all."""
        return verdict_of([judged.verdict for judged in self.by.values()]) or UNDECIDED

    @property
    def engines_disagree(self) -> bool | None:
        """Whether the intervals of two engines have no number in common; None with one engine."""
        found = [
            disagree(one.estimate, other.estimate)
            for one, other in combinations(self.by.values(), 2)
        ]
        known = [one for one in found if one is not None]
        return any(known) if known else None

    def to_dict(self) -> dict[str, Any]:
        """Give the expectation, its verdict, and the results of each engine."""
        by = {engine: judged.to_dict() for engine, judged in self.by.items()}
        both = {} if (differ := self.engines_disagree) is None else {"engines_disagree": differ}
        return {**self.expectation.to_dict(), "verdict": self.verdict, "results": by, **both}


@dataclass(frozen=True, kw_only=True)
class CheckedCase:
    """A case, the verdicts on its expectations, and why an engine could not run it."""

    case: Case
    expectations: tuple[Checked, ...]
    refused: Mapping[Engine, str]

    @property
    def verdicts(self) -> list[Verdict]:
        """The verdict on each expectation."""
        return [checked.verdict for checked in self.expectations]

    def decided_by(self, more: CheckedCase) -> CheckedCase:
        """Replace what is undecided by what more runs of the same case gave."""
        pairs = zip(self.expectations, more.expectations, strict=True)
        decided = (new if old.verdict == UNDECIDED else old for old, new in pairs)
        return replace(self, expectations=tuple(decided))

    def to_dict(self) -> dict[str, Any]:
        """Give the case as it is printed in JSON."""
        return {
            "file": self.case.file,
            "title": self.case.scenario.title,
            "variant": variant(self.case.scenario),
            "refused": dict(self.refused),
            "expectations": [checked.to_dict() for checked in self.expectations],
        }


@dataclass(frozen=True, kw_only=True)
class Check(StudyResult):
    """The verdicts on all expectations of several scenarios."""

    cases: tuple[CheckedCase, ...]
    engines: tuple[Engine, ...]
    seeds: int
    strict: bool = False
    """Whether an expectation that is undecided was looked at again, and fails the check."""

    def count(self, verdict: Verdict) -> int:
        """The number of expectations with this verdict."""
        every = (checked for case in self.cases for checked in case.expectations)
        return sum(checked.verdict == verdict for checked in every)

    def passed(self) -> bool:
        """Whether no expectation is `not met` or, if it is strict, all are `met`."""
        return self.count(NOT_MET) == 0 and not (self.strict and self.count(UNDECIDED))

    outcome = outcome_of

    def values(self) -> dict[str, Any]:
        """Give the verdicts and numbers."""
        return {
            "passed": self.passed(),
            "counts": {verdict: self.count(verdict) for verdict in (MET, NOT_MET, UNDECIDED)},
            "engines": list(self.engines),
            "seeds": self.seeds,
            "cases": [case.to_dict() for case in self.cases],
        }


def check(
    files: Path_ | Sequence[Path_],
    overrides: Settings | None = None,
    *,
    seeds: int = SEEDS,
    strict: bool = False,
    engine: Engine | Sequence[Engine] = "sim",
    controllers: Controllers | None = None,
    **options: Unpack[RunOptions],
) -> Check:
    """Run scenarios, and judge their expectations by the 95 % intervals over the seeds.

    Args:
        files: scenario files, or folders of them; every file must have an `[[expect]]`.
        overrides: keys to change, named as in `[sweep]`.
        seeds: the number of runs of each scenario and point of a sweep; fewer than 5 decide
            nothing.
        strict: an expectation that stays undecided fails the check; before, it is judged once more
            with four times the seeds (not in the lab), by 99 % intervals.
        engine: `"sim"`, `"linux"` or `"lab"`, or several of them.
        controllers: controllers of your own, by the names that the scenarios use for them.
        options: how the runs are run, as `fairhaul.jobs.values.Running` has it.

    Raises:
        ScenarioError: a scenario or an expectation is wrong; `args` are all mistakes.
        Refused: an engine can run none of the scenarios here.
        RunError: a run failed; all others were stopped.
    """
    given = [files] if isinstance(files, str | PathLike) else list(files)
    engines: tuple[Engine, ...] = (engine,) if isinstance(engine, str) else tuple(engine)
    with own.known(controllers):
        settings = [(key, toml(value)) for key, value in (overrides or {}).items()]
        cases = read_cases(files_of(given), settings)
    return check_scenarios(cases, engines, Running.of(options), seeds=seeds, strict=strict)


def check_all(
    plans: Sequence[Sequence[Case]],
    engines: Sequence[Engine],
    running: Running,
    *,
    seeds: int = SEEDS,
) -> list[Check]:
    """Check several lists of cases, one after the other."""
    parts = Parts()
    found = [
        parts.of(partial(check_scenarios, cases, engines, running, seeds=seeds)) for cases in plans
    ]
    parts.end()
    return [check for check in found if check is not None]


def check_scenarios(
    cases: Sequence[Case],
    engines: Sequence[Engine],
    running: Running,
    *,
    seeds: int = SEEDS,
    strict: bool = False,
) -> Check:
    """Run every case on every engine, and judge its expectations.

    A case that an engine cannot run is judged by the others. A strict check looks once more, with
    `MORE` times the seeds, at the expectations that are undecided: the runs of a random path differ
    too much for few seeds to decide what is near a bound.
    """
    done = _judged(cases, engines, running, seeds, LEVEL)
    again = [index for index, of in enumerate(done) if UNDECIDED in of.verdicts]
    real_time = any(FACTS[engine].real_time for engine in engines)
    if strict and again and seeds >= LEAST_RUNS and not real_time:
        found = _judged(
            [cases[index] for index in again], engines, running, MORE * seeds, STRICT_LEVEL
        )
        for index, of in zip(again, found, strict=True):
            done[index] = done[index].decided_by(of)
    return Check(cases=tuple(done), engines=tuple(engines), seeds=seeds, strict=strict)


def _judged(
    cases: Sequence[Case], engines: Sequence[Engine], running: Running, seeds: int, level: float
) -> list[CheckedCase]:
    """Run every case on every engine, and judge its expectations by intervals at `level`."""
    of_engines: dict[Engine, list[Runs | str]] = {}
    parts = Parts()
    for engine in in_order(engines):
        run = _with_a_kernel if FACTS[engine].kernel else _run
        of_engines[engine] = parts.of(partial(run, cases, engine, seeds, running)) or []
    parts.end()
    return [
        _checked(case, {engine: runs[index] for engine, runs in of_engines.items()}, level)
        for index, case in enumerate(cases)
    ]


def _checked(case: Case, by_engine: Mapping[Engine, Runs | str], level: float) -> CheckedCase:
    """Judge the expectations of a case by the runs of each engine, or say why it has none."""
    runs = {engine: of for engine, of in by_engine.items() if not isinstance(of, str)}
    checked = tuple(
        Checked(
            expectation=expectation,
            by={
                engine: judge(
                    expectation,
                    [run["numbers"][place] for run in of_engine],
                    [run["stationary"][place] for run in of_engine],
                    level,
                    closed=sum(run["closed"][place] for run in of_engine),
                )
                for engine, of_engine in runs.items()
                if expectation.has_number_on(engine)
            },
        )
        for place, expectation in enumerate(case.expectations)
    )
    refused = {engine: why for engine, why in by_engine.items() if isinstance(why, str)}
    return CheckedCase(case=case, expectations=checked, refused=refused)


def _run(cases: Sequence[Case], engine: Engine, seeds: int, running: Running) -> list[Runs | str]:
    """Give the numbers of each valid run of each case; why runs are not valid if none is."""
    by = build_of(expected)
    plan = [
        job
        for case in cases
        for scenario in case.runs
        for job in jobs_of(scenario, seeds, engine, _of(case.expectations), by)
    ]
    runs = values(plan, expected, running, engine=engine)
    parts = iter([runs[start : start + seeds] for start in range(0, len(runs), seeds)])
    return [_compared(case, [next(parts) for _ in case.runs]) for case in cases]


def _of(expectations: Sequence[Expectation]) -> str:
    """Name the numbers of expectations: a store finds them by it."""
    wanted = [(of.number, of.from_s, of.until_s) for of in expectations]
    return f"expectations {hashlib.sha256(repr(wanted).encode()).hexdigest()[:16]}"


def _compared(case: Case, parts: Sequence[Sequence[Run | Invalid]]) -> Runs | str:
    """Give the numbers of each valid run; relative ones are ratios of runs with the same seed."""
    valid: Runs = []
    reasons: list[str] = []
    for runs in zip(*parts, strict=True):
        known = [run for run in runs if not isinstance(run, Invalid)]
        reasons += ["; ".join(run.reasons) for run in runs if isinstance(run, Invalid)]
        if len(known) < len(runs):
            continue
        own, *others = known
        by_setting = dict(zip(case.references, others, strict=True))
        each = [
            _relative(place, own, by_setting.get(of.relative_to))
            for place, of in enumerate(case.expectations)
        ]
        valid.append(
            {
                "numbers": [number for number, _ in each],
                "stationary": [stationary for _, stationary in each],
                "closed": own["closed"],
            }
        )
    return valid or f"no run was valid: {'; '.join(dict.fromkeys(reasons))}"


def _relative(place: int, own: Run, other: Run | None) -> tuple[float | None, bool | None]:
    """Give a number, relative to that of another run if there is one; whether both are steady."""
    number, stationary = own["numbers"][place], own["stationary"][place]
    if other is None:
        return number, stationary
    both = [of for of in (stationary, other["stationary"][place]) if of is not None]
    return _ratio(number, other["numbers"][place]), all(both) if both else None


def _ratio(number: float | None, other: float | None) -> float | None:
    if number is None or other is None:
        return None
    if number == other:
        return 1.0
    return number / other if other else None


def _with_a_kernel(
    cases: Sequence[Case], engine: Engine, seeds: int, running: Running
) -> list[Runs | str]:
    """Give the same, or why the engine cannot run a case.

    Raises:
        Refused: it can run none of them.
    """
    refused: dict[int, Refused] = {}
    try:
        refuse_if_impossible(engine, [scenario for case in cases for scenario in case.runs])
    except Refused:
        for index, case in enumerate(cases):
            try:
                refuse_if_impossible(engine, case.runs)
            except Refused as error:
                refused[index] = error
    left = [index for index in range(len(cases)) if index not in refused]
    found: dict[int, Runs | str] = {}
    # In real time a case is refused only when it runs, if this user is root.
    for part in [[index] for index in left] if FACTS[engine].real_time else [left]:
        try:
            runs = _run([cases[index] for index in part], engine, seeds, running) if part else []
            found |= dict(zip(part, runs, strict=True))
        except Refused as error:
            refused |= dict.fromkeys(part, error)
    if refused and len(refused) == len(cases):
        raise refused[max(refused)]
    return [found[i] if i in found else str(refused[i]) for i in range(len(cases))]

"""Expectations of a run: numbers of its figures, and the bounds within which they must be.

They stand in a scenario as `[[expect]]`, which `docs/check.md` describes. `read_expectations` gives
those of a scenario, `numbers` their values in one run, and `verdict` judges the values of several
by their interval.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import Any, Literal, TypedDict

from fairhaul._core import Scenario, ScenarioError
from fairhaul.measures.formula import Formula, FormulaError, read_formula
from fairhaul.measures.lists import REPORTED_BY_PORT, check_lists, controllers_with_modes, lists_of
from fairhaul.measures.measures import measure
from fairhaul.measures.window import cut
from fairhaul.record.columns import columns_of
from fairhaul.record.record import Record
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.statistics.estimate import (
    ANY,
    AT_LEAST_0,
    LEAST_RUNS,
    LEVEL,
    Bounds,
    Estimate,
    estimate,
)
from fairhaul.text.digits import Significant
from fairhaul.text.phrases import RATE

Verdict = Literal["met", "not met", "undecided"]

MET: Verdict = "met"
NOT_MET: Verdict = "not met"
UNDECIDED: Verdict = "undecided"
WORST_FIRST = (NOT_MET, UNDECIDED, MET)
# What only the inside of a sender shows, or its packets, and not those of every transport stack.
INSIDE = frozenset(
    {
        *("cwnd_packets", "ssthresh_packets", "cwnd_mean"),
        *("loss_events", "retransmits", "spurious", "timeouts"),
    }
)
# How numbers are written, by the ending of their figures.
FORMS = {"s": Significant(units=((" s", 1.0), (" ms", 1e-3))), "bps": RATE}


class Run(TypedDict):
    """The numbers of the expectations of a scenario in a run."""

    numbers: list[float | None]
    stationary: list[bool | None]
    """Of the time of each; None without a measured bulk flow."""
    closed: list[bool]
    """Whether a transport stack closed a connection before the end of the time of each."""


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """One `[[expect]]` of a scenario."""

    what: str
    number: str
    """The formula as it was written."""
    formula: Formula
    at_least: float | None
    at_most: float | None
    relative_to: str
    """A setting: the number is divided by that of the run with it; empty for none."""
    source: str
    from_s: float
    until_s: float
    of_modes: frozenset[str]
    """The controllers whose modes the number needs."""

    def to_dict(self) -> dict[str, Any]:
        """Give the keys that the file has."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in {"formula", "of_modes"}
        }

    def has_number_on(self, engine: Engine) -> bool:
        """Whether records of an engine have what it needs.

        Those of a kernel have modes only of controllers whose eBPF port reports them.
        """
        return not FACTS[engine].kernel or self.of_modes <= REPORTED_BY_PORT

    @property
    def reads_inside(self) -> bool:
        """Whether the number is of what only the inside of a sender shows."""
        return any(figure in INSIDE for _, _, figure in self.formula.figures)

    @property
    def bounds(self) -> Bounds:
        """The smallest and the largest value that the number can have."""
        if not self.relative_to:
            return self.formula.bounds
        return AT_LEAST_0 if self.formula.bounds.low == 0 else ANY

    @property
    def form(self) -> Significant:
        """How its number and bounds are written: times and rates have their units."""
        plain = Significant(digits=4)
        return plain if self.relative_to else FORMS.get(self.formula.unit, plain)

    def bound(self) -> str:
        """Say the bounds in a few characters: `0.9 to 1.1`, `>= 0.9`, `<= 50 ms`."""
        low, high = (
            None if end is None else self.form(end) for end in (self.at_least, self.at_most)
        )
        if low is not None and high is not None:
            return low if low == high else f"{low} to {high}"
        return f">= {low}" if low is not None else f"<= {high}"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The verdict on an expectation, by the runs of one engine."""

    verdict: Verdict
    estimate: Estimate | None
    """Of the number over the runs that have it; None if no run has it."""
    values: tuple[float | None, ...]
    """The number of each valid run; None where a run has no such number."""
    stationary: tuple[bool, ...] = ()
    """Whether each valid run with a measured bulk flow is stationary in the time of the number."""
    closed: int = 0
    """In how many valid runs a transport stack closed a connection in this time or before it."""

    def to_dict(self) -> dict[str, Any]:
        """Give the verdict, the mean with its interval, and the value of each run."""
        nothing = {"mean": None, "low": None, "high": None, "interval": None}
        found = nothing if self.estimate is None else self.estimate.to_dict()
        steady = sum(self.stationary) / len(self.stationary) if self.stationary else None
        of_runs = {"values": list(self.values), "stationary": steady, "closed": self.closed}
        return {"verdict": self.verdict, **found, **of_runs}


def read_expectations(scenario: Scenario, place: str = "") -> list[Expectation]:
    """Give the expectations of a scenario, with their formulas read and checked.

    Raises:
        ScenarioError: formulas are wrong; `args` are all mistakes, each with `place`.
    """
    described = scenario.described
    expectations, mistakes = [], []
    for number, given in enumerate(json.loads(scenario.expectations()), start=1):
        try:
            formula = read_formula(given["number"], records=True)
            formula.check(described)
            check_lists(formula, described)
        except FormulaError as error:
            mistakes.append(
                f"{place or scenario.title}: expect[{number}].number ({given['what']}): {error}"
            )
        else:
            of_modes = controllers_with_modes(formula, described)
            expectations.append(Expectation(formula=formula, of_modes=of_modes, **given))
    if mistakes:
        raise ScenarioError(*mistakes)
    return expectations


def expected(scenario: Scenario, record: Record) -> Run:
    """Compute the numbers of the expectations of a scenario in a run of it."""
    wanted = read_expectations(scenario)
    found = _figures(record, wanted)
    closed_s = min((of["t_s"] for of in record.meta.get("closures", ())), default=inf)
    return {
        "numbers": _numbers(record, wanted, found),
        "stationary": [found[of.from_s, of.until_s]["stationary"] for of in wanted],
        "closed": [closed_s < of.until_s for of in wanted],
    }


def numbers(record: Record, expectations: Sequence[Expectation]) -> list[float | None]:
    """Give the number of each expectation in one run; None where a figure of it is missing."""
    return _numbers(record, expectations, _figures(record, expectations))


def _figures(
    record: Record, expectations: Sequence[Expectation]
) -> dict[tuple[float, float], dict[str, Any]]:
    """Give the figures of each time that an expectation names."""
    found: dict[tuple[float, float], dict[str, Any]] = {}
    for window in {(of.from_s, of.until_s) for of in expectations}:
        within = cut(record, *window)
        formulas = [of.formula for of in expectations if (of.from_s, of.until_s) == window]
        found[window] = {**measure(within), **lists_of(within, formulas)}
    return found


def _numbers(
    record: Record,
    expectations: Sequence[Expectation],
    found: Mapping[tuple[float, float], Mapping[str, Any]],
) -> list[float | None]:
    """Compute each number of the figures of its time.

    A run with a kernel has no modes if the kernel refused the program that samples them.
    """
    events = columns_of(record.raw("event")).rows("kind")
    kernel = FACTS[record.meta["engine"]].kernel
    has_modes = not kernel or any(kind == "mode" for [kind] in events)
    return [
        None if of.of_modes and not has_modes else of.formula.of(found[of.from_s, of.until_s])
        for of in expectations
    ]


def judge(
    expectation: Expectation,
    values: Sequence[float | None],
    stationary: Sequence[bool | None] = (),
    level: float = LEVEL,
    *,
    closed: int = 0,
) -> Judged:
    """Judge an expectation by its numbers in the valid runs, with an interval at `level`."""
    given = [value for value in values if value is not None]
    bounds = expectation.bounds
    found = verdict(values, expectation.at_least, expectation.at_most, bounds, level)
    return Judged(
        # A transport stack that does not show its window may still have the one that is expected.
        verdict=UNDECIDED if expectation.reads_inside and not given else found,
        estimate=estimate(given, bounds, level) if given else None,
        values=tuple(values),
        stationary=tuple(of for of in stationary if of is not None),
        closed=closed,
    )


def verdict(
    values: Sequence[float | None] | Estimate,
    at_least: float | None = None,
    at_most: float | None = None,
    bounds: Bounds = ANY,
    level: float = LEVEL,
) -> Verdict:
    """Judge the numbers of several runs, or their estimate.

    The verdict is `met` if the whole interval at `level` is within the bounds, `not met` if it is
    outside on one side, and `undecided` otherwise. Fewer than five runs have no
    interval and decide nothing. A run without the number (None) is never within the bounds: if no
    run has it, the verdict is `not met`, and if some lack it, it is not `met`.

    Args:
        values: a number for each run, or their estimate.
        at_least: the smallest number that is expected.
        at_most: the largest number that is expected.
        bounds: the smallest and the largest value that the number can have.
        level: the level of the interval, for numbers; an estimate has its own.
    """
    if isinstance(values, Estimate):
        return _of_estimate(values, at_least, at_most)
    given = [value for value in values if value is not None]
    if len(values) < LEAST_RUNS:
        return UNDECIDED
    if not given:
        return NOT_MET
    found = _of_estimate(estimate(given, bounds, level), at_least, at_most)
    return found if len(given) == len(values) or found == NOT_MET else UNDECIDED


def _of_estimate(of: Estimate, at_least: float | None, at_most: float | None) -> Verdict:
    if (ends := of.ends()) is None:
        return UNDECIDED
    low, high = ends
    if (at_least is not None and high < at_least) or (at_most is not None and low > at_most):
        return NOT_MET
    above = at_least is None or low >= at_least
    below = at_most is None or high <= at_most
    return MET if above and below else UNDECIDED


def verdict_of(verdicts: Collection[Verdict]) -> Verdict | None:
    """Combine verdicts: not met if one is, met if all are; None without any."""
    if not verdicts or NOT_MET in verdicts:
        return NOT_MET if verdicts else None
    return MET if set(verdicts) == {MET} else UNDECIDED


def disagree(one: Estimate | None, other: Estimate | None) -> bool | None:
    """Whether two 95 % intervals have no number in common; None if there are not two."""
    ends = [of.ends() for of in (one, other) if of is not None]
    if len(ends) != len((one, other)) or None in ends:
        return None
    (low, high), (other_low, other_high) = (pair for pair in ends if pair is not None)
    return high < other_low or other_high < low

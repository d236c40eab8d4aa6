"""A smaller scenario in which the same is not met: fewer flows, a shorter run, fewer keys.

Each change is kept if every expectation that was not met still is not, over all seeds and on the
same side of its bounds. Losses and changes of the network at given times are never removed, because
without them the expectations would judge another event.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from fairhaul._core import RunError
from fairhaul.files.files import replace
from fairhaul.jobs.values import Running
from fairhaul.scenario.read import ScenarioError, value_of, written
from fairhaul.studies.expectations import NOT_MET
from fairhaul.studies.expectations.cases import read_cases
from fairhaul.studies.expectations.checking import Checked, CheckedCase, check_scenarios

# Scenarios that are tried at most, each with all seeds.
MOST_TRIALS = 16
HALVINGS = 2
# What a scenario says of itself, and what has keys of its own.
KEPT = frozenset({"title", "source", "duration", "warmup", "seed", "bottleneck", "link", "flow"})
KEPT_OF_FLOWS = frozenset({"name", "rtt", "stack", "controller"})

Scenario = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Reduced:
    """A reduced scenario, which was checked: what was changed, and how its expectations fare."""

    changes: Sequence[str]
    settings: Sequence[tuple[str, str]]
    """What is still to be set in it: its transport stack, and keys of flows and links."""
    checked: CheckedCase


def reduce(
    case: CheckedCase,
    overrides: Sequence[tuple[str, str]],
    flow: str,
    most: tuple[int, int],
    file: Path,
) -> Reduced | None:
    """Write the smallest scenario that is found to `file`; None if it would not show the same.

    Args:
        case: a checked scenario in which something is not met in the simulator.
        overrides: what is set in it, the point of its sweep included.
        flow: the flow that is never removed, or a pattern of names.
        most: the number of runs of each scenario that is tried, and of these scenarios.
        file: the file of the reduced scenario. What it names besides it is found from its folder.
    """
    seeds, most_trials = most
    text, _, _ = case.case.scenario.source()
    given = tomllib.loads(text)
    failed = {of.expectation.what for of in case.expectations if of.by["sim"].verdict == NOT_MET}
    given["expect"] = [of for of in given["expect"] if of["what"] in failed]
    given.pop("sweep", None)
    kept, settings = _with(given, overrides)
    if (checked := _fails(kept, settings, seeds, file)) is None:
        return None
    sides = _sides(checked)
    changes: list[str] = []
    trials = 1
    for change in _changes(kept, flow, checked):
        smaller = change.of(kept)
        if trials == most_trials or smaller == kept or change.is_set_by(settings):
            continue
        try:
            found = _fails(smaller, settings, seeds, file)
        except (RunError, ScenarioError):
            continue
        trials += 1
        if found is not None and _sides(found) == sides:
            kept, checked = smaller, found
            changes.append(change.words)
    replace(file, written(kept).encode())
    return Reduced(changes=changes, settings=settings, checked=checked)


def _with(
    scenario: dict[str, Any], overrides: Sequence[tuple[str, str]]
) -> tuple[Scenario, list[tuple[str, str]]]:
    """Put settings of the scenario and of its bottleneck into it; also gives the others."""
    left = []
    for key, value in overrides:
        first, dot, rest = key.partition(".")
        table = scenario.get(first) if dot else scenario
        if isinstance(table, dict) and "." not in rest:
            table[rest or first] = value_of(value)
        else:
            left.append((key, value))
    return scenario, left


def _fails(
    scenario: Scenario, overrides: Sequence[tuple[str, str]], seeds: int, file: Path
) -> CheckedCase | None:
    """Check a scenario; None if one of its expectations is not `not met`.

    Raises:
        ScenarioError: it cannot be read.
    """
    replace(file, written(scenario).encode())
    done = check_scenarios(read_cases([file], overrides), ("sim",), Running(), seeds=seeds)
    (case,) = done.cases
    return case if set(case.verdicts) == {NOT_MET} else None


def _sides(case: CheckedCase) -> list[str]:
    """On which side of its bounds the mean of each expectation is."""

    def side(of: Checked) -> str:
        estimate, bound = of.by["sim"].estimate, of.expectation.at_least
        if estimate is None:
            return "no number"
        return "below" if bound is not None and estimate.mean < bound else "above"

    return [side(of) for of in case.expectations]


@dataclass(frozen=True, kw_only=True)
class _Change:
    """A table or an array of a scenario, what of it is replaced, and by what; None removes it."""

    words: str
    path: tuple[str | int, ...]
    value: object = None

    def of(self, scenario: Scenario) -> Scenario:
        changed: Scenario = _changed(scenario, self.path, self.value)
        return changed

    def is_set_by(self, settings: Sequence[tuple[str, str]]) -> bool:
        """Whether a setting replaces what is changed, so that the change would do nothing."""
        own = ".".join(map(str, self.path))
        return any(fnmatchcase(f"{own}.", f"{key}.*") for key, _ in settings)


def _changed(part: Any, path: Sequence[str | int], value: object) -> Any:
    first, *rest = path
    if isinstance(part, Mapping):
        if first not in part:
            return part
        inner = _changed(part[first], rest, value) if rest else value
        changed = {**part, first: inner}
        return {key: of for key, of in changed.items() if of is not None}
    if first not in [of.get("name") for of in part]:
        return part
    inner = [_changed(of, rest, value) if of.get("name") == first and rest else of for of in part]
    return inner if rest else [of for of in part if of.get("name") != first]


def _changes(scenario: Scenario, flow: str, checked: CheckedCase) -> Iterator[_Change]:
    """Give changes, first the ones that make a run cheaper."""
    for of in scenario["flow"]:
        if "name" in of and not fnmatchcase(of["name"], flow):
            yield _Change(words=f"without the flow {of['name']}", path=("flow", of["name"]))
    yield from _shorter(scenario, checked)
    for key in [key for key in scenario if key not in {*KEPT, "expect"}]:
        yield _Change(words=f"without {key}", path=(key,))
    bottleneck = scenario.get("bottleneck", {})
    for key in [key for key in bottleneck if not _is_at_times(bottleneck[key])]:
        yield _Change(words=f"without bottleneck.{key}", path=("bottleneck", key))
    for of in scenario["flow"]:
        for key in [key for key in of if "name" in of and key not in KEPT_OF_FLOWS]:
            words = f"without flow.{of['name']}.{key}"
            yield _Change(words=words, path=("flow", of["name"], key))


def _is_at_times(value: object) -> bool:
    """Whether it is a schedule, or losses at given times."""
    tables = value if isinstance(value, list) else [value]
    return any(isinstance(of, Mapping) and "at" in of for of in tables)


def _shorter(scenario: Scenario, checked: CheckedCase) -> Iterator[_Change]:
    """Without what comes after the last number, or half as long."""
    duration_s = checked.case.scenario.described["duration_s"]
    if all("until" in of for of in scenario["expect"]):
        last_s = max(of.expectation.until_s for of in checked.expectations)
        if last_s < duration_s:
            yield _Change(words=f"{last_s:g} s long", path=("duration",), value=f"{last_s:g} s")
        return
    for part in range(1, HALVINGS + 1):
        length = f"{duration_s / 2**part:g} s"
        yield _Change(words=f"{length} long", path=("duration",), value=length)

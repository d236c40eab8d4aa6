"""The cases of a check: scenarios, points of their sweeps, and what is expected of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from fairhaul._core import Scenario, ScenarioError
from fairhaul.scenario.read import read_as_typed, titled, variant
from fairhaul.studies.expectations import Expectation, read_expectations

Path_ = str | PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scenario with its expectations: a file, or a point of its sweep."""

    file: str
    scenario: Scenario
    expectations: tuple[Expectation, ...]
    references: Mapping[str, Scenario]
    """The scenarios that numbers are relative to, by the setting that each has."""

    @property
    def runs(self) -> list[Scenario]:
        """The scenario, and the scenarios that its numbers are relative to."""
        return [self.scenario, *self.references.values()]

    @property
    def title(self) -> str:
        """The title of the scenario, and what its sweep set."""
        return titled(self.scenario.title, variant(self.scenario))


def files_of(given: Sequence[Path_]) -> list[Path]:
    """Give the scenario files among `given`: each file, and those in each folder, by name.

    Raises:
        ScenarioError: a folder has no scenario file.
    """
    files: list[Path] = []
    for path in map(Path, given):
        inside = sorted(path.rglob("*.toml")) if path.is_dir() else [path]
        if not inside:
            raise ScenarioError(f"{path}: the folder has no scenario (*.toml)")
        files += [file for file in inside if file not in files]
    return files


def read_cases(files: Sequence[Path], overrides: Sequence[tuple[str, str]]) -> list[Case]:
    """Read scenarios and their expectations, and report the mistakes of all of them together.

    Raises:
        ScenarioError: `args` are all mistakes; a file without expectations is one.
    """
    cases: list[Case] = []
    mistakes: list[str] = []
    for file in files:
        try:
            cases += _cases_of(file, overrides)
        except ScenarioError as error:
            mistakes += error.args
    if mistakes:
        raise ScenarioError(*dict.fromkeys(mistakes))
    return cases


def _cases_of(file: Path, overrides: Sequence[tuple[str, str]]) -> list[Case]:
    scenarios = read_as_typed(file, overrides)
    # All points of a sweep have the same expectations.
    expectations = tuple(read_expectations(scenarios[0], str(file)))
    if not expectations:
        raise ScenarioError(f"{file}: the scenario has no [[expect]] to check")
    settings = dict.fromkeys(of.relative_to for of in expectations if of.relative_to)
    others = {setting: _points(file, overrides, setting, len(scenarios)) for setting in settings}
    return [
        Case(
            file=str(file),
            scenario=scenario,
            expectations=tuple(read_expectations(scenario, str(file))),
            references={setting: points[index] for setting, points in others.items()},
        )
        for index, scenario in enumerate(scenarios)
    ]


def _points(
    file: Path, overrides: Sequence[tuple[str, str]], setting: str, number: int
) -> list[Scenario]:
    """Give the scenario that each point of a sweep is relative to.

    A setting of the only key of a sweep leaves one, which all points are relative to.
    """
    points = read_as_typed(file, [*overrides, _setting(file, setting)])
    if len(points) not in (1, number):
        raise ScenarioError(
            f"{file}: relative_to = {setting!r}: sets one of several keys of the sweep, so that "
            "its points have no counterparts"
        )
    return points if len(points) == number else points * number


def _setting(file: Path, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ScenarioError(f"{file}: relative_to = {text!r}: wanted KEY=VALUE, as for --set")
    return key.strip(), value.strip()

"""The axes of an experiment: which cases they make, and which cases a selection has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from fairhaul.scenario.read import Scenario, read_one
from fairhaul.studies.papers.results import Key, Settings
from fairhaul.studies.papers.section import Section

Where = Mapping[str, Sequence[str]]
SCENARIO = "scenario"


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The axes of an experiment by name, each with the settings of its labels.

    The key of a case has a label of each axis, in their order.
    """

    settings: Mapping[str, Mapping[str, Settings]]

    @property
    def names(self) -> list[str]:
        """The names of the axes."""
        return list(self.settings)

    def matches(self, key: Key, where: Where) -> bool:
        """Whether a case has one of the labels that `where` gives for each axis."""
        labels = dict(zip(self.names, key, strict=True))
        return all(labels[axis] in wanted for axis, wanted in where.items())

    def chosen(self, keys: Iterable[Key], where: Where) -> list[Key]:
        """Give the cases that match."""
        return [key for key in keys if self.matches(key, where)]

    def parts(self, key: Key, axes: Sequence[str]) -> tuple[str, ...]:
        """Give the labels of a case on some axes, in their order."""
        labels = dict(zip(self.names, key, strict=True))
        return tuple(labels[axis] for axis in axes)

    def replaced(self, key: Key, where: Where) -> list[Key]:
        """Give the cases that differ from one in the labels of `where` alone."""
        choices = [where.get(axis, [label]) for axis, label in zip(self.names, key, strict=True)]
        return list(product(*choices))

    def varying(self, keys: Sequence[Key]) -> list[str]:
        """Give the axes on which some cases differ."""
        return [axis for i, axis in enumerate(self.names) if len({key[i] for key in keys}) > 1]

    def others(self, axes: Iterable[str]) -> list[str]:
        """Give the axes that are none of these."""
        return [axis for axis in self.names if axis not in axes]

    def where(self, section: Section, key: str, *, extra: Sequence[str] = ()) -> Where:
        """Read a selection: labels, or a list of them, by axis; `extra` keys are ignored."""
        chosen = {}
        for axis, labels in section.mapping(key).items():
            if axis in extra:
                continue
            section.one_of(key, axis, self.names, "axis")
            wanted = [str(each) for each in (labels if isinstance(labels, list) else [labels])]
            for label in wanted if axis in self.settings else ():
                section.one_of(key, label, list(self.settings[axis]), f"label of the axis {axis}")
            chosen[axis] = wanted
        return chosen if all(axis in self.settings for axis in chosen) else {}

    def covered(self, section: Section, used: Iterable[str]) -> None:
        """Note a mistake where a table or a figure would mix cases: axes that it does not use."""
        left = self.others(used)
        if left:
            section.wrong(
                "rows", f"cases that differ in {', '.join(left)} have no place of their own"
            )

    def some(self, section: Section, key: str) -> list[str]:
        """Read a list of axes."""
        names = section.texts(key)
        for axis in names:
            section.one_of(key, axis, self.names, "axis")
        return [axis for axis in names if axis in self.settings]


def read_axes(section: Section, shared: Section) -> Axes:
    """Read the axes: `{ key, values }`, a table of settings by label, or a shared axis.

    Those are the tables `[axis.NAME]` of the paper.
    """
    settings = {}
    for name, content in section.content.items():
        if isinstance(content, str):
            section.one_of(name, content, list(shared.content), "shared axis")
            settings[name] = _axis(shared, content) if content in shared.content else {}
        else:
            settings[name] = _axis(section, name)
    return Axes(settings=settings)


def _axis(section: Section, name: str) -> dict[str, Settings]:
    inner = section.section(name)
    if "values" not in inner.content:
        for label in inner.content:
            inner.mapping(label)
        if not inner.content:
            section.wrong(name, "at least one label is required")
        return {label: table for label, table in inner.content.items() if isinstance(table, dict)}
    key, values = inner.text("key"), inner.items("values")
    labels = inner.texts("labels") or [str(value) for value in values]
    if len(labels) != len(values):
        inner.wrong("labels", f"{len(values)} labels are required, not {len(labels)}")
    inner.close()
    if not values:
        inner.wrong("values", "at least one value is required")
    return {label: {key: value} for label, value in zip(labels, values, strict=False)}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One scenario of an experiment; its key has a label of each axis."""

    key: Key
    scenario: Scenario


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What holds for some combinations: they are skipped, or have further settings."""

    where: Where
    settings: Settings
    quick: bool | None
    skip: bool = False

    @classmethod
    def read(cls, section: Section, axes: Axes) -> Rule:
        """Read a rule; without `form` it holds for the full and for the quick form."""
        form = section.text("form", "both")
        section.one_of("form", form, ["quick", "full", "both"], "form")
        return section.read(
            cls,
            where=axes.where(section, "case"),
            settings=section.mapping("set"),
            quick=None if form == "both" else form == "quick",
        )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How the cases of an experiment are made: later settings replace earlier ones.

    They are those of all cases, the lengths by formulas, those of the quick form, of the rules, of
    the function, and of the axes in their order.
    """

    folder: Path
    scenario: str
    axes: Axes
    settings: Settings
    quick: Settings
    rules: Sequence[Rule]
    lengths: Callable[[Mapping[str, str], bool], Settings]
    computed: Callable[[Mapping[str, str], bool], Settings] | None = None

    def cases(self, quick: bool, overrides: Settings) -> list[Case]:
        """Read the scenario of every combination that is not skipped."""
        rules = [rule for rule in self.rules if rule.quick in {None, quick}]
        cases = []
        for key in product(*self.axes.settings.values()):
            mine = [rule for rule in rules if self.axes.matches(key, rule.where)]
            if not any(rule.skip for rule in mine):
                cases.append(self._case(key, quick, mine, overrides))
        return cases

    def _case(self, key: Key, quick: bool, rules: Sequence[Rule], overrides: Settings) -> Case:
        labels = dict(zip(self.axes.names, key, strict=True))
        each = [
            self.settings,
            self.lengths(labels, quick),
            self.quick if quick else {},
            *(rule.settings for rule in rules),
            self.computed(labels, quick) if self.computed else {},
            *(self.axes.settings[axis][label] for axis, label in labels.items()),
            overrides,
        ]
        merged: dict[str, Any] = {
            name: value for settings in each for name, value in settings.items()
        }
        file = str(merged.pop(SCENARIO, self.scenario))
        return Case(key=key, scenario=read_one(self.folder / file, merged))

"""Experiments of papers in runs short enough for the suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import with_seeds
from fairhaul.studies.papers.folder import Paper
from fairhaul.studies.papers.results import Key, Results


def results(
    paper: Paper,
    name: str,
    seeds: int,
    keep: Callable[[Key], bool],
    settings: Mapping[str, object] | None = None,
) -> Results:
    """Run the cases, in their short form, of an experiment whose key `keep` keeps."""
    experiment = paper.experiments[name]
    cases = [case for case in experiment.cases(True, settings or {}) if keep(case.key)]
    plan = [(case.key, one) for case in cases for one in with_seeds(case.scenario, seeds)]
    numbers = for_each([one for _, one in plan], lambda _, record: experiment.numbers(record))
    runs: dict[Key, list[Mapping[str, float | None]]] = {}
    of: dict[Key, list[int]] = {}
    for (key, scenario), one in zip(plan, numbers, strict=True):
        runs.setdefault(key, []).append(one)
        of.setdefault(key, []).append(scenario.seed)
    return Results(runs=runs, seeds=of)

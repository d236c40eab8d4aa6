"""The summary of several runs: each number is replaced by its estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul import _core
from fairhaul.measures.bounds import BOUNDS, INDICES
from fairhaul.measures.types import is_valid
from fairhaul.scenario.read import titled
from fairhaul.statistics.estimate import (
    AT_LEAST_0,
    Bounds,
    estimate,
)

if TYPE_CHECKING:
    from fairhaul.measures.types import RunFigures, ScenarioResult

# Keys that distinguish runs, and have no mean.
NOT_SUMMARISED = frozenset(
    {"title", "variant", "seed", "single_packets", "warnings"}
    | {"kernel", "program", "memory_mb", "trust", "tries"}
)


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Replace each number of `runs`, which have the same shape, by its mean over the runs.

    A number that some runs do not have is averaged over the others; a verdict is true if it is true
    in every run.

    Raises:
        ValueError: their flows or links are not the same.
    """
    bounds = {**BOUNDS, **dict.fromkeys(INDICES, _index_bounds(runs[0]))}
    return {
        key: _summary([run.get(key) for run in runs], bounds, bounds.get(key, AT_LEAST_0))
        for key in runs[0]
        if key not in NOT_SUMMARISED
    }


def _index_bounds(run: Mapping[str, Any]) -> Bounds:
    """Give the bounds of Jain's index: of n groups it is at least 1/n."""
    measured = [flow for flow in run.get("flows", ()) if flow.get("role", "measured") == "measured"]
    groups = {flow.get("group", place) for place, flow in enumerate(measured)}
    return Bounds(low=1 / max(len(groups), 1), high=1.0)


def _summary(values: Sequence[Any], bounds: Mapping[str, Bounds], within: Bounds) -> Any:
    known = [value for value in values if value is not None]
    if not known:
        return None
    first = known[0]
    if isinstance(first, bool):
        return all(known)
    if isinstance(first, int | float):
        return estimate(known, within).to_dict()
    if isinstance(first, Mapping):
        return {
            key: _summary([value.get(key) for value in known], bounds, bounds.get(key, within))
            for key in first
        }
    if isinstance(first, list):
        return [_summary(column, bounds, within) for column in _alike(known)]
    return first


def _alike(lists: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Group the items at the same place of every list: flows or links of one name."""
    columns = list(zip(*lists, strict=True))
    for column in columns:
        names = {item.get("name") for item in column if isinstance(item, Mapping)}
        if len(names) > 1:
            raise ValueError(
                f"{' and '.join(sorted(map(str, names)))} are not the same flow or link"
            )
    return columns


def valid_runs(measures: Sequence[RunFigures]) -> list[RunFigures]:
    """Give the valid runs: all of the simulator's, and those of the lab that kept up.

    Raises:
        RunError: no run is valid.
    """
    valid = [run for run in measures if is_valid(run)]
    if not valid:
        reasons = sorted({reason for run in measures for reason in run["trust"]["reasons"]})
        title = titled(measures[0]["title"], measures[0].get("variant", {}))
        raise _core.RunError(f"{title}: no run is valid: {'; '.join(reasons)}")
    return valid


def scenario_result(measures: Sequence[RunFigures]) -> ScenarioResult:
    """Put the figures of one scenario's runs into one object, with their summary.

    Raises:
        RunError: no run is valid.
    """
    first = measures[0]
    means: Any = summary(valid_runs(measures))
    return {
        "title": first["title"],
        "variant": first.get("variant", {}),
        "runs": list(measures),
        "summary": means,
    }

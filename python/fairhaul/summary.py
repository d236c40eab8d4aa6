"""The summary of several runs: each number is replaced by its estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhaul.estimate import AT_LEAST_0, AT_LEAST_1, AT_MOST_1, FRACTION, Bounds, estimate

# Keys that distinguish runs, and have no mean.
NOT_SUMMARISED = frozenset(
    {"title", "variant", "seed", "grain", "warnings"}
    | {"kernel", "program", "memory_mb", "trust", "tries"}
)

# What figures can be; all others are at least 0.
BOUNDS: Mapping[str, Bounds] = {
    "share": FRACTION,
    "link_share": FRACTION,
    "loss_rate": FRACTION,
    "loss_sync": FRACTION,
    "utilization": FRACTION,
    "drop_rate": FRACTION,
    "mark_rate": FRACTION,
    "max_min_ratio": AT_LEAST_1,
    "harm": AT_MOST_1,
}
INDICES = ("jain", "jain_by_window", "entitlement")


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

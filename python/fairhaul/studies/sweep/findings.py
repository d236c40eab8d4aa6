"""What a sweep found: between which values of its keys a figure differs beyond chance.

All points share their seeds, so the runs of one seed are pairs. All statements of a sweep are
judged together (`statistics/evidence.py`), and only stationary runs say something about the long
term.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from fairhaul.figures.axes import SweptAxis, axes, labelled
from fairhaul.figures.columns import Measure, by_default, measure_of
from fairhaul.results.table import Row, named, short
from fairhaul.statistics.estimate import LEAST_RUNS
from fairhaul.statistics.evidence import below, judge, less
from fairhaul.statistics.splits import best_split

# Of more words, the one with the largest mean is compared with each of the others.
MOST_WORDS = 4
# A rule that says where a statement holds is right for at least this part of the points.
RIGHT = 0.8

Values = Mapping[int, float]
# Points, each with its numbers by seed.
Points = Sequence[tuple[Row, Values]]


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """Two values of a key, and at each setting of the other keys their numbers by seed."""

    axis: SweptAxis
    first: Any
    second: Any
    settings: Sequence[Mapping[str, Any]]
    values: Sequence[tuple[Values, Values]]

    @property
    def means(self) -> tuple[float, float]:
        """The mean of each value over the settings."""
        each = [(fmean(first.values()), fmean(second.values())) for first, second in self.values]
        return fmean(first for first, _ in each), fmean(second for _, second in each)


def findings(table: Sequence[Row], y: str | None) -> list[str]:
    """Give a sentence for each pair of words, and for the ends of each number.

    `y` is the column that is compared, by default fairness, or the busiest link of a single flow.
    """
    done = [row for row in table if row.runs and all(row.stationary)]
    keys = axes(table)
    if len(done) < 2 or not keys:
        return []
    columns = named(done[0].summary)
    owner = (y or "").rpartition(".")[0]
    usual = next(by_default(done[0].summary))
    measure = measure_of(str(y), owner=owner) if y in columns else usual
    points = [(row, _by_seed(row, measure)) for row in done]
    pairs = [pair for axis in keys for pair in _pairs(axis, points)]
    if not pairs:
        return []
    if min(len(row.runs) for row in done) < LEAST_RUNS:
        return [f"Whether points differ beyond chance requires at least {LEAST_RUNS} seeds."]
    verdicts = iter(judge([below(less(*both), 0.0) for pair in pairs for both in pair.values]))
    judged = [(pair, [next(verdicts) for _ in pair.values]) for pair in pairs]
    kind = "point" if len(done) == sum(bool(row.runs) for row in table) else "stationary point"
    told = [_sentence(pair, found, measure, kind) for pair, found in judged if set(found) != {None}]
    open_ = [(pair, found) for pair, found in judged if set(found) == {None}]
    names = [f"{_name(pair, 0)} and {_name(pair, 1)}" for pair, _ in open_]
    untold = f"At no point do the runs tell {_title(measure)} of these apart: {'; '.join(names)}."
    return [*told, *([untold] if names else [])]


def _pairs(axis: SweptAxis, points: Points) -> list[_Pair]:
    """Give the pairs of values of a key that are compared: of numbers, the ends."""
    if axis.numbers is not None:
        ends = (min(axis.values, key=axis.number), max(axis.values, key=axis.number))
        return [pair for pair in [_pair(axis, ends, points)] if pair.values]
    each = [_pair(axis, both, points) for both in combinations(axis.values, 2)]
    known = [pair for pair in each if pair.values]
    if len(axis.values) <= MOST_WORDS or not known:
        return known
    most = max(known, key=lambda pair: max(pair.means))
    best = most.first if most.means[0] >= most.means[1] else most.second
    return [pair for pair in known if best in (pair.first, pair.second)]


def _pair(axis: SweptAxis, both: tuple[Any, Any], points: Points) -> _Pair:
    places: dict[str, tuple[Mapping[str, Any], dict[int, Values]]] = {}
    for row, numbers in points:
        for side, value in enumerate(both):
            if row.point.variant.get(axis.key) == value:
                setting = {k: v for k, v in row.point.variant.items() if k != axis.key}
                place = places.setdefault(json.dumps(setting, sort_keys=True), (setting, {}))
                place[1][side] = numbers
    whole = [(of, each[0], each[1]) for of, each in places.values() if each.get(0) and each.get(1)]
    return _Pair(
        axis=axis,
        first=both[0],
        second=both[1],
        settings=[setting for setting, _, _ in whole],
        values=[(first, second) for _, first, second in whole],
    )


def _by_seed(row: Row, measure: Measure) -> Values:
    each = {run["seed"]: named(run)[measure.name] for run in row.runs}
    return {seed: value for seed, value in each.items() if value is not None}


def _sentence(pair: _Pair, is_below: Sequence[bool | None], measure: Measure, kind: str) -> str:
    """Say at how many points one value has more than the other, and where, if a rule says it."""
    more, fewer, unknown = (is_below.count(verdict) for verdict in (False, True, None))
    swapped = fewer > more
    means = [measure.scale * mean for mean in pair.means]
    if swapped:
        more, fewer = fewer, more
        means.reverse()
    first, second = _name(pair, swapped), _name(pair, not swapped)
    told, less_so = f"with {first} {_title(measure)} is larger than with {second}", "smaller"
    if measure.name == "jain" and pair.axis.numbers is None:
        told, less_so = f"{first} is fairer than {second}", "less fair"
    else:
        told = f"W{told[1:]}"
    points = f"{len(is_below)} {kind}{'' if len(is_below) == 1 else 's'}"
    at = f"{more} of {points}{_where(pair, [verdict is swapped for verdict in is_below])}"
    parts = [f"{told} at {at}"]
    parts += [f"{less_so} at {fewer}"] if fewer else []
    parts += [f"the runs cannot tell at {unknown}"] if unknown else []
    _, _, unit = measure.title.removesuffix(")").partition(" (")
    averages = f"{means[0]:.3g} and {means[1]:.3g} {unit}".strip()
    return f"{'; '.join(parts)} (on average {averages})."


def _name(pair: _Pair, side: int) -> str:
    return labelled(pair.axis, pair.second if side else pair.first)


def _title(measure: Measure) -> str:
    title = measure.title.partition(" (")[0]
    return title if title.startswith("Jain") else f"the {title[0].lower()}{title[1:]}"


def _where(pair: _Pair, holds: Sequence[bool]) -> str:
    """Name the rule over another key by which a statement holds or not, if there is one."""
    keys = list(pair.settings[0])
    if not keys:
        return ""
    split = best_split(pair.settings, holds)
    if split is None or not split.is_beyond_chance or not split.separates(RIGHT):
        return ""
    return f", mostly where {short(split.key, keys)} {split.rule}"

"""What a sweep can draw: the columns of its table, with their titles and scales."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairhaul.figures.charts import Scale, ends
from fairhaul.results.columns import DRAWN
from fairhaul.results.figure_rows import estimated
from fairhaul.results.table import OF_FLOWS, OF_ONE, parties

INDICES = ("jain", "entitlement")


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A figure that is drawn: its name among the columns, its title, its scale and its limits."""

    name: str
    title: str
    scale: float = 1.0
    most: float = float("inf")

    def of(self, found: Mapping[str, Any]) -> dict[str, float | None] | None:
        """Give the mean and the ends of its interval, or nothing where there is no value."""
        mean = found.get(self.name)
        return None if mean is None else estimated(mean, self.scale)

    def axis(self, rows: Sequence[Mapping[str, Any]]) -> Scale:
        """Give an axis with room for rows of `mean`, `low` and `high`."""
        values = [row[key] for row in rows for key in ("mean", "low", "high")]
        low, high = ends(values, most=self.most)
        return Scale(title=self.title, low=low, high=high)


def measure_of(column: str, *, owner: str = "") -> Measure:
    """Give the measure of a column; `owner` is named in its title."""
    kind = column.rpartition(".")[2]
    of = DRAWN[kind]
    of = replace(of, title=f"{of.title} of {owner}") if owner else of
    return Measure(
        name=column,
        title=of.axis,
        scale=of.scale,
        most=100.0 if of.unit == "%" else 1.0 if kind in INDICES else float("inf"),
    )


def by_default(figures: Mapping[str, Any]) -> Iterator[Measure]:
    """Choose what is drawn: fairness if several groups have it, and the busiest link."""
    if figures["fairness"]["jain"] is not None and len(parties(figures)) > 1:
        yield measure_of("jain")
    link = max(figures["links"], key=lambda link: link["utilization"]["mean"])["name"]
    yield from (
        measure_of(f"{link}.{name}") for name in ("utilization", "queue_mean_s", "drop_rate")
    )


def of_parties() -> Sequence[str]:
    """Name what each flow or group has, which one figure draws for all of them."""
    return (*OF_FLOWS, *OF_ONE)

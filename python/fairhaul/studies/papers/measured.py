"""What several papers compute of a run: payloads, when a link is filled, and losses in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.record.record import Record
from fairhaul.scenario.packets import HEADER_BYTES, payload_part
from fairhaul.studies.papers.layout import Column, Sheet

if TYPE_CHECKING:
    from fairhaul.studies.papers.axes import Axes

# A link counts as filled when it was this busy for a second.
FILLED, OVER_S = 0.9, 1.0

# All flows that are not named.
OTHERS = "others"


def goodput_factor(record: Record) -> float:
    """Give what a goodput is multiplied by so that packets of all engines carry as much.

    On real hosts time stamps take a part of each packet.
    """
    flow = record.meta["scenario"]["flows"][0]
    usual = 1 - HEADER_BYTES / float(flow["packet_bytes"])
    return usual / payload_part(flow, record.meta["engine"])


def time_to_fill(record: Record, link: int = 0) -> float | None:
    """When a link had first been `FILLED` for `OVER_S` seconds, None if it never was.

    `link` is its number in the scenario, where the other direction of each follows it.
    """
    import numpy as np
    import polars as pl

    name = record.meta["scenario"]["links"][link]["name"]
    rows = record.link_series.filter(pl.col("link").cast(pl.String) == name)
    starts = rows["t_s"].to_numpy()
    ends = np.append(starts[1:], record.meta["scenario"]["duration_s"])
    busy = np.concatenate([[0.0], np.cumsum(rows["busy_s"].to_numpy())])
    edges = np.concatenate([[starts[0]], ends])
    past = ends[ends >= OVER_S]
    within = np.interp(past, edges, busy) - np.interp(past - OVER_S, edges, busy)
    filled = past[within >= FILLED * OVER_S]
    return float(filled[0]) if filled.size else None


@dataclass(frozen=True, kw_only=True)
class Coincidence:
    """The part of the loss episodes in which each of some flows reduced its window.

    An experiment has it as the key `losses`.
    """

    title: str
    flows: Sequence[str]

    @property
    def names(self) -> list[str]:
        """The names of the numbers."""
        return ["episodes", *(f"{flow} reduces in" for flow in self.flows)]

    def sheet(self, axes: Axes) -> Sheet:
        """Give the table of these numbers."""
        return Sheet(
            title=f"{self.title}: synchronisation of losses",
            parameter=", ".join(axes.names),
            rows=axes.names,
            across=(),
            where={},
            columns=[
                Column(label=name, numbers=[name], form=".2f" if i else ".0f")
                for i, name in enumerate(self.names)
            ],
        )

    def numbers(self, figures: Mapping[str, Any]) -> dict[str, float | None]:
        """Give the numbers of the table of one run."""
        named = [flow for flow in self.flows if flow != OTHERS]
        parts = {flow["name"]: flow["loss_sync"] for flow in figures["flows"]}
        numbers = {f"{name} reduces in": parts.get(name) for name in named}
        rest = [part for name, part in parts.items() if name not in named and part is not None]
        if rest and OTHERS in self.flows:
            numbers[f"{OTHERS} reduces in"] = sum(rest) / len(rest)
        return {"episodes": float(figures["loss_episodes"]["count"]), **numbers}

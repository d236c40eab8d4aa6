"""How closely the losses of flows coincide: for every paper's experiments on shared queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairhaul.studies.papers.axes import Axes
    from fairhaul.studies.papers.layout import Sheet
    from fairhaul.studies.papers.section import Section

# All flows that are not named.
OTHERS = "others"


@dataclass(frozen=True, kw_only=True)
class Coincidence:
    """The part of the loss episodes in which each of some flows reduced its window."""

    title: str
    flows: Sequence[str]

    @classmethod
    def read(cls, section: Section) -> Coincidence:
        """Read the key `losses` of an experiment."""
        coincidence = cls(title=section.text("title"), flows=section.texts("flows"))
        section.close()
        return coincidence

    @property
    def names(self) -> list[str]:
        """The names of the numbers."""
        return ["episodes", *(f"{flow} reduces in" for flow in self.flows)]

    def sheet(self, axes: Axes) -> Sheet:
        """Give the table of these numbers."""
        from fairhaul.studies.papers.layout import Column, Sheet

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

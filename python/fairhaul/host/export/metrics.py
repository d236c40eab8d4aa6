"""The metrics that are exported, `metrics.csv`: their names in OpenTelemetry, and in Prometheus.

A name of Prometheus follows from that of OpenTelemetry by the translation that OpenTelemetry
documents: dots become underscores, the unit is appended, and counters end in `_total`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# How units, which OpenTelemetry writes as UCUM does, end a name of Prometheus. A unit in braces
# only says what is counted, and is not part of a name.
UNITS = {"By": "bytes", "By/s": "bytes_per_second", "s": "seconds", "1": "ratio"}

# The attributes of a flow. The first six are in the semantic conventions of OpenTelemetry.
OF_FLOW = (
    *("network.transport", "network.type", "network.local.address", "network.local.port"),
    *("network.peer.address", "network.peer.port", "fairhaul.controller", "fairhaul.namespace"),
)
PREFIX = "fairhaul."


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric: its name and unit in OpenTelemetry, its meaning, and its attributes."""

    name: str
    unit: str
    help: str
    attributes: tuple[str, ...] = ()
    kind: Literal["gauge", "counter", "info"] = "gauge"

    @property
    def prometheus(self) -> str:
        """Its name in Prometheus."""
        ending = "total" if self.kind == "counter" else None
        return "_".join(filter(None, (label(self.name), UNITS.get(self.unit), ending)))

    @property
    def family(self) -> str:
        """The name of its family in OpenMetrics, to which the library adds the ending again."""
        return self.prometheus.removesuffix("_total").removesuffix("_info")


def label(attribute: str) -> str:
    """Give the label of Prometheus for an attribute of OpenTelemetry."""
    return attribute.replace(".", "_")


def _read(row: Mapping[str, str]) -> Metric:
    """Read a row of the table: attributes are separated by spaces; `flow` are those of a flow."""
    words = row["attributes"].split()
    attributes = tuple(name for word in words for name in (OF_FLOW if word == "flow" else (word,)))
    return Metric(**{**row, "attributes": attributes})  # type: ignore[arg-type]


with (Path(__file__).parent / "metrics.csv").open(encoding="utf-8", newline="") as table:
    METRICS = {row["name"].removeprefix(PREFIX): _read(row) for row in csv.DictReader(table)}
"""All metrics by their names without the prefix."""

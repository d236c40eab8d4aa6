"""Figures: charts with a name, a title and a caption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: `name` is that of its files, `chart` a Vega-Lite specification.

    `raw` are the data that the page draws when a reader zooms into a chart over time (`zoom.py`).
    """

    name: str
    title: str
    caption: str
    chart: Mapping[str, Any]
    raw: Mapping[str, Any] | None = None

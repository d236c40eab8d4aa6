"""What charts are put together from: Vega-Lite specifications as plain dictionaries.

A mark is a layer of a chart: its kind, how it looks, which column stands for what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Spec = dict[str, Any]

KINDS = {"Q": "quantitative", "N": "nominal"}


def column(called: str, **more: Any) -> Spec:
    """Name a column and its kind, a quantity or a name: `t:Q`, `word:N`."""
    name, _, kind = called.rpartition(":")
    return {"field": name, "type": KINDS[kind], **more}


def values(rows: Sequence[Row]) -> Spec:
    """Give rows as the data of a chart."""
    return {"values": list(rows)}


def mark(
    kind: str,
    encoding: Mapping[str, Any],
    rows: Sequence[Row] | None = None,
    where: str = "",
    **look: Any,
) -> Spec:
    """Draw a mark for each of `rows`, by default those of the chart, or for those `where`."""
    return {
        **({} if rows is None else {"data": values(rows)}),
        **({"transform": [{"filter": where}]} if where else {}),
        "mark": {"type": kind, **look},
        "encoding": dict(encoding),
    }


def words(text: str, place: Mapping[str, Any], **look: Any) -> Spec:
    """Write `text` once."""
    return mark("text", {**place, "text": column("word:N")}, [{"word": text}], **look)


def layers(
    marks: Sequence[Spec], width: int, height: int, rows: Sequence[Row] | None = None
) -> Spec:
    """Draw marks one upon the other; `rows` are the data of marks without rows of their own."""
    data = {} if rows is None else {"data": values(rows)}
    return {**data, "layer": list(marks), "width": width, "height": height}


def vertical(charts: Sequence[Spec], spacing: int) -> Spec:
    """Put charts below each other."""
    return {"vconcat": list(charts), "spacing": spacing}


def horizontal(charts: Sequence[Spec], spacing: int) -> Spec:
    """Put charts beside each other."""
    return {"hconcat": list(charts), "spacing": spacing}


def rows_of(charts: Sequence[Spec], across: int, spacing: int) -> Spec:
    """Put charts into rows of `across`."""
    rows = [charts[first : first + across] for first in range(0, len(charts), across)]
    return vertical([horizontal(row, spacing) for row in rows], spacing)

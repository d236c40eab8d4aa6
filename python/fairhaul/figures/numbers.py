"""The numbers of a chart as tables: what the pointer finds in it, for readers without a pointer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairhaul.figures.select import evenly
from fairhaul.text.table import Table

Spec = Mapping[str, Any]
Row = Mapping[str, Any]

# The rows of a table over time, selected evenly, and those of any other.
MOST_TIMES, MOST_ROWS = 20, 60
# What a column is called whose values are names, and say themselves what they are.
NAMES = "name"


def numbers(chart: Spec) -> list[Table]:
    """Give the numbers that `chart` shows, in a table for each of its panels.

    The columns are those of the tips of the pointer; where a mark has none, its horizontal and
    its vertical axis.
    """
    return [table for view in views(chart) for table in _tables(view, chart)]


def views(chart: Spec) -> list[Spec]:
    """Give the panels of a chart; a chart without panels is one."""
    for way in ("vconcat", "hconcat"):
        if way in chart:
            return [view for inner in chart[way] for view in views(inner)]
    return [chart]


def _tables(view: Spec, chart: Spec) -> Iterator[Table]:
    drawn = [layer for layer in view["layer"] if layer["mark"]["type"] not in ("rule", "text")]
    pointed = [layer for layer in view["layer"] if "tooltip" in layer["encoding"]]
    found: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for layer in pointed or drawn:
        columns = tuple(_columns(layer["encoding"]))
        data = layer.get("data") or view.get("data") or chart.get("data") or {"values": []}
        fields = [field for field, _ in columns]
        rows = [
            row for row in data["values"] if any(row.get(field) is not None for field in fields)
        ]
        found.setdefault(columns, []).extend(row for row in rows if len(columns) > 1)
    for columns, rows in found.items():
        if rows:
            yield _table(_heading(view), columns, rows)


def _columns(encoding: Spec) -> Iterator[tuple[str, str]]:
    """Give the fields of a mark, and what each is called."""
    tips = encoding.get("tooltip") or [
        {"field": place["field"], "title": _title(place)}
        for place in (encoding.get("x"), encoding.get("y"))
        if place and "field" in place
    ]
    for tip in [tips] if isinstance(tips, Mapping) else tips:
        yield tip["field"], tip.get("title") or NAMES


def _title(place: Spec) -> str:
    return str(place.get("title") or (place.get("axis") or {}).get("title") or place["field"])


def _heading(view: Spec) -> str:
    """Give what stands above a panel at its left."""
    for layer in view["layer"]:
        is_left = layer["encoding"].get("x") == {"value": 0}
        if layer["mark"]["type"] == "text" and is_left and layer["mark"].get("y", 0) < 0:
            return str(layer["data"]["values"][0]["word"])
    return ""


def _table(title: str, columns: Sequence[tuple[str, str]], rows: Sequence[Row]) -> Table:
    fields = [field for field, _ in columns]
    cells = list(dict.fromkeys(tuple(_text(row.get(field)) for field in fields) for row in rows))
    most = MOST_TIMES if fields[0] == "t" else MOST_ROWS
    kept = evenly(cells, most)
    notes = [f"{most} of {len(cells)} rows, selected evenly."] if len(kept) < len(cells) else []
    words = sum(isinstance(rows[0].get(field), str) for field in fields)
    return Table(
        title=title,
        columns=[name for _, name in columns],
        rows=kept,
        words=max(1, words),
        notes=notes,
    )


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

"""The table of a sweep as texts: one row per point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhaul.results.table import Row, parties, short
from fairhaul.text.table import Table

# Flows or groups with a column each; of more only what all of them have together is shown.
MOST_PARTIES = 4
OF_ALL = ("Jain", "% of link used", "queue ms", "runs")


def grid(table: Sequence[Row]) -> Table:
    """Lay the table out."""
    keys, names = _keys(table), _names(table)
    rates = [f"{name} Mbit/s" for name in names]
    return Table(
        title=table[0].point.title,
        columns=[*(short(key, keys) for key in keys), *rates, *OF_ALL],
        rows=[_cells(row, keys, names) for row in table],
        words=len(keys),
    )


def _keys(table: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(key for row in table for key in row.point.variant))


def _names(table: Sequence[Row]) -> list[str]:
    """Name the flows or groups that have a column."""
    found = [party["name"] for row in table if row.runs for party in parties(row.runs[0])]
    names = list(dict.fromkeys(found))
    return names if len(names) <= MOST_PARTIES else []


def _cells(row: Row, keys: Sequence[str], names: Sequence[str]) -> list[str]:
    from fairhaul.results.figure_rows import cell, plain

    settings = [str(row.point.variant.get(key, "-")) for key in keys]
    if not row.runs:
        return [*settings, *["-"] * (len(names) + len(OF_ALL) - 1), "0"]
    figures: Mapping[str, Any] = row.summary
    by_name = {party["name"]: party for party in parties(figures)}
    goodput = plain(2, 1e-6)
    rates = [cell(by_name.get(name, {}).get("goodput_bps"), goodput) for name in names]
    link = max(figures["links"], key=lambda link: link["utilization"]["mean"])
    return [
        *settings,
        *rates,
        cell(figures["fairness"]["jain"], plain(3)),
        cell(link["utilization"], plain(1, 100)),
        cell(link["queue_mean_s"], plain(1, 1000)),
        str(len(row.runs)),
    ]

"""Figures of runs as rows of texts: for the terminal, for notebooks and for reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairhaul.measures.limits import limited_by
from fairhaul.results.columns import FAIRNESS, FLOWS, LINKS, Column
from fairhaul.text.digits import Decimals, Form
from fairhaul.text.table import Table

Rows = tuple[list[str], list[list[str]]]

# Of more flows, only so many of the first and of the last are printed.
MOST_FLOWS, AT_EACH_END = 24, 10
QUANTILES = {"smallest": 0.0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "largest": 1.0}


def cell(value: Any, form: Form) -> str:
    """Write a number, or a mean with its interval; a dash for None."""
    from fairhaul.statistics.estimate import text

    if value is None:
        return "-"
    return text(value, form) if isinstance(value, Mapping) else form(value)


def plain(digits: int, scale: float = 1.0) -> Decimals:
    """Write a number, times `scale`, with at most `digits` digits after the decimal point."""
    return Decimals(digits=digits, scale=scale)


FLOW_COLUMNS = {key: column for key, column in FLOWS.items() if column.heading}
GROUP_COLUMNS = {
    key: column
    for key, column in FLOW_COLUMNS.items()
    if key not in ("rtt_mean_s", "mode_changes_per_s")
}

# Columns without which a narrow terminal shows the others; the last is dropped first.
LEAST = (
    *("busiest link %", "cwnd", "% of link", "p95 ms", "median ms", "queue packets", "RTOs"),
    *("modes/s", "capacity packets", "Jain of max-min shares"),
)


def tables_of(engines: Mapping[str, Mapping[str, Any]], colours: Sequence[str] = ()) -> list[Table]:
    """Lay out the figures of one scenario: its flows, groups, links and the fairness among them.

    The same flow by several engines, or link or group, is below each other. `colours` are those of
    the flows in figures.
    """
    first = next(iter(engines.values()))
    flows = [_with_limit(flow) for flow in _by_engine(engines, "flows")]
    tables = [
        replace(
            _table("Flows", engines, _words_of(flows), flows, FLOW_COLUMNS),
            colours=[colour for colour in colours for _ in engines],
            bars=[min(1.0, mean(flow["link_share"])) for flow in flows],
            ends=AT_EACH_END if len(first["flows"]) > MOST_FLOWS else 0,
        )
    ]
    if len(first["flows"]) > MOST_FLOWS:
        quantiles = _by_engine({of: {"q": _quantiles(each)} for of, each in engines.items()}, "q")
        title = f"Quantiles of all {len(first['flows'])} flows"
        tables.append(_table(title, engines, ["name"], quantiles, FLOW_COLUMNS))
    if first.get("groups"):
        groups = _by_engine(engines, "groups")
        tables.append(_table("Groups", engines, ["name", "controller"], groups, GROUP_COLUMNS))
    links = _by_engine(engines, "links")
    tables.append(_table("Links", engines, ["name"], links, LINKS))
    columns, rows = fairness_rows(list(engines.values()))
    several = len(engines) > 1
    return [
        *tables,
        Table(
            title="Fairness",
            least=LEAST,
            columns=["engine" if several else "among", *columns],
            rows=[
                [engine if several else "measured flows", *row]
                for engine, row in zip(engines, rows, strict=True)
            ],
        ),
    ]


def limits_of(flow: Mapping[str, Any]) -> dict[str, float]:
    """Give the part of the time for which each limit kept a flow back, by its figures or means."""
    return {limit: mean(part) for limit, part in (flow.get("limits") or {}).items()}


def _with_limit(flow: Mapping[str, Any]) -> dict[str, Any]:
    return {**flow, "limited by": limited_by(limits_of(flow)) or "-"}


def _words_of(flows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the columns of words: what limits a flow only where it is not the congestion window."""
    limited = any(flow["limited by"] != "-" for flow in flows)
    return ["name", "controller", *(["limited by"] if limited else [])]


def _by_engine(engines: Mapping[str, Mapping[str, Any]], key: str) -> list[dict[str, Any]]:
    """Give the flows, groups or links of several engines, those of the same name together."""
    return [
        {**part, "engine": engine}
        for same in zip(*(figures[key] for figures in engines.values()), strict=True)
        for engine, part in zip(engines, same, strict=True)
    ]


def _table(
    title: str,
    engines: Mapping[str, object],
    words: Sequence[str],
    parts: Sequence[Mapping[str, Any]],
    columns: Mapping[str, Column],
) -> Table:
    names = [*words, "engine"] if len(engines) > 1 else words
    header, rows = _rows(parts, names, columns)
    return Table(title=title, columns=header, rows=rows, words=len(names), least=LEAST).condensed()


def _quantiles(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give quantiles of the figures of flows, those of each column by itself."""
    import numpy as np

    parts: list[dict[str, Any]] = [{"name": name} for name in QUANTILES]
    for key in FLOW_COLUMNS:
        values = [mean(flow[key]) for flow in figures["flows"] if flow.get(key) is not None]
        if values:
            found = np.quantile(values, list(QUANTILES.values()))
            for part, value in zip(parts, found, strict=True):
                part[key] = float(value)
    return parts


def _rows(
    parts: Sequence[Mapping[str, Any]],
    words: Sequence[str],
    columns: Mapping[str, Column],
) -> Rows:
    """Lay out the columns that have a value in any row."""
    used = [key for key in columns if any(part.get(key) is not None for part in parts)]
    header = [*words, *(columns[key].heading for key in used)]
    rows = [
        [
            *(part[word] for word in words),
            *(cell(part.get(k), columns[k].form) for k in used),
        ]
        for part in parts
    ]
    return header, rows


def fairness_rows(scenarios: Sequence[Mapping[str, Any]]) -> Rows:
    """Lay out the fairness of several scenarios, a row each; an index that is another's is not."""
    parts = [scenario["fairness"] for scenario in scenarios]
    columns = dict(FAIRNESS)
    if all(cell(of["entitlement"], plain(3)) == cell(of["jain"], plain(3)) for of in parts):
        del columns["entitlement"]
    header, rows = _rows(parts, [], columns)
    verdicts = [
        {True: "yes", False: "no", None: "-"}[scenario["stationary"]] for scenario in scenarios
    ]
    return [*header, "stationary"], [[*r, v] for r, v in zip(rows, verdicts, strict=True)]


def overview(labels: Sequence[str], scenarios: Sequence[Mapping[str, Any]]) -> Table:
    """Lay out the fairness of several scenarios and their busiest links, a row each."""
    columns, rows = fairness_rows(scenarios)
    form = LINKS["utilization"].form
    busy = [
        max((link["utilization"] for link in of["links"]), key=mean, default=None)
        for of in scenarios
    ]
    return Table(
        least=LEAST,
        columns=["", *columns, "busiest link %"],
        rows=[
            [label, *row, cell(utilization, form)]
            for label, row, utilization in zip(labels, rows, busy, strict=True)
        ],
    ).condensed()


def estimated(value: Any, by: float = 1.0) -> dict[str, float | None]:
    """Give the mean of an estimate and the ends of its interval, times `by`; a number has none."""
    of = value if isinstance(value, Mapping) else {"mean": value}
    return {key: None if of.get(key) is None else of[key] * by for key in ("mean", "low", "high")}


def mean(value: Any) -> float:
    """Give a number, or the mean of an estimate."""
    return float(value["mean"] if isinstance(value, Mapping) else value or 0.0)

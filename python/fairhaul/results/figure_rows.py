"""Figures of runs as rows of texts: for the terminal, for notebooks and for reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fairhaul.scenario.engines import Engine
from fairhaul.text.digits import Decimals, Scientific
from fairhaul.text.table import Table

Number = Callable[[float], str]
Rows = tuple[list[str], list[list[str]]]

# Of more flows, only so many of the first and of the last are printed.
MOST_FLOWS, AT_EACH_END = 24, 10
QUANTILES = {"smallest": 0.0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "largest": 1.0}


def cell(value: Any, form: Number, half: Number | None = None) -> str:
    """Write a number, or a mean with its interval; a dash for None."""
    from fairhaul.statistics.estimate import text

    if value is None:
        return "-"
    return text(value, form, half) if isinstance(value, Mapping) else form(value)


def plain(digits: int, scale: float = 1.0) -> Decimals:
    """Write a number, times `scale`, with at most `digits` digits after the decimal point."""
    return Decimals(digits=digits, scale=scale)


FLOW_COLUMNS: dict[str, tuple[str, Number]] = {
    "goodput_bps": ("Mbit/s", plain(2, 1e-6)),
    "link_share": ("% of link", plain(2, 100)),
    "loss_rate": ("loss", Scientific()),
    "loss_events": ("loss events", plain(0)),
    "timeouts": ("RTOs", plain(0)),
    "rtt_mean_s": ("RTT ms", plain(1, 1000)),
    "cwnd_mean": ("cwnd", plain(1)),
    "mode_changes_per_s": ("modes/s", plain(2)),
    "completion_s": ("completed in s", plain(3)),
}

GROUP_COLUMNS: dict[str, tuple[str, Number]] = {
    key: FLOW_COLUMNS[key]
    for key in FLOW_COLUMNS
    if key not in ("rtt_mean_s", "mode_changes_per_s")
}

LINK_COLUMNS: dict[str, tuple[str, Number]] = {
    "utilization": ("utilization %", plain(2, 100)),
    "drop_rate": ("drops", Scientific()),
    "mark_rate": ("marks", Scientific()),
    "queue_mean_packets": ("queue packets", plain(1)),
    "queue_mean_s": ("queue ms", plain(2, 1000)),
    "capacity_packets": ("capacity packets", plain(0)),
}

FAIRNESS_COLUMNS: dict[str, tuple[str, Number]] = {
    "jain": ("Jain's index", plain(3)),
    "max_min_ratio": ("largest / smallest", plain(2)),
    "entitlement": ("Jain of max-min shares", plain(3)),
}

# Controllers whose flows have the profile "linux" by default.
BBR = {"bbr", "bbr3"}


def flow_tables(title: str, flows: Sequence[Mapping[str, Any]]) -> Iterator[Table | str]:
    """Give the table of flows; of many the first and the last, and quantiles of all."""
    columns, rows = flow_rows(flows)
    if len(flows) <= MOST_FLOWS:
        yield Table(title=title, columns=columns, rows=rows, words=2)
        return
    gap = ["...", *[""] * (len(columns) - 1)]
    ends = [*rows[:AT_EACH_END], gap, *rows[-AT_EACH_END:]]
    yield Table(title=title, columns=columns, rows=ends, words=2)
    columns, rows = quantile_rows(flows)
    yield Table(title=f"Quantiles of all {len(flows)} flows", columns=columns, rows=rows)
    yield (
        f"{len(flows)} flows: the first {AT_EACH_END} and the last {AT_EACH_END} are printed. "
        "--json prints all, and the record (--out DIR) and its report have them."
    )


def quantile_rows(flows: Sequence[Mapping[str, Any]]) -> Rows:
    """Lay out quantiles of the figures of flows, those of each column by itself."""
    import numpy as np

    pass

    parts: list[dict[str, Any]] = [{"name": name} for name in QUANTILES]
    for key in FLOW_COLUMNS:
        values = [mean(flow[key]) for flow in flows if flow.get(key) is not None]
        if values:
            found = np.quantile(values, list(QUANTILES.values()))
            for part, value in zip(parts, found, strict=True):
                part[key] = float(value)
    return _rows(parts, ["name"], FLOW_COLUMNS)


def flow_rows(flows: Sequence[Mapping[str, Any]]) -> Rows:
    """Lay out flows, a row each."""
    return _rows(flows, ["name", "controller"], FLOW_COLUMNS)


def engine_rows(
    engines: Mapping[Engine, Mapping[str, Any]],
    key: str,
    columns: Mapping[str, tuple[str, Number]],
) -> Rows:
    """Lay out the flows or links of several engines, those of the same name below each other."""
    parts = [
        {**part, "engine": engine}
        for same in zip(*(figures[key] for figures in engines.values()), strict=True)
        for engine, part in zip(engines, same, strict=True)
    ]
    words = ["name", "controller", "engine"] if key == "flows" else ["name", "engine"]
    return _rows(parts, words, columns)


def group_rows(groups: Sequence[Mapping[str, Any]]) -> Rows:
    """Lay out groups of several flows, a row each."""
    return _rows(groups, ["name", "controller"], GROUP_COLUMNS)


def link_rows(links: Sequence[Mapping[str, Any]]) -> Rows:
    """Lay out links, a row each."""
    return _rows(links, ["name"], LINK_COLUMNS)


def _rows(
    parts: Sequence[Mapping[str, Any]],
    words: Sequence[str],
    columns: Mapping[str, tuple[str, Number]],
) -> Rows:
    """Lay out the columns that have a value in any row."""
    used = [key for key in columns if any(part.get(key) is not None for part in parts)]
    header = [*words, *(columns[key][0] for key in used)]
    rows = [
        [
            *(part[word] for word in words),
            *(cell(part.get(k), columns[k][1]) for k in used),
        ]
        for part in parts
    ]
    return header, rows


def fairness_rows(scenarios: Sequence[Mapping[str, Any]]) -> Rows:
    """Lay out the fairness of several scenarios, a row each."""
    header, rows = _rows([scenario["fairness"] for scenario in scenarios], [], FAIRNESS_COLUMNS)
    verdicts = [
        {True: "yes", False: "no", None: "-"}[scenario["stationary"]] for scenario in scenarios
    ]
    return [*header, "stationary"], [[*r, v] for r, v in zip(rows, verdicts, strict=True)]


def linux_sender_line(controllers: Iterable[str]) -> str:
    """Say that flows of BBR have the profile "linux"; nothing if there are none."""
    bbr = sorted(BBR.intersection(controllers))
    if not bbr:
        return ""
    return (
        f'{" and ".join(bbr)} ran with the sender of Linux: profile "linux" is the default of '
        'bbr and bbr3, and profile = "plain" selects the plain sender.'
    )


def _not_stationary(figures: Mapping[str, Any]) -> str:
    pass
    from fairhaul.text.durations import duration_text

    text = "not stationary: a measured bulk flow had fewer than 20 loss events"
    wanted_s = figures["wanted_duration_s"]
    if wanted_s is None:
        return text
    return f"{text}; about {duration_text(mean(wanted_s))} would suffice"


def fairness_line(figures: Mapping[str, Any]) -> str:
    """Write the indices of fairness, and whether the run was long enough."""
    fairness = figures["fairness"]
    parts = [
        f"Jain's index {cell(fairness['jain'], plain(3))}",
        f"largest / smallest goodput {cell(fairness['max_min_ratio'], plain(2))}",
    ]
    if figures["stationary"] is False:
        parts.append(_not_stationary(figures))
    if figures["completed"] is False:
        parts.append("a measured transfer was not completed")
    return "; ".join(parts)


def mean(value: Any) -> float:
    """Give a number, or the mean of an estimate."""
    return float(value["mean"] if isinstance(value, Mapping) else value or 0.0)

"""What a notebook shows: results as tables, and a line of progress while runs take long."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from fairhaul.durations import left_text

if TYPE_CHECKING:
    from fairhaul._core import Scenario
    from fairhaul.comparison import Comparison
    from fairhaul.record import Record
    from fairhaul.results import RunFigures
    from fairhaul.run_pool import OnProgress, Progress
    from fairhaul.sweeps.table import Row

# Shorter runs show no progress.
SHOWN_AFTER_S = 1.0
SHOWN_EVERY_S = 0.5
WIDTH = 60


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """Write a table as HTML; its first `words` columns are words, the others numbers."""

    def cells(tag: str, row: Sequence[str]) -> str:
        sides = ["left"] * words + ["right"] * (len(row) - words)
        return "".join(
            f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>'
            for cell, side in zip(row, sides, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f"<table><caption style='text-align: left'><b>{escape(title)}</b></caption>"
        f"<thead><tr>{cells('th', columns)}</tr></thead><tbody>{body}</tbody></table>"
    )


def of_runs(measures: Sequence[RunFigures]) -> str:
    """Write the figures of the runs of one scenario, as `fairhaul run` prints them."""
    from fairhaul import figure_rows
    from fairhaul.answers import valid_runs
    from fairhaul.estimate import legend
    from fairhaul.scenario import titled
    from fairhaul.summary import summary

    runs = valid_runs(measures)
    first: Mapping[str, Any] = runs[0]
    figures = first if len(runs) == 1 else summary(runs)
    title = titled(first["title"], first.get("variant", {}))
    seeds = f"seed {first['seed']}" if len(runs) == 1 else f"{len(runs)} seeds"
    parts = [
        f"<p>{escape(part)}</p>"
        if isinstance(part, str)
        else table(part.title, part.columns, part.rows, words=part.words)
        for part in figure_rows.flow_tables(f"{title} ({seeds})", figures["flows"])
    ]
    if figures.get("groups"):
        parts.append(table("Groups", *figure_rows.group_rows(figures["groups"]), words=2))
    parts.append(table("Links", *figure_rows.link_rows(figures["links"])))
    parts.append(f"<p>{escape(figure_rows.fairness_line(figures))}</p>")
    if len(runs) > 1:
        parts.append(f"<p>{escape(legend(len(runs)))}</p>")
    return "".join(parts)


def of_sweep(rows: Sequence[Row]) -> str:
    """Write one row per point of a sweep."""
    from fairhaul.sweeps.screen import cells, heads

    columns, words = heads(rows)
    return table(rows[0].point.title, columns, cells(rows), words=words)


def of_comparison(done: Comparison) -> str:
    """Write the tables of a comparison, and its answer."""
    from fairhaul.comparison.tables import paced_line, tables_of

    tables = [table(title, columns, rows) for title, columns, rows in tables_of(done)]
    paced = [paced_line(done.question)] if done.question.pacing else []
    return "".join([*tables, *(f"<p>{escape(text)}</p>" for text in (done.answer, *paced))])


def of_scenario(scenario: Scenario) -> str:
    """Write the flows and links of a scenario."""
    described = json.loads(scenario.describe())
    flows = [
        [flow["name"], flow["controller"], f"{1000 * flow['rtt_s']:.4g}", flow["role"]]
        for flow in described["flows"]
    ]
    links = [
        [link["name"], f"{link['rate_bps'] / 1e6:.6g}", f"{1000 * link['delay_s']:.4g}"]
        for link in described["links"]
    ]
    title = f"{described['title']}: {described['duration_s']:g} s, seed {described['seed']}"
    return table(title, ["flow", "controller", "RTT ms", "role"], flows, words=2) + table(
        "Links", ["link", "Mbit/s", "delay ms"], links
    )


def of_record(record: Record) -> str:
    """Write what a record holds."""
    rows = [
        [name, f"{len(frame):,}", ", ".join(frame.columns)]
        for name, frame in record.tables().items()
    ]
    meta = record.meta
    title = f"{meta['scenario']['title']}: record of engine {meta['engine']}, seed {meta['seed']}"
    return table(title, ["table", "rows", "columns"], rows)


def progress() -> OnProgress | None:
    """Give a function that shows a line of progress, if this is a notebook; otherwise nothing."""
    if not _is_notebook():
        return None
    begun_s = shown_s = time.monotonic()

    def on_progress(state: Progress) -> None:
        nonlocal shown_s
        now_s = time.monotonic()
        is_last = state.finished == state.runs
        if now_s < begun_s + SHOWN_AFTER_S or (now_s < shown_s + SHOWN_EVERY_S and not is_last):
            return
        shown_s = now_s
        line = f"{state.finished}/{state.runs} runs, {100 * state.part:.0f} %"
        line += left_text(now_s - begun_s, state.part)
        print(f"\r{line:{WIDTH}}", end="\n" if is_last else "", file=sys.stderr, flush=True)

    return on_progress


def _is_notebook() -> bool:
    """Whether the code runs in the kernel of a notebook, and not in a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")

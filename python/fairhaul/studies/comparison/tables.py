"""The tables of a comparison: each controller alone, and beside other flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.results.figure_rows import Number, cell, plain
from fairhaul.scenario.transport import STANDARD
from fairhaul.studies.comparison.answer import others_text
from fairhaul.text.durations import duration_text
from fairhaul.text.durations import rough_duration_text as half
from fairhaul.text.phrases import size_text
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.comparison import Comparison
    from fairhaul.studies.comparison.question import Question

Columns = dict[str, tuple[str, Number]]


def paced_line(question: Question) -> str:
    """Say how the hosts of the controllers paced, and those of the competing flows."""
    if question.pacing is None:
        return "No host paces: only controllers that pace themselves, such as bbr, are paced."
    beside = ""
    if question.others is not None:
        beside = (
            f", and so was {STANDARD}, which harm is compared with; the competing flows were not "
            "paced"
        )
    return (
        f'Every controller was simulated with pacing = "{question.pacing}" on its sender{beside}. '
        "Controllers that pace themselves, such as bbr, keep their own rate."
    )


def tables_of(done: Comparison) -> list[Table]:
    """Give the tables of a comparison."""
    columns = _columns(done)
    tables = [_table("Alone, one flow per round-trip time", done, columns, "alone")]
    if done.question.others is not None:
        share = {"share": ("% of all goodput", plain(1, 100))}
        harm = {"harm": ("harm", plain(2))}
        title = f"Competing with {others_text(done.question)}"
        tables.append(_table(title, done, share | harm | columns, "beside"))
    return tables


def _columns(done: Comparison) -> Columns:
    """Give the keys, headings and formats of both tables; `0.share` is a key of `flows[0]`."""
    rtts = [f"{rtt * 1000:g} ms" for rtt in done.question.rtts_s]
    size = size_text(done.question.size_bytes)
    columns: Columns = {"utilization": ("link used %", plain(1, 100))}
    if len(rtts) > 1:
        columns["jain"] = ("Jain", plain(3))
        columns |= {f"{i}.share": (f"% at {rtt}", plain(1, 100)) for i, rtt in enumerate(rtts)}
    columns |= {
        f"{i}.completion_s": (f"{size} at {rtt}", duration_text) for i, rtt in enumerate(rtts)
    }
    return columns


def _table(
    title: str,
    done: Comparison,
    columns: Mapping[str, tuple[str, Number]],
    case: str,
) -> Table:
    controllers: Sequence[Mapping[str, Any]] = done.rows
    rows = [
        [
            row["controller"] + ("" if row[case]["stationary"] else " *"),
            *(
                cell(_at(row[case], k), form, half if k.endswith("_s") else None)
                for k, (_, form) in columns.items()
            ),
        ]
        for row in controllers
    ]
    marked = any(not row[case]["stationary"] for row in controllers)
    header = ["controller", *(heading for heading, _ in columns.values())]
    title = f"{title}{' (* too short: not ranked)' if marked else ''}"
    return Table(title=title, columns=header, rows=rows)


def _at(case: Mapping[str, Any], key: str) -> Any:
    flow, dot, name = key.partition(".")
    return case["flows"][int(flow)][name] if dot else case[key]

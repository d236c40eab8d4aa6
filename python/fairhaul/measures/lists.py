"""The lists of a record that formulas may have: bins of a series, events, and times in a mode."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.measures.formula import RECORDS, Formula, FormulaError, matches
from fairhaul.record.columns import columns_of
from fairhaul.record.integrity import NUMBERS
from fairhaul.record.record import Record
from fairhaul.record.series import series
from fairhaul.text.nearest import hint

if TYPE_CHECKING:
    from fairhaul.record.columns import Table

# What a record calls the numbers of a controller's modes; the order is that of its page.
MODES: Mapping[str, tuple[str, ...]] = {
    "bbr": ("startup", "drain", "up", "down", "cruise", "probe_rtt"),
    "bbr3": ("startup", "drain", "up", "down", "cruise", "probe_rtt", "refill"),
}
# Controllers whose eBPF port reports its modes to the record of a kernel.
REPORTED_BY_PORT = frozenset({"bbr3"})
# A mode is a byte.
MOST_MODES = 256
EVENTS = ("reduction", "marked", "timeout", "recovered", "undone", "mode", "closed", "spurious")

WINDOW = "cwnd_packets"

Rows = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Stay:
    """A time that the controller of a flow was in one mode."""

    flow: str
    mode: float
    from_s: float
    until_s: float


def check_lists(formula: Formula, scenario: Mapping[str, Any]) -> None:
    """Check the lists of a formula for a described scenario, whose flows and links exist.

    Raises:
        FormulaError: there is no such column, event or mode.
    """
    for table, name, figure in formula.figures:
        if table not in RECORDS:
            continue
        known: Sequence[str] = EVENTS
        if table in NUMBERS:
            known = [column for column in NUMBERS[table] if column != "t_s"]
        elif table == "modes":
            flows = [flow for flow in scenario["flows"] if matches(flow["name"], name)]
            known = modes_of(flows[0]["controller"])
        if figure not in known and not (table == "modes" and figure.isdecimal()):
            raise FormulaError(f"unknown figure {figure!r} of {table}; {hint(figure, known)}")


def controllers_with_modes(formula: Formula, scenario: Mapping[str, Any]) -> frozenset[str]:
    """Give the controllers of the flows whose modes a formula has, in a described scenario."""
    names = [name for table, name, _ in formula.figures if table == "modes"]
    return frozenset(
        flow["controller"]
        for flow in scenario["flows"]
        if any(matches(flow["name"], name) for name in names)
    )


def modes_of(controller: str) -> Sequence[str]:
    """The names of the modes of a controller; of one without names, their numbers as texts."""
    return MODES.get(controller, ("0", "1"))


def lists_of(record: Record, formulas: Sequence[Formula]) -> dict[str, Rows]:
    """Give the lists of a record that `formulas` have, over its measured time."""
    wanted = {table for formula in formulas for table, _, _ in formula.figures}
    return {table: make(record) for table, make in MAKERS.items() if table in wanted}


def _of_flows(record: Record) -> Rows:
    return _bins(record, "flow_series", "flows")


def _of_links(record: Record) -> Rows:
    return _bins(record, "link_series", "links")


def _bins(record: Record, table: str, parts: str) -> Rows:
    scenario = record.meta["scenario"]
    rows = series(record.raw(table), len(scenario[parts]), scenario)
    return [
        {"name": part["name"]}
        | {name: _known(name, values[index].tolist()) for name, values in rows.columns.items()}
        for index, part in enumerate(scenario[parts])
    ]


def _known(name: str, values: Sequence[float]) -> list[float]:
    """Give the values that are known; none of a window of which some bins are not.

    Those would be the zeros before and after a connection whose stack does not show its window.
    """
    known = [value for value in values if not math.isnan(value)]
    return [] if name == WINDOW and len(known) < len(values) else known


def _events(record: Record) -> Rows:
    scenario = record.meta["scenario"]
    rows: Rows = [
        {"name": flow["name"]} | {kind: [] for kind in EVENTS} for flow in scenario["flows"]
    ]
    by_name = {row["name"]: row for row in rows}
    events = columns_of(record.raw("event")).rows("t_s", "kind", "flow", "value")
    for t_s, kind, flow, value in events:
        if scenario["warmup_s"] <= t_s < scenario["duration_s"]:
            by_name[flow][kind].append(value)
    shown = _shows_repeats(record)
    # What shows no retransmissions shows no needless ones either.
    return [row if row["name"] in shown else row | {"spurious": None} for row in rows]


def _shows_repeats(record: Record) -> set[str]:
    """Name the flows of transport stacks that have retransmissions."""
    flows = record.meta["scenario"]["flows"]
    if not any("stack" in flow for flow in flows):
        return set()
    again = series(record.raw("flow_series"), len(flows), record.meta["scenario"])
    repeated = zip(flows, again.total("retransmitted"), strict=True)
    return {flow["name"] for flow, packets in repeated if packets and "stack" in flow}


def _modes(record: Record) -> Rows:
    """Give the lengths of the stays in each mode that began in the measured time, seconds.

    The stay at the start of the measured time counts, too, from then on.
    """
    scenario = record.meta["scenario"]
    start_s, end_s = scenario["warmup_s"], scenario["duration_s"]
    rows: Rows = []
    stays = stays_of(record.raw("event"), end_s)
    for flow in scenario["flows"]:
        # Numbers name modes, too; those of other controllers are not known before a run.
        by_number: list[list[float]] = [[] for _ in range(MOST_MODES)]
        for stay in stays:
            length_s = min(stay.until_s, end_s) - max(stay.from_s, start_s)
            if stay.flow == flow["name"] and length_s > 0:
                by_number[int(stay.mode)].append(length_s)
        names = zip(modes_of(flow["controller"]), by_number, strict=False)
        numbered = {str(number): times for number, times in enumerate(by_number)}
        rows.append({"name": flow["name"], **numbered, **dict(names)})
    return rows


def stays_of(events: Table, end_s: float) -> list[Stay]:
    """Give the times that controllers were in each of their modes, in the order of time."""
    begun: dict[str, tuple[float, float]] = {}
    stays: list[Stay] = []
    for t_s, kind, flow, value in columns_of(events).rows("t_s", "kind", "flow", "value"):
        if kind == "mode":
            if flow in begun:
                from_s, mode = begun[flow]
                stays.append(Stay(flow=flow, mode=mode, from_s=from_s, until_s=t_s))
            begun[flow] = (t_s, value)
    for flow, (from_s, mode) in begun.items():
        stays.append(Stay(flow=flow, mode=mode, from_s=from_s, until_s=end_s))
    return sorted(stays, key=lambda stay: stay.from_s)


MAKERS: Mapping[str, Callable[[Record], Rows]] = {
    "flow_series": _of_flows,
    "link_series": _of_links,
    "events": _events,
    "modes": _modes,
}

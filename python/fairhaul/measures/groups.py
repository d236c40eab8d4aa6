"""Groups of flows: the connections of one transfer, groups of `group`, and those of `count`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.record.columns import columns_of

if TYPE_CHECKING:
    from fairhaul.measures.types import FlowFigures, GroupFigures
    from fairhaul.record.record import Record
    from fairhaul.record.series import Series

# The figures of a group that are the sums of those of its flows.
SUMMED = ("goodput_bps", "throughput_bps", "share", "transfer_bps")
COUNTED = ("retransmits", "loss_events", "timeouts")


def class_of(flow: Mapping[str, Any]) -> str:
    """Give what a flow has in common with the others of its `[[flow]]`: its group, or that name."""
    # An older record does not have this.
    return str(flow.get("class", flow["group"]))


def connections(record: Record) -> dict[str, list[str]]:
    """Give the flows that carry one transfer together, by the name of the first flow."""
    flows = record.meta["scenario"]["flows"]
    names: dict[str, list[str]] = {}
    for flow in flows:
        if flow.get("lead") is not None:
            names.setdefault(flows[flow["lead"]]["name"], []).append(flow["name"])
    return names


def shared_completions(record: Record) -> dict[str, float]:
    """Give the time that each transfer over several connections took, for each connection.

    The time is from the first opening to the last acknowledgement; incomplete transfers have none.
    """
    spans: dict[str, list[tuple[float, float]]] = {}
    for flow, start_s, end_s in columns_of(record.raw("transfer")).rows("flow", "start_s", "end_s"):
        spans.setdefault(flow, []).append((start_s, end_s))
    completions: dict[str, float] = {}
    for names in connections(record).values():
        mine = [span for name in names for span in spans.get(name, [])]
        if len(mine) == len(names) and not any(math.isnan(end_s) for _, end_s in mine):
            took = max(end_s for _, end_s in mine) - min(start_s for start_s, _ in mine)
            completions |= dict.fromkeys(names, took)
    return completions


def groups(
    rows: Series,
    flows: Sequence[FlowFigures[float]],
    bottlenecks: Mapping[str, tuple[int, float]],
) -> list[GroupFigures[float]]:
    """Add up the figures of the flows of every class that has several flows.

    `rows` are the series of all flows, in the order of `flows`; `bottlenecks` gives the link of
    each flow that has one, and its rate in bit/s. `cwnd_mean` is the sum of the mean windows of a
    group, None where one is not known, `completion_s` the time of the transfer that all of its
    flows carry, if they carry one. `link_share` is the payload that the bottlenecks of its flows
    sent, divided by what those links could send together.
    """
    by_class: dict[str, list[int]] = {}
    for index, flow in enumerate(flows):
        by_class.setdefault(flow["class"], []).append(index)
    sent, lost = rows.sent_with_copies(), rows.total("lost")
    return [
        _sums(
            name,
            [flows[index] for index in members],
            bottlenecks,
            _over(lost[members].sum(), sent[members].sum()),
        )
        for name, members in by_class.items()
        if len(members) > 1
    ]


def _over(lost: float, sent: float) -> float | None:
    return float(lost) / float(sent) if sent else None


def _sums(
    name: str,
    members: Sequence[FlowFigures[float]],
    bottlenecks: Mapping[str, tuple[int, float]],
    loss_rate: float | None,
) -> GroupFigures[float]:
    completions = {flow["completion_s"] for flow in members}
    controllers = dict.fromkeys(flow["controller"] for flow in members)
    values: Sequence[Mapping[str, Any]] = members
    windows = [flow["cwnd_mean"] for flow in members]
    sums: Any = {
        "name": name,
        "role": members[0]["role"],
        "controller": ", ".join(controllers),
        "flows": len(members),
        **{key: _sum([flow[key] for flow in values]) for key in (*SUMMED, *COUNTED)},
        "cwnd_mean": _sum(windows) if None not in windows else None,
        "link_share": _link_share(members, bottlenecks),
        "completion_s": completions.pop() if len(completions) == 1 else None,
        "loss_rate": loss_rate,
    }
    group: GroupFigures[float] = sums
    return group


def _link_share(
    members: Sequence[FlowFigures[float]], bottlenecks: Mapping[str, tuple[int, float]]
) -> float | None:
    """Give the share of a group's bottlenecks: each link counts once, however many flows use it."""
    known = [
        (share, bottlenecks[flow["name"]])
        for flow in members
        if (share := flow["link_share"]) is not None
    ]
    rates = dict(bottleneck for _, bottleneck in known)
    return sum(share * rate for share, (_, rate) in known) / sum(rates.values()) if known else None


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None

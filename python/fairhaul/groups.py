"""Groups of flows: the connections of one transfer, and the groups that fairness is taken over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairhaul.record import Record
    from fairhaul.results import FlowFigures, GroupFigures

# The figures of a group that are the sums of those of its flows.
SUMMED = ("goodput_bps", "throughput_bps", "share")
COUNTED = ("retransmits", "loss_events", "timeouts", "cwnd_mean")


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
    import polars as pl

    rows = record.transfer.with_columns(pl.col("flow").cast(pl.String))
    completions: dict[str, float] = {}
    for names in connections(record).values():
        mine = rows.filter(pl.col("flow").is_in(names))
        if mine.height == len(names) and not mine["end_s"].has_nulls():
            took = mine["end_s"].to_numpy().max() - mine["start_s"].to_numpy().min()
            completions |= dict.fromkeys(names, float(took))
    return completions


def groups(
    record: Record,
    flows: Sequence[FlowFigures[float]],
    bottlenecks: Mapping[str, tuple[int, float]],
) -> list[GroupFigures[float]]:
    """Add up the figures of the flows of every group that has several flows.

    `cwnd_mean` is the sum of their mean windows, `completion_s` the time of the transfer that all
    of them carry, if they carry one. `link_share` is the payload that the bottlenecks of the flows
    sent, divided by what those links could send together; `bottlenecks` gives the link of each flow
    that has one, and its rate in bit/s.
    """
    by_group: dict[str, list[FlowFigures[float]]] = {}
    for flow in flows:
        by_group.setdefault(flow["group"], []).append(flow)
    several = {name: members for name, members in by_group.items() if len(members) > 1}
    return [_sums(record, name, members, bottlenecks) for name, members in several.items()]


def _loss_rate(record: Record, names: Sequence[str]) -> float | None:
    import polars as pl

    inside = pl.col("t_s") >= record.meta["scenario"]["warmup_s"]
    rows = record.flow_series.filter(inside & pl.col("flow").cast(pl.String).is_in(names))
    sent, lost = (int(rows[column].sum()) for column in ("sent", "lost"))
    sent += int(rows["copied"].sum()) if "copied" in rows.columns else 0
    return lost / sent if sent else None


def _sums(
    record: Record,
    name: str,
    members: Sequence[FlowFigures[float]],
    bottlenecks: Mapping[str, tuple[int, float]],
) -> GroupFigures[float]:
    completions = {flow["completion_s"] for flow in members}
    controllers = dict.fromkeys(flow["controller"] for flow in members)
    values: Sequence[Mapping[str, Any]] = members
    sums: Any = {
        "name": name,
        "role": members[0]["role"],
        "controller": ", ".join(controllers),
        "flows": len(members),
        **{key: _sum([flow[key] for flow in values]) for key in (*SUMMED, *COUNTED)},
        "link_share": _link_share(members, bottlenecks),
        "completion_s": completions.pop() if len(completions) == 1 else None,
        "loss_rate": _loss_rate(record, [flow["name"] for flow in members]),
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

"""Measures of a run beyond its figures: how soon flows are fair, how steady they are, at what cost.

`docs/measures.md` defines each measure, with its source and its limits.
"""

# No postponed annotations: the required keys of a TypedDict are worked out from real ones.

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from fairhaul.measures.hosts import HostShares, host_shares
from fairhaul.measures.measures import WINDOWS_S, bottlenecks_of, offered_bps
from fairhaul.record.columns import columns_of
from fairhaul.record.record import Record
from fairhaul.record.series import Series, series

if TYPE_CHECKING:
    from fairhaul.record.series import Floats

# A flow has its fair share from this part of it on.
NEARLY = 0.9

# Goodput is averaged over a window of this length, and of this many of the longest round trips.
LEAST_WINDOW_S, ROUND_TRIPS = 1.0, 10.0

STANDARD = "reno"


class FlowDynamics(TypedDict):
    """The measures of one flow."""

    name: str
    overhead: float | None
    """Bytes sent, headers included, over new payload delivered."""
    variation: dict[str, float]
    """Standard deviation of the goodput over its mean, by the length of the window in seconds."""


class GroupDynamics(TypedDict):
    """The measures of one group of measured flows."""

    name: str
    claim_s: float | None
    """The time from its start until it first has nearly its fair share."""
    equivalent_flows: float | None
    """Its goodput over the mean goodput of the background's `reno` flows."""
    pair_shares: dict[str, float]
    """Its part of the goodput of itself and another group, by the name of the other."""


class Completions(TypedDict):
    """The completion times of transfers from `least_bytes` to below ten times that."""

    least_bytes: int
    completed: int
    unfinished: int
    mean_s: float | None
    p95_s: float | None
    efficiency: float | None
    """The mean of the shortest possible time over the completion time, 0 to 1."""


class Dynamics(TypedDict):
    """The measures of a run; None where the run does not define a measure."""

    window_s: float
    """The window over which goodput is averaged for `convergence_s` and `claim_s`."""
    convergence_s: float | None
    rtt_exponent: float | None
    background_loss_rate: float | None
    hosts: dict[str, HostShares]
    """The shares of hosts, by side: `source`, `destination`, where flows name hosts."""
    flows: list[FlowDynamics]
    groups: list[GroupDynamics]
    transfers: list[Completions]


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Measured bulk flows that count as one: their places, start and round-trip time."""

    members: list[int]
    controller: str
    rtt_s: float
    start_s: float
    goodput_bps: float


def dynamics(record: Record) -> Dynamics:
    """Compute the measures of a run that `measure` does not give.

    Source: [RFC 5166] for the choice of measures; the others at their functions.
    """
    scenario = record.meta["scenario"]
    flows = scenario["flows"]
    whole = series(record.raw("flow_series"), len(flows), {**scenario, "warmup_s": 0.0})
    measured = series(record.raw("flow_series"), len(flows), scenario)
    groups = _groups(record, measured)
    window_s = max(LEAST_WINDOW_S, ROUND_TRIPS * max(flow["rtt_s"] for flow in flows))
    goodputs = {
        name: whole.columns["goodput_bytes"][group.members].sum(axis=0) * 8
        for name, group in groups.items()
    }
    edges = [*whole.starts_s.tolist(), float(scenario["duration_s"])]
    length_s = scenario["duration_s"] - scenario["warmup_s"]
    return {
        "window_s": window_s,
        "convergence_s": convergence_s(edges, goodputs, groups, window_s),
        "rtt_exponent": rtt_exponent(groups),
        "background_loss_rate": _background_loss_rate(measured, flows),
        "hosts": host_shares(flows, measured.total("goodput_bytes") * 8 / length_s),
        "flows": [
            {
                "name": flow["name"],
                "overhead": _overhead(measured, place, flow["packet_bytes"]),
                "variation": _variation(measured, place, scenario),
            }
            for place, flow in enumerate(flows)
        ],
        "groups": [
            {
                "name": name,
                "claim_s": claim_s(edges, goodputs[name], groups, name, window_s),
                "equivalent_flows": _equivalent_flows(measured, flows, group, scenario),
                "pair_shares": _pair_shares(groups, name),
            }
            for name, group in groups.items()
        ],
        "transfers": _transfers(record),
    }


def _groups(record: Record, measured: Series) -> dict[str, _Group]:
    scenario = record.meta["scenario"]
    length_s = scenario["duration_s"] - scenario["warmup_s"]
    goodput = measured.total("goodput_bytes") * 8 / length_s
    starts: dict[str, float] = {}
    for flow, start_s in columns_of(record.raw("transfer")).rows("flow", "start_s"):
        starts[flow] = min(start_s, starts.get(flow, math.inf))
    members: dict[str, list[int]] = {}
    for place, flow in enumerate(scenario["flows"]):
        if flow["role"] == "measured" and flow["traffic"]["kind"] == "bulk":
            members.setdefault(flow["group"], []).append(place)
    specs = scenario["flows"]
    return {
        name: _Group(
            members=places,
            controller=specs[places[0]]["controller"],
            rtt_s=specs[places[0]]["rtt_s"],
            start_s=min(starts.get(specs[place]["name"], 0.0) for place in places),
            goodput_bps=float(goodput[places].sum()),
        )
        for name, places in members.items()
    }


def per_window(
    edges: Sequence[float], amounts: "Floats", from_s: float, window_s: float
) -> "Floats":
    """Add up what was counted in bins over complete windows that begin at `from_s`.

    An edge of a window within a bin splits the bin in proportion.
    """
    import numpy as np

    count = max(int((edges[-1] - from_s) / window_s * (1 + 1e-9)), 0)
    sums = np.concatenate([[0.0], np.cumsum(amounts)])
    ends = np.interp(from_s + window_s * np.arange(count + 1), edges, sums)
    windows: Floats = np.diff(ends)
    return windows


def convergence_s(
    edges: Sequence[float],
    goodputs: Mapping[str, "Floats"],
    groups: Mapping[str, _Group],
    window_s: float,
) -> float | None:
    """Give the time from the last start until every group first has nearly the mean goodput.

    Source: [BANSAL 2001, 4.2], with windows of time instead of exact shares.
    """
    if len(groups) < 2:
        return None
    last_s = max(group.start_s for group in groups.values())
    windows = [per_window(edges, amounts, last_s, window_s) for amounts in goodputs.values()]
    for number, shares in enumerate(zip(*windows, strict=True)):
        if min(shares) >= NEARLY * sum(shares) / len(shares) > 0:
            return (number + 1) * window_s
    return None


def claim_s(
    edges: Sequence[float],
    goodput: "Floats",
    groups: Mapping[str, _Group],
    name: str,
    window_s: float,
) -> float | None:
    """Give the time from a group's start until its goodput is nearly its fair share.

    The fair share is the mean goodput of all groups in the measured time.
    """
    fair = sum(group.goodput_bps for group in groups.values()) / len(groups)
    windows = per_window(edges, goodput, groups[name].start_s, window_s)
    for number, bits in enumerate(windows.tolist()):
        if bits >= NEARLY * fair * window_s > 0:
            return (number + 1) * window_s
    return None


def rtt_exponent(groups: Mapping[str, _Group]) -> float | None:
    """Fit goodput as a power of the round-trip time, over all groups; give minus the exponent.

    None if controllers differ, or all round-trip times are the same. Source: [LAKSHMAN 1997].
    """
    points = [
        (math.log(group.rtt_s), math.log(group.goodput_bps))
        for group in groups.values()
        if group.rtt_s > 0 and group.goodput_bps > 0
    ]
    if len({group.controller for group in groups.values()}) != 1 or len(points) < len(groups):
        return None
    x_mean = math.fsum(x for x, _ in points) / len(points)
    y_mean = math.fsum(y for _, y in points) / len(points)
    squares = math.fsum((x - x_mean) ** 2 for x, _ in points)
    if squares == 0:
        return None
    return -math.fsum((x - x_mean) * (y - y_mean) for x, y in points) / squares


def _overhead(measured: Series, place: int, packet_bytes: int) -> float | None:
    delivered = float(measured.total("goodput_bytes")[place])
    sent = float(measured.total("sent")[place]) * packet_bytes
    return sent / delivered if delivered else None


def _variation(measured: Series, place: int, scenario: Mapping[str, Any]) -> dict[str, float]:
    edges = [*measured.starts_s.tolist(), float(scenario["duration_s"])]
    longest_bin = float(measured.lengths_s.max())
    found = {}
    for window in WINDOWS_S:
        if window < longest_bin * (1 - 1e-9):
            continue
        amounts = measured.columns["goodput_bytes"][place]
        windows = per_window(edges, amounts, edges[0], window)
        if len(windows) > 1 and windows.mean() > 0:
            found[f"{window:g}"] = float(windows.std(ddof=1) / windows.mean())
    return found


def _equivalent_flows(
    measured: Series, flows: Sequence[Mapping[str, Any]], group: _Group, scenario: Mapping[str, Any]
) -> float | None:
    standard = [
        place
        for place, flow in enumerate(flows)
        if flow["role"] == "background"
        and flow["controller"] == STANDARD
        and flow["traffic"]["kind"] == "bulk"
    ]
    length_s = scenario["duration_s"] - scenario["warmup_s"]
    each = measured.total("goodput_bytes")[standard].sum() * 8 / length_s / max(len(standard), 1)
    return float(group.goodput_bps / each) if each > 0 else None


def _pair_shares(groups: Mapping[str, _Group], name: str) -> dict[str, float]:
    mine = groups[name].goodput_bps
    others = {other: of.goodput_bps for other, of in groups.items() if other != name}
    return {other: mine / (mine + its) for other, its in others.items() if mine + its > 0}


def _background_loss_rate(measured: Series, flows: Sequence[Mapping[str, Any]]) -> float | None:
    background = [place for place, flow in enumerate(flows) if flow["role"] == "background"]
    sent = float(measured.sent_with_copies()[background].sum())
    return float(measured.total("lost")[background].sum()) / sent if sent else None


def _transfers(record: Record) -> list[Completions]:
    """The transfers that have a size and began in the measured time, by the decade of the size."""
    scenario = record.meta["scenario"]
    rows = series(record.raw("link_series"), len(scenario["links"]), scenario)
    slowest = bottlenecks_of(scenario, offered_bps(rows, scenario))
    rtts_s = {flow["name"]: flow["rtt_s"] for flow in scenario["flows"]}
    endless = {flow["name"] for flow in scenario["flows"] if flow["traffic"]["kind"] == "bulk"}
    decades: dict[int, list[tuple[float, float]]] = {}
    columns = columns_of(record.raw("transfer"))
    for flow, start_s, end_s, size in columns.rows("flow", "start_s", "end_s", "bytes"):
        if flow not in endless and start_s >= scenario["warmup_s"]:
            decade = int(math.log10(size)) if size >= 1 else 0
            rate_bps = slowest[flow][1] if flow in slowest else math.inf
            # The opening takes one round trip, and the first packet with its acknowledgement one.
            shortest_s = 2 * rtts_s[flow] + (size * 8 / rate_bps if rate_bps > 0 else math.inf)
            decades.setdefault(decade, []).append((end_s - start_s, shortest_s))
    return [_completions(10**decade, times) for decade, times in sorted(decades.items())]


def _completions(least_bytes: int, times: Sequence[tuple[float, float]]) -> Completions:
    complete = [(took, shortest) for took, shortest in times if not math.isnan(took)]
    done = sorted(took for took, _ in complete)
    parts = [min(shortest / took, 1.0) for took, shortest in complete if took > 0]
    return {
        "least_bytes": least_bytes,
        "completed": len(done),
        "unfinished": len(times) - len(done),
        "mean_s": math.fsum(done) / len(done) if done else None,
        "p95_s": done[math.ceil(0.95 * len(done)) - 1] if done else None,
        "efficiency": math.fsum(parts) / len(parts) if parts else None,
    }

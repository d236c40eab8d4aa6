"""The figures of a run, computed from its record alone, over [warmup, duration].

The keys are those of `fairhaul run --json`, and typed in `results`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.measures import grain
from fairhaul.measures.capacity import capacities
from fairhaul.measures.fairness import entitlement, jain, max_min, max_min_ratio
from fairhaul.measures.groups import class_of, groups, shared_completions
from fairhaul.measures.limits import inside, limits
from fairhaul.measures.long_term import cycles, is_completed, is_stationary, measured_s, wanted_s
from fairhaul.measures.loss_sync import episodes
from fairhaul.measures.losses import REDUCTIONS, Loss, not_undone
from fairhaul.measures.modes import changes_per_s
from fairhaul.measures.queue_delay import UNKNOWN, percentiles
from fairhaul.measures.warnings import closures, warnings
from fairhaul.record.columns import columns_of
from fairhaul.record.series import Series, series

if TYPE_CHECKING:
    from fairhaul._core import Scenario
    from fairhaul.measures.types import Fairness, FlowFigures, LinkFigures, RunFigures
    from fairhaul.record.record import Record

# Lengths of the windows of `jain_by_window`, seconds; those from a bin to the whole run are used.
WINDOWS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

# What is known of a run with a kernel beside its figures.
NOTES = ("kernel", "program", "memory_mb", "trust", "tries")

# Times are sums of binary fractions.
ROUNDING = 1e-9


def measure(record: Record) -> RunFigures:
    """Compute every figure of `record`: one of the `runs` that `fairhaul run --json` prints.

    `fairhaul.measures.types.RunFigures` says what each key means, and in which unit it is.

    Source: Jain's index [JAIN].
    """
    meta = record.meta
    scenario = meta["scenario"]
    of_flows = series(record.raw("flow_series"), len(scenario["flows"]), scenario)
    of_links = series(record.raw("link_series"), len(scenario["links"]), scenario)
    rates = offered_bps(of_links, scenario)
    bottlenecks = bottlenecks_of(scenario, rates)
    losses = not_undone(record)
    flows = _flows(record, of_flows, losses, bottlenecks)
    coincidence = episodes(losses, flows, scenario)
    changes = changes_per_s(record)
    for spec, flow in zip(scenario["flows"], flows, strict=True):
        flow["cycles"] = cycles(spec, flow, measured_s(scenario))
        flow["loss_sync"] = coincidence.joined.get(flow["name"])
        if flow["name"] in changes:
            flow["mode_changes_per_s"] = changes[flow["name"]]
    several = groups(of_flows, flows, bottlenecks)
    noted = {key: meta[key] for key in NOTES if key in meta}
    figures: Any = {
        "title": scenario["title"],
        **({"variant": meta["variant"]} if meta["variant"] else {}),
        "engine": meta["engine"],
        "seed": meta["seed"],
        "version": meta["version"],
        "packets": meta["packets"],
        "cpu_s": meta.get("cpu_s"),
        **noted,
        **({"single_packets": single} if (single := grain.of_scenario(scenario)) else {}),
        "flows": flows,
        **({"groups": several} if several else {}),
        "links": _links(record, of_links, rates),
        "fairness": _fairness(scenario, of_flows, flows, rates),
        "loss_episodes": coincidence.to_dict(),
        "stationary": is_stationary(scenario, flows),
        "wanted_duration_s": wanted_s(scenario, flows),
        "completed": is_completed(scenario, flows),
        **({"warnings": doubts} if (doubts := warnings(scenario) + closures(meta)) else {}),
    }
    run: RunFigures = figures
    return run


def figures(_scenario: Scenario, record: Record) -> RunFigures:
    """Compute the figures of a run, which a sweep keeps."""
    return measure(record)


def _flows(
    record: Record,
    rows: Series,
    losses: Sequence[Loss],
    bottlenecks: Mapping[str, tuple[int, float]],
) -> list[FlowFigures[float]]:
    import numpy as np

    scenario = record.meta["scenario"]
    length = measured_s(scenario)
    goodput = rows.total("goodput_bytes") * 8 / length
    throughput = rows.total("delivered_bytes") * 8 / length
    samples = rows.total("rtt_samples")
    rtt_sum = np.nansum(rows.columns["rtt_s"] * rows.columns["rtt_samples"], axis=1)
    sent, lost = rows.sent_with_copies(), rows.total("lost")
    # An older record does not have this column.
    carried = [None] * len(sent)
    if "carried_bytes" in rows.columns:
        carried = list(rows.total("carried_bytes") * 8 / length)
    retransmitted, cwnd = rows.total("retransmitted"), rows.mean("cwnd_packets")
    warmup_s = scenario["warmup_s"]
    reductions = _counts(losses, REDUCTIONS, warmup_s)
    timeouts = _counts(losses, ("timeout",), warmup_s)
    completions = _completions(record) | shared_completions(record)
    rates_of, limited = _transfer_bps(record, completions), limits(record)
    all_goodput = float(goodput.sum())
    rates = [bottlenecks.get(flow["name"], (None, None))[1] for flow in scenario["flows"]]
    return [
        {
            "name": flow["name"],
            "group": flow["group"],
            "class": class_of(flow),
            "role": flow["role"],
            "controller": flow["controller"],
            "profile": flow.get("profile", "plain"),
            "goodput_bps": float(goodput[i]),
            "throughput_bps": float(throughput[i]),
            "share": _over(goodput[i], all_goodput),
            "link_share": _over(carried[i], rates[i]),
            "loss_rate": _over(lost[i], sent[i]),
            # A stack that reports none, as those of QUIC, may not name what it repeats.
            "retransmits": inside(flow, int(retransmitted[i]), of_stack=bool(retransmitted[i])),
            "loss_events": inside(flow, reductions[flow["name"]], of_stack=not math.isnan(cwnd[i])),
            "cycles": None,
            "timeouts": inside(flow, timeouts[flow["name"]], of_stack=False),
            "rtt_mean_s": _over(rtt_sum[i], samples[i]),
            "cwnd_mean": inside(flow, float(cwnd[i])),
            "completion_s": completions.get(flow["name"]),
            "transfer_bps": rates_of.get(flow["name"]),
            "loss_sync": None,
            "limits": limited.get(flow["name"], {}),
        }
        for i, flow in enumerate(scenario["flows"])
    ]


def _links(record: Record, rows: Series, rates: Sequence[float]) -> list[LinkFigures[float]]:
    scenario, delays = record.meta["scenario"], percentiles(record)
    queues = capacities(scenario)
    length = measured_s(scenario)
    busy, arrived = rows.total("busy_s"), rows.total("arrived")
    dropped, marked = rows.total("dropped"), rows.total("marked")
    packets, size = rows.mean("backlog_packets"), rows.mean("backlog_bytes")
    # The sum of the bins is rounded.
    used = [min(float(time) / length, 1.0) for time in busy]
    changing = [i for i, link in enumerate(scenario["links"]) if varies(link)]
    if changing:
        sent = rows.total("sent_bytes")
        for i in changing:
            used[i] = _over(sent[i] * 8, rates[i] * length) or 0.0
    return [
        {
            "name": link["name"],
            "utilization": used[i],
            "drop_rate": _over(dropped[i], arrived[i]),
            "mark_rate": _over(marked[i], arrived[i]),
            "queue_mean_packets": float(packets[i]),
            "queue_mean_s": _over(float(size[i]) * 8, rates[i]),
            **delays.get(link["name"], UNKNOWN),
            **queues[i],
        }
        for i, link in enumerate(scenario["links"])
    ]


def varies(link: Mapping[str, Any]) -> bool:
    """Whether the rate of a link changes during the run."""
    return bool(link.get("schedule", {}).get("rate"))


def offered_bps(rows: Series, scenario: Mapping[str, Any]) -> list[float]:
    """The mean rate of each link in the measured time, bit/s; `rows` are the series of links."""
    if "capacity_bytes" not in rows.columns:
        return [link["rate_bps"] for link in scenario["links"]]
    return [float(size) * 8 / measured_s(scenario) for size in rows.total("capacity_bytes")]


def _over(part: float | None, whole: float | None) -> float | None:
    return float(part) / float(whole) if whole and part is not None else None


def _counts(losses: Sequence[Loss], kinds: Sequence[str], warmup_s: float) -> Counter[str]:
    """The number of `losses` of `kinds` in the measured time, for each flow."""
    return Counter(loss.flow for loss in losses if loss.kind in kinds and loss.t_s >= warmup_s)


def _completions(record: Record) -> dict[str, float]:
    """The mean time of the transfers that each flow carried alone.

    A flow of a given size is one transfer, whenever it ran. Of a source of many transfers, those
    count that started in the measured time and were completed.
    """
    scenario = record.meta["scenario"]
    alone = [flow for flow in scenario["flows"] if flow.get("lead") is None]
    # From when on the transfers of each flow count.
    since_s = {
        flow["name"]: -math.inf if flow["traffic"]["kind"] == "sized" else scenario["warmup_s"]
        for flow in alone
    }
    times: dict[str, list[float]] = {}
    for flow, start_s, end_s in columns_of(record.raw("transfer")).rows("flow", "start_s", "end_s"):
        if start_s >= since_s.get(flow, math.inf) and not math.isnan(end_s):
            times.setdefault(flow, []).append(end_s - start_s)
    return {flow: math.fsum(took) / len(took) for flow, took in times.items()}


def _transfer_bps(record: Record, completions: Mapping[str, float]) -> dict[str, float]:
    """The rate of each complete transfer of a given size, from its start to its end, bit/s.

    A connection that carries a transfer with others has its part of that rate.
    """
    sized = {
        flow["name"]
        for flow in record.meta["scenario"]["flows"]
        if flow["traffic"]["kind"] == "sized"
    }
    rows = columns_of(record.raw("transfer")).rows("flow", "bytes")
    return {
        flow: size * 8 / completions[flow]
        for flow, size in rows
        if flow in sized and completions.get(flow)
    }


def bottlenecks_of(
    scenario: Mapping[str, Any], rates: Sequence[float]
) -> dict[str, tuple[int, float]]:
    """Give the slowest link on the path of each flow that crosses one, and its rate in bit/s."""
    return {
        flow["name"]: (link, rates[link])
        for flow in scenario["flows"]
        if (link := min(_route(flow), key=rates.__getitem__, default=None)) is not None
    }


def _route(flow: Mapping[str, Any]) -> list[int]:
    """The links on the path of a flow's data, as indices."""
    return [hop["link"] for hop in flow["forward"] if "link" in hop]


def _fairness(
    scenario: Mapping[str, Any],
    rows: Series,
    flows: Sequence[Mapping[str, Any]],
    rates: Sequence[float],
) -> Fairness[float]:
    """Fairness over the groups of role "measured"."""
    groups = _measured_groups(flows)
    shares = [sum(flows[i]["goodput_bps"] for i in members) for members in groups.values()]
    due = _entitled(scenario, flows, rates)
    entitled = [sum(due[i] for i in members) for members in groups.values()]
    return {
        "jain": jain(shares),
        "jain_by_window": jain_by_window(rows, list(groups.values()), scenario),
        "max_min_ratio": max_min_ratio(shares),
        "entitlement": entitlement(shares, entitled),
    }


def _measured_groups(flows: Sequence[Mapping[str, Any]]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for i, flow in enumerate(flows):
        if flow["role"] == "measured":
            groups.setdefault(flow["group"], []).append(i)
    return groups


def _entitled(
    scenario: Mapping[str, Any], flows: Sequence[Mapping[str, Any]], rates: Sequence[float]
) -> list[float]:
    """The max-min fair rate of each flow, bit/s; the flows of a group together weigh as one flow.

    A bulk flow is capped by its windows over its round-trip propagation time; a flow that does not
    always have data to send is capped by its goodput.
    """
    sizes = Counter(flow["group"] for flow in flows)
    caps = [
        _cap_bps(spec) if spec["traffic"]["kind"] == "bulk" else flow["goodput_bps"]
        for spec, flow in zip(scenario["flows"], flows, strict=True)
    ]
    return max_min(
        rates,
        [_route(flow) for flow in scenario["flows"]],
        caps,
        [1 / sizes[flow["group"]] for flow in flows],
    )


def _cap_bps(flow: Mapping[str, Any]) -> float:
    """The rate to which its windows and its access links limit a bulk flow."""
    windows = [flow["send_buffer_bytes"], flow["receive_buffer_bytes"]]
    if flow["max_window"] is not None:
        windows.append(flow["max_window"] * flow["packet_bytes"])
    caps = [window * 8 / flow["rtt_s"] for window in windows if window is not None]
    access = [hop["rate_bps"] for hop in flow["forward"] if "link" not in hop]
    return float(min([*caps, *access], default=math.inf))


def jain_by_window(
    rows: Series, groups: Sequence[Sequence[int]], scenario: Mapping[str, Any]
) -> dict[str, float]:
    """Jain's index in windows of several lengths, averaged over the complete windows of a run.

    An edge of a window within a bin splits the bin in proportion.
    """
    import numpy as np

    if not groups:
        return {}
    edges = np.append(rows.starts_s, scenario["duration_s"]) - scenario["warmup_s"]
    goodput = [rows.columns["goodput_bytes"][members].sum(axis=0) for members in groups]
    sums = [np.concatenate([[0.0], np.cumsum(row)]) for row in goodput]
    windows = {}
    for window in WINDOWS_S:
        if not rows.lengths_s.max() * (1 - ROUNDING) <= window <= edges[-1] * (1 + ROUNDING):
            continue
        ends = window * np.arange(int(edges[-1] / window * (1 + ROUNDING)) + 1)
        shares = np.diff([np.interp(ends, edges, row) for row in sums], axis=1)
        squares = (shares**2).sum(axis=0)
        busy = squares > 0
        if busy.any():
            indices = shares[:, busy].sum(axis=0) ** 2 / (len(groups) * squares[busy])
            windows[f"{window:g}"] = float(indices.mean())
    return windows

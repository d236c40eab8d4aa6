"""How XCP and TCP share the link over time, and what is due to each [XCP-TCP, 3]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fairhaul.record.record import Record
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.scenario.packets import payload_part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairhaul.studies.papers.results import Numbers

    Floats = NDArray[np.float64]

XCP, TCP = "XCP", "TCP"
CLASSES = (XCP, TCP)

# The paper's means are over 10 s, and flows arrive in whole multiples of that.
MEAN_S = 10
# A class has its share once the mean over 5 s is within a tenth of what is due, or within the 2 %
# of the link that the router takes for a match, and stays so for 10 s.
OVER_S, STAYS_S, NEAR, MATCH = 5, 10, 0.1, 2.0
# The end of a run, in which flows that grow slowly have grown most.
LATE_S = 30
# Short transfers that begin later may have no time to end.
LEFT_S = 10.0
# What XCP adds to the headers of a packet: its header, or an option of TCP on hosts with a kernel.
CONGESTION, OPTION = 20, 16


@dataclass(frozen=True, kw_only=True)
class Phase:
    """The time from one arrival to the next, and the flows that share the link in it."""

    start_s: int
    end_s: int
    flows: Mapping[str, int]
    new: str

    def due(self, who: str) -> float:
        """Give the share of the link that is due to a class, % [XCP-TCP, eq. 2]."""
        return 100 * self.flows[who] / sum(self.flows.values())

    def __str__(self) -> str:
        """Write when it is, and which flows it has."""
        flows = ", ".join(f"{n} {who}" for who, n in self.flows.items() if n)
        return f"{self.start_s} to {self.end_s} s: {flows}"


def phases(record: Record) -> list[Phase]:
    """Give the phases of a run: a new one begins where flows arrive."""
    scenario = record.meta["scenario"]
    # A flow starts within a second.
    arrivals = [(int(flow["start"]["from_s"]), _class(flow)) for flow in scenario["flows"]]
    end = int(scenario["duration_s"])
    starts = [start for start in sorted({start for start, _ in arrivals}) if start < end]
    return [
        Phase(
            start_s=start,
            end_s=until,
            flows={who: sum(of == who and at <= start for at, of in arrivals) for who in CLASSES},
            new=next(who for at, who in arrivals if at == start),
        )
        for start, until in zip(starts, [*starts[1:], end], strict=True)
    ]


def numbers(record: Record, _: Mapping[str, Any]) -> Numbers:
    """Give the shares of a run, % of the link.

    `XCP at 15` is the mean from 10 to 20 s, `XCP peak at 15` the most in a second of that. With
    `from 30` are the numbers of the phase that begins at 30 s, whose first 10 s, in which slow
    start ends, are not counted; those without it are of the last phase.
    """
    seconds = by_second(record)
    values: dict[str, float | None] = {}
    for who, share in seconds.items():
        for start in range(0, len(share) - MEAN_S + 1, MEAN_S):
            part = share[start : start + MEAN_S]
            values[f"{who} at {start + MEAN_S // 2}"] = float(part.mean())
            values[f"{who} peak at {start + MEAN_S // 2}"] = float(part.max())
    each = phases(record)
    for phase in each:
        start, end = phase.start_s, phase.end_s
        for who, share in seconds.items():
            rest, low = share[start + MEAN_S : end], share[start:end] < phase.due(who) / 2
            values[f"{who} from {start}"] = float(rest.mean()) if rest.size else None
            values[f"{who} below half from {start}"] = float(low.sum())
        reached = time_to_share(seconds[phase.new][start:end], phase.due(phase.new))
        values[f"there from {start}"] = reached
    last = each[-1]
    return {**values, **_last(last, seconds), **_router(record, last.start_s + MEAN_S)}


def on_hosts(record: Record, _: Mapping[str, Any]) -> dict[str, float | None]:
    """Give the shares of a run that real hosts can make, % of the link.

    They are of the last phase that lasts longer than the time in which slow start ends.
    """
    last = [each for each in phases(record) if each.end_s - each.start_s > MEAN_S][-1]
    seconds = {who: share[: last.end_s] for who, share in by_second(record).items()}
    return {**_last(last, seconds), f"{XCP} due": last.due(XCP)}


def _last(phase: Phase, seconds: Mapping[str, Floats]) -> dict[str, float | None]:
    """Give what the flows have once all have arrived, and how far it is from what is due."""
    settled = slice(phase.start_s + MEAN_S, phase.end_s)
    parts = {who: share[settled] for who, share in seconds.items()}
    if not parts[XCP].size:
        return {}
    means = [part.mean() for part in np.split(parts[XCP], range(MEAN_S, parts[XCP].size, MEAN_S))]
    return {
        **{who: float(part.mean()) for who, part in parts.items()},
        **{f"{who} of due": float(part.mean()) / phase.due(who) for who, part in parts.items()},
        "XCP late": float(seconds[XCP][-LATE_S:].mean()),
        "used": float(sum(part.mean() for part in parts.values())),
        "off": float(np.mean(np.abs(np.array(means) - phase.due(XCP)))),
    }


def time_to_share(share: Floats, due: float) -> float | None:
    """How long a class takes to its share: until means over 5 s are near it for 10 s.

    Nothing if it never comes, or does not stay.
    """
    if share.size < OVER_S + STAYS_S:
        return None
    means = np.convolve(share, np.ones(OVER_S) / OVER_S, mode="valid")
    near = (np.abs(means - due) <= max(NEAR * due, MATCH)).astype(float)
    stays = np.convolve(near, np.ones(STAYS_S), mode="valid") >= STAYS_S
    return float(np.argmax(stays)) if stays.any() else None


def by_second(record: Record) -> dict[str, Floats]:
    """Give the share of the link that each class has in each second, %, headers included."""
    scenario = record.meta["scenario"]
    rate = scenario["links"][0]["rate_bps"]
    length = int(scenario["duration_s"])
    flows = {flow["name"]: flow for flow in scenario["flows"]}
    second = (pl.col("t_s") + 1e-9).floor().cast(pl.Int64).alias("second")
    rows = record.flow_series.group_by(
        pl.col("flow").cast(pl.String), second, maintain_order=True
    ).agg(pl.col("delivered_bytes").sum())
    bits = {who: np.zeros(length) for who in CLASSES}
    for name, at, payload in rows.iter_rows():
        if at < length:
            worth = _on_the_wire(flows[name], record.meta["engine"])
            bits[_class(flows[name])][at] += payload * worth * 800 / rate
    return bits


def _class(flow: Mapping[str, object]) -> str:
    return XCP if flow["controller"] == "xcp" else TCP


def _on_the_wire(flow: Mapping[str, Any], engine: Engine) -> float:
    """Give what a flow's packets are, over their payload."""
    of_xcp = OPTION if FACTS[engine].kernel and _class(flow) == XCP else 0
    return 1 / (payload_part(flow, engine) - of_xcp / float(flow["packet_bytes"]))


def _router(record: Record, from_s: int) -> dict[str, float | None]:
    """Give what the router's gauges show of the last phase: its law's residue, and the drops.

    An interval takes from all in proportion to what they send, and gives to XCP alone: what it
    has to give over what it takes is the share at which XCP stays [XCP-SPEC, 4.3].
    """
    last = record.gauge.filter(
        (pl.col("t_s") >= from_s) & (pl.col("link").cast(pl.String) == "bottleneck")
    )
    gauges = {
        str(name): rows["value"].to_numpy()
        for (name,), rows in last.group_by(pl.col("gauge").cast(pl.String), maintain_order=True)
    }
    if not gauges:
        return {}
    change, shuffled = gauges["change"], gauges["shuffled"]
    takes = float((shuffled - change.clip(max=0)).sum())
    gives = float((shuffled + change.clip(min=0)).sum())
    residue = {"residue": min(100.0, 100 * gives / takes) if takes else None}
    if "drop_p" not in gauges:
        return residue
    p = gauges["drop_p"]
    return {
        **residue,
        "dropping": 100 * float((p > 0).mean()),
        "p": float(p[p > 0].mean()) if (p > 0).any() else None,
        "XCP counted": float(gauges["flows_asking"].mean()),
        "TCP counted": float(gauges["flows_plain"].mean()),
    }


def transfers(record: Record, _: Mapping[str, Any]) -> Numbers:
    """Give how long the short transfers take, and the share of XCP beside them."""
    scenario = record.meta["scenario"]
    warmup, end = scenario["warmup_s"], scenario["duration_s"]
    begun = record.transfer.filter(
        (pl.col("flow").cast(pl.String) == "short")
        & pl.col("start_s").is_between(warmup, end - LEFT_S)
    )
    took = (begun["end_s"] - begun["start_s"]).drop_nulls()
    numbers = {
        "transfers": float(begun.height),
        "unfinished": float(begun.height - took.len()),
        XCP: float(by_second(record)[XCP][int(warmup) :].mean()),
    }
    if not took.len():
        return numbers
    times = took.to_numpy()
    median, most = (float(np.quantile(times, part)) for part in (0.5, 0.95))
    return {**numbers, "mean s": float(times.mean()), "median s": median, "19 of 20 within s": most}

"""What a score computes of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.measures.dynamics import dynamics
from fairhaul.measures.measures import measure
from fairhaul.record.record import Record
from fairhaul.scenario.packets import PACKET_BYTES, payload_part

if TYPE_CHECKING:
    from fairhaul._core import Scenario


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a score needs of a run: goodputs in the order of the starts, and the link's figures.

    `most_bps` is the payload that can pass the bottleneck and is not lost behind it,
    `waiting_s` the mean time that a packet waits in the queue, and `drop_rate` is the part of
    the packets that the queue drops; random loss does not count. `jain`, `convergence_s` and
    `window_s` are figures of two flows of the same controller; `convergence_s` is None if they were
    not fair within the run.
    """

    goodputs_bps: Sequence[float]
    most_bps: float
    waiting_s: float
    drop_rate: float
    jain: float | None
    convergence_s: float | None
    window_s: float
    packets: int
    cpu_s: float


def figures_of(_scenario: Scenario, record: Record) -> dict[str, Any]:
    """Compute the figures of a run, as the keys of `Figures`."""
    run = measure(record)
    goodputs: dict[str, float] = {}
    for flow in run["flows"]:
        group = flow["group"]
        goodputs[group] = goodputs.get(group, 0.0) + flow["goodput_bps"]
    link = run["links"][0]
    # The packet that the link is sending does not wait.
    waiting = max(link["queue_mean_packets"] - link["utilization"], 0.0)
    described = record.meta["scenario"]["links"][0]
    kinds = {(flow["controller"], flow.get("stack")) for flow in record.meta["scenario"]["flows"]}
    alike = dynamics(record) if len(goodputs) == 2 and len(kinds) == 1 else None
    found = Figures(
        goodputs_bps=list(goodputs.values()),
        most_bps=most_bps(record),
        waiting_s=waiting * PACKET_BYTES * 8 / described["rate_bps"],
        drop_rate=at_the_queue(link["drop_rate"] or 0.0, described["loss"]),
        jain=run["fairness"]["jain"] if alike else None,
        convergence_s=alike["convergence_s"] if alike else None,
        window_s=alike["window_s"] if alike else 0.0,
        packets=int(run["packets"]),
        cpu_s=run["cpu_s"] or 0.0,
    )
    return asdict(found)


def most_bps(record: Record) -> float:
    """Give the payload that can pass the bottleneck of a run and is not lost behind it, bit/s."""
    scenario = record.meta["scenario"]
    described = scenario["links"][0]
    payload = payload_part(scenario["flows"][0], record.meta["engine"])
    return float(described["rate_bps"] * payload * (1 - _chance(described["loss"])))


def _chance(loss: Mapping[str, float] | None) -> float:
    return loss["probability"] if loss else 0.0


def at_the_queue(drop_rate: float, loss: Mapping[str, float] | None) -> float:
    """Give the part of the packets that the queue drops, without the random loss behind it."""
    chance = _chance(loss)
    return max((drop_rate - chance) / (1 - chance), 0.0)

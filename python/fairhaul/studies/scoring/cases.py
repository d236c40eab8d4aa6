"""The runs of a score: over each path one flow alone, and pairs of flows.

In a pair the second flow starts after a quarter of the run, when the first one has the whole link.
Runs of `cubic` and `reno` alone do not depend on the scored controller, so their figures are kept
for the next score of the same process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.measures.dynamics import dynamics
from fairhaul.measures.measures import measure
from fairhaul.runs.runs import for_each
from fairhaul.scenario.packets import PACKET_BYTES
from fairhaul.scenario.read import Scenario, read_one
from fairhaul.scenario.transport import Transport
from fairhaul.studies.scoring.paths import Path

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.runs.runs import OnProgress

OWN = "own"
RIVALS = ("cubic", "reno")

# The second flow starts, and a flow alone is measured, from this part of the run on.
ENTERS = 0.25
# Pairs are measured from this part of the run on.
PAIR_WARMUP = 0.5

# Figures of runs that are kept: of about eight draws.
MOST_KEPT = 4096

# The first flow, and the second one unless the first is alone.
Case = tuple[str, str | None]


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a score needs of a run: goodputs in the order of the starts, and the link's figures.

    `waiting_s` is the mean time that a packet waits in the queue, and `drop_rate` is the part of
    the packets that the queue drops; random loss does not count. `jain`, `convergence_s` and
    `window_s` are figures of two flows of the same controller; `convergence_s` is None if they were
    not fair within the run.
    """

    goodputs_bps: tuple[float, ...]
    waiting_s: float
    drop_rate: float
    jain: float | None
    convergence_s: float | None
    window_s: float
    packets: int
    cpu_s: float


_KEPT: dict[tuple[str | None, Path, Case], Figures] = {}


def cases_over(path: Path) -> dict[str, Case]:
    """Give the runs over a path by name: which flow starts first, and which one second."""

    def beside(rival: str) -> Case:
        return (OWN, rival) if path.begins else (rival, OWN)

    return {
        "alone": (OWN, None),
        "pair": (OWN, OWN),
        **{f"beside {rival}": beside(rival) for rival in RIVALS},
        **{f"pair of {rival}": (rival, rival) for rival in RIVALS},
    }


def run_cases(
    paths: Sequence[Path],
    transport: Transport,
    *,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
) -> list[dict[str, Figures]]:
    """Run all cases over all paths; give the figures of each path by the names of the cases."""
    profile = transport.profile
    rivals = {name: Transport(controller={"kind": name}, profile=profile) for name in RIVALS}
    same = next((name for name, rival in rivals.items() if rival == transport), OWN)
    wanted = [
        {name: _renamed(case, same) for name, case in cases_over(path).items()} for path in paths
    ]
    left = list(
        dict.fromkeys(
            (path, case)
            for path, cases in zip(paths, wanted, strict=True)
            for case in cases.values()
            if (profile, path, case) not in _KEPT
        )
    )
    plan = [scenario(path, case, {OWN: transport, **rivals}) for path, case in left]
    done = for_each(plan, _figures, jobs=jobs, on_progress=on_progress)
    found = dict(zip(left, done, strict=True))
    results = [
        {
            name: found[path, case] if (path, case) in found else _KEPT[profile, path, case]
            for name, case in cases.items()
        }
        for path, cases in zip(paths, wanted, strict=True)
    ]
    _keep(profile, found)
    return results


def _renamed(case: Case, same: str) -> Case:
    """Name the scored controller as the rival that it is, if it is one."""
    first, second = (same if name == OWN else name for name in case)
    assert first is not None, "only the second flow may be missing"
    return first, second


def _keep(profile: str | None, found: Mapping[tuple[Path, Case], Figures]) -> None:
    """Keep the figures of runs without the scored controller."""
    if len(_KEPT) + len(found) > MOST_KEPT:
        _KEPT.clear()
    for (path, case), figures in found.items():
        if OWN not in case:
            _KEPT[profile, path, case] = figures


def scenario(path: Path, case: Case, transports: Mapping[str, Transport]) -> Scenario:
    """Write the scenario of a run and read it."""
    first, second = case
    rtt_ps = round(path.rtt_s * 1e12)
    starts_s = {"first": 0.0} | ({"second": ENTERS * path.duration_s} if second else {})
    kinds = {"first": transports[first]} | ({"second": transports[second]} if second else {})
    of_path: dict[str, Any] = {
        "title": f"path {path.number}: {' and '.join(_kind(of) for of in kinds.values())}",
        "seed": path.number,
        "duration": _time(path.duration_s),
        "warmup": _time(path.duration_s * (PAIR_WARMUP if second else ENTERS)),
        "packet": f"{PACKET_BYTES} B",
        "bottleneck": {
            "rate": f"{path.rate_bps} bit/s",
            "delay": f"{rtt_ps // 4} ps",
            "queue": {"kind": "droptail", "capacity": f"{path.buffer_packets} packets"},
            "loss": path.loss,
        },
        "flow": [
            {
                "name": name,
                "rtt": f"{rtt_ps} ps",
                "start": _time(starts_s[name]),
                **transport.keys(),
            }
            for name, transport in kinds.items()
        ],
    }
    return read_one(of_path)


def _kind(transport: Transport) -> str:
    return str(transport.controller["kind"])


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e12)} ps"


def _figures(_: int, record: Record) -> Figures:
    run = measure(record)
    goodputs: dict[str, float] = {}
    for flow in run["flows"]:
        group = flow["group"]
        goodputs[group] = goodputs.get(group, 0.0) + flow["goodput_bps"]
    link = run["links"][0]
    # The packet that the link is sending does not wait.
    waiting = max(link["queue_mean_packets"] - link["utilization"], 0.0)
    described = record.meta["scenario"]["links"][0]
    kinds = {flow["controller"] for flow in run["flows"]}
    alike = dynamics(record) if len(goodputs) == 2 and len(kinds) == 1 else None
    return Figures(
        goodputs_bps=tuple(goodputs.values()),
        waiting_s=waiting * PACKET_BYTES * 8 / described["rate_bps"],
        drop_rate=at_the_queue(link["drop_rate"] or 0.0, described["loss"]),
        jain=run["fairness"]["jain"] if alike else None,
        convergence_s=alike["convergence_s"] if alike else None,
        window_s=alike["window_s"] if alike else 0.0,
        packets=int(run["packets"]),
        cpu_s=run["cpu_s"] or 0.0,
    )


def at_the_queue(drop_rate: float, loss: Mapping[str, float] | None) -> float:
    """Give the part of the packets that the queue drops, without the random loss behind it."""
    chance = loss["probability"] if loss else 0.0
    return max((drop_rate - chance) / (1 - chance), 0.0)

"""The runs of a score: over each path one flow alone, and pairs of flows.

In a pair the second flow starts after a quarter of the run, when the first one has the whole link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.scenario.packets import PACKET_BYTES
from fairhaul.scenario.read import Scenario, read_one
from fairhaul.scenario.transport import Stack, Transport
from fairhaul.studies.scoring.figures import Figures, figures_of
from fairhaul.studies.scoring.paths import Path

OWN = "own"
RIVALS = ("cubic", "reno")

# The second flow starts, and a flow alone is measured, from this part of the run on.
ENTERS = 0.25
# Pairs are measured from this part of the run on.
PAIR_WARMUP = 0.5

# The first flow, and the second one unless the first is alone.
Case = tuple[str, str | None]


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
    transport: Transport | Stack,
    profile: str,
    running: Running,
    queue: Mapping[str, Any],
) -> list[dict[str, Figures]]:
    """Run all cases over all paths; give the figures of each path by the names of the cases.

    Runs of the rivals alone are the same for every controller, and in a store they are run once.
    """
    rivals = {name: Transport(controller={"kind": name}, profile=profile) for name in RIVALS}
    transports, by = {OWN: transport, **rivals}, build_of(figures_of)
    plan = [
        jobs_of(scenario(path, case, transports, queue), 1, "sim", "score figures", by)[0]
        for path in paths
        for case in cases_over(path).values()
    ]
    done = iter(values(plan, figures_of, running))
    return [{name: Figures(**next(done)) for name in cases_over(path)} for path in paths]


def scenario(
    path: Path, case: Case, transports: Mapping[str, Transport | Stack], queue: Mapping[str, Any]
) -> Scenario:
    """Write the scenario of a run and read it."""
    rtt_ps = round(path.rtt_s * 1e12)
    first, second = case
    flows = {"first": (transports[first], 0.0)}
    if second:
        flows["second"] = (transports[second], ENTERS * path.duration_s)
    kinds = (transport.kind for transport, _ in flows.values())
    of_path: dict[str, Any] = {
        "title": f"path {path.number}: {' and '.join(kinds)}",
        "seed": path.number,
        "duration": _time(path.duration_s),
        "warmup": _time(path.duration_s * (PAIR_WARMUP if second else ENTERS)),
        "packet": f"{PACKET_BYTES} B",
        "bottleneck": {
            "rate": f"{path.rate_bps} bit/s",
            "delay": f"{rtt_ps // 4} ps",
            "queue": {**queue, "capacity": f"{path.buffer_packets} packets"},
            "loss": path.loss,
        },
        "flow": [
            {"name": name, "rtt": f"{rtt_ps} ps", "start": _time(start_s), **transport.keys()}
            for name, (transport, start_s) in flows.items()
        ],
    }
    return read_one(of_path)


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e12)} ps"

"""The runs of a comparison, and how long they last.

All runs of a comparison are equally long, so that their figures are comparable. A short probe
counts loss events; the duration is then extended until the slowest flow has enough of them, or
until the packets that a comparison may cost are spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.comparison.question import STANDARD, Question, Transport
from fairhaul.measures import ENOUGH_LOSS_EVENTS, measure
from fairhaul.runs import for_each
from fairhaul.scenario import Scenario, ScenarioError, read_one, with_seeds

if TYPE_CHECKING:
    from fairhaul.record import Record
    from fairhaul.results import RunFigures
    from fairhaul.runs import OnProgress

# Full-size packets that all runs of a comparison may carry together, probes included. At 1.5
# million packets a second on each of two cores, a third of what the engine does on a machine of
# today, that is within a minute. It is a number of packets, not a time, so that the same question
# has the same answer on every machine.
MOST_PACKETS = 150_000_000

PACKET_BYTES = 1000

# The length of a probe: this many of the longest round trips, and at least this many seconds.
PROBE_ROUND_TRIPS, PROBE_S = 100, 10.0

# Below this a run is over before its flows have left slow start.
LEAST_ROUND_TRIPS = 20

# Slow links cost few packets; their runs end here.
LONGEST_S = 100_000.0

# The part of a run that is its warm-up.
WARMUP = 0.2

# Loss events are not evenly spaced: the estimated duration is extended by this factor.
MARGIN, LEAST_STEP, LARGEST_STEP = 1.25, 1.5, 10.0
LEAST_GAIN = 1.2


@dataclass(frozen=True, kw_only=True)
class Case:
    """The flows of a run: one of a controller per round-trip time, alone or beside the others."""

    name: str
    beside: bool


@dataclass(frozen=True, kw_only=True)
class Done:
    """The measures of every case, one for each seed, and the cost of all runs."""

    measures: Mapping[Case, Sequence[Mapping[str, Any]]]
    duration_s: float
    warmup_s: float
    packets: int
    cpu_s: float
    stationary: bool


def run_cases(
    question: Question,
    *,
    seeds: int,
    most_packets: int,
    jobs: int | None,
    on_progress: OnProgress | None,
) -> Done:
    """Run every case of `question` long enough."""
    transports = _cases(question)
    left_s = _most_s(question, len(transports) * seeds, most_packets)
    duration_s = _tidy(min(max(PROBE_S, PROBE_ROUND_TRIPS * max(question.rtts_s)), left_s))
    packets, cpu_s = 0, 0.0
    while True:
        plan = [
            seeded
            for case, transport in transports.items()
            for seeded in with_seeds(_scenario(question, case, transport, duration_s), seeds)
        ]
        results = for_each(plan, _figures, jobs=jobs, on_progress=on_progress)
        packets += sum(int(run["packets"]) for run in results)
        cpu_s += sum(run["cpu_s"] for run in results)
        left_s -= duration_s
        events = min(least_loss_events(run) for run in results)
        longer_s = _tidy(min(duration_s * _step(events), left_s))
        # A run that would hardly be longer than the last shows nothing new.
        if events >= ENOUGH_LOSS_EVENTS or longer_s < LEAST_GAIN * duration_s:
            break
        duration_s = longer_s
    cases = {case: results[i * seeds : (i + 1) * seeds] for i, case in enumerate(transports)}
    return Done(
        measures=cases,
        duration_s=duration_s,
        warmup_s=WARMUP * duration_s,
        packets=packets,
        cpu_s=cpu_s,
        stationary=events >= ENOUGH_LOSS_EVENTS,
    )


def _figures(_: int, record: Record) -> RunFigures:
    return measure(record)


def _most_s(question: Question, runs: int, most_packets: int) -> float:
    """How long `runs` runs may last, all of them together, probes included, within the bound."""
    per_second = question.rate_bps / 8 / PACKET_BYTES * runs
    left_s = min(most_packets / per_second, LONGEST_S)
    if left_s < LEAST_ROUND_TRIPS * max(question.rtts_s):
        raise ScenarioError(
            f"{runs} runs may carry {most_packets} packets in total, so each ends after "
            f"{left_s:.2g} s, too soon for a round-trip time of {max(question.rtts_s):g} s: "
            "compare fewer controllers, or at a lower rate"
        )
    return left_s


def least_loss_events(run: Mapping[str, Any]) -> int:
    """The loss events of the flow that had the fewest."""
    return min(int(flow["loss_events"]) for flow in run["flows"])


def _step(events: int) -> float:
    """How many times longer a run has to be whose slowest flow had `events` loss events."""
    wanted = MARGIN * ENOUGH_LOSS_EVENTS / events if events else LARGEST_STEP
    return min(max(wanted, LEAST_STEP), LARGEST_STEP)


def _tidy(seconds: float) -> float:
    """Round a length to two or three digits, so that it can be printed."""
    step = 10.0 if seconds >= 1000 else 1.0 if seconds >= 10 else 0.01
    return round(seconds // step * step, 2)


def _cases(question: Question) -> dict[Case, Transport]:
    """Every case with its transport; standard TCP always runs beside the others, too."""
    controllers = {Case(name=n, beside=False): c for n, c in question.controllers.items()}
    if question.others is not None:
        with_standard = {
            **question.controllers,
            STANDARD: Transport(controller={"kind": STANDARD}),
        }
        controllers |= {Case(name=n, beside=True): c for n, c in with_standard.items()}
    return controllers


def _scenario(question: Question, case: Case, transport: Transport, duration_s: float) -> Scenario:
    """Write the scenario of one case and read it.

    The bottleneck has a quarter of the shortest round-trip time in each direction, and the access
    links have the other half. Flows start within a second, at times that are drawn.
    """
    rtts = [_picoseconds(rtt) for rtt in question.rtts_s]
    start = f"uniform 0 s..{min(1.0, duration_s / 20):g} s"
    flows: list[dict[str, object]] = [
        {"name": f"F{i + 1}", "rtt": f"{rtt} ps", "start": start, **transport.keys()}
        for i, rtt in enumerate(rtts)
    ]
    if case.beside and question.others is not None:
        others = {
            "name": "others",
            "role": "background",
            "count": question.others.count,
            "rtt": f"{min(rtts)} ps..{max(rtts)} ps",
            "start": start,
            **question.others.transport.keys(),
        }
        flows.append(others)
    beside = "beside the others" if case.beside else "alone"
    scenario = {
        "title": f"{case.name} {beside}",
        "duration": f"{duration_s:g} s",
        "warmup": f"{WARMUP * duration_s:.6g} s",
        "packet": f"{PACKET_BYTES} B",
        "bottleneck": {
            "rate": question.rate,
            "delay": f"{min(rtts) // 4} ps",
            "queue": {"kind": "droptail", "capacity": question.buffer},
        },
        "flow": flows,
    }
    return read_one(scenario)


def _picoseconds(seconds: float) -> int:
    return round(seconds * 1e12)

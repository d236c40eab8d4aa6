"""The runs of a comparison, and how long they last.

All runs of a comparison are equally long, so that their figures are comparable. Short trial runs
with one seed count cycles (`measures/long_term.py`); the runs of all seeds are then long enough
for the slowest flow to have enough of them, or as long as the budget allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.measures.long_term import ENOUGH_CYCLES, MARGIN
from fairhaul.measures.measures import figures
from fairhaul.measures.types import RunFigures
from fairhaul.runs.runs import refuse_if_impossible
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.scenario.read import Scenario, ScenarioError, read_one
from fairhaul.scenario.transport import STANDARD, Stack, Transport
from fairhaul.studies.comparison.question import Question
from fairhaul.text.phrases import count_of

# The length of a trial run: this many of the longest round trips, and at least this many seconds.
TRIAL_ROUND_TRIPS, TRIAL_S = 100, 10.0

# What is measured has at least this many of the longest round trips, however many cycles.
ENOUGH_ROUND_TRIPS = 200

# Below this a run is over before its flows have left slow start.
LEAST_ROUND_TRIPS = 20

# Slow links cost few packets; their runs end here.
LONGEST_S = 100_000.0

# The part of a run that is its warm-up.
WARMUP = 0.2

LEAST_STEP, LARGEST_STEP = 1.5, 10.0
LEAST_GAIN = 1.2

# Both ends of a transport stack take about this many times as long for a packet as the simulated
# sender (docs/stacks.md), and a budget counts their packets accordingly.
STACK_COST = 10

# Durations are sums of binary fractions.
ROUNDING = 1e-9


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
    engine: Engine = "sim"


def least_s(question: Question) -> float:
    """How long runs have to be for enough round trips to be measured."""
    return ENOUGH_ROUND_TRIPS * max(question.rtts_s) / (1 - WARMUP)


def is_long_enough(question: Question, cycles: float, duration_s: float) -> bool:
    """Whether runs can be judged in which the slowest flow had that number of cycles."""
    return cycles >= ENOUGH_CYCLES and duration_s >= least_s(question) * (1 - ROUNDING)


def budget_s(question: Question, duration_s: float, seeds: int, engine: Engine = "sim") -> float:
    """Give the processor time that runs of that duration count as."""
    packets_per_s = _packets_per_s(question) * seeds
    return duration_s * packets_per_s / FACTS[engine].packets_per_cpu_s


def _packets_per_s(question: Question) -> float:
    """How many packets one run of each case counts as, for each second that it lasts."""
    costs = (STACK_COST if isinstance(of, Stack) else 1 for of in _cases(question).values())
    return question.rate_bps / 8 / question.packet_bytes * sum(costs)


def run_cases(question: Question, running: Running, *, seeds: int, engine: Engine = "sim") -> Done:
    """Run every case of `question` long enough, or as long as its budget allows."""
    transports, by = _cases(question), build_of(figures)
    tried = (_scenario(question, case, of, TRIAL_S) for case, of in transports.items())
    refuse_if_impossible(engine, tried)

    def run(duration_s: float, each: int) -> list[RunFigures]:
        plan = [
            job
            for case, transport in transports.items()
            for job in jobs_of(
                _scenario(question, case, transport, duration_s), each, engine, "figures", by
            )
        ]
        return values(plan, figures, running, engine=engine)

    def done(results: Sequence[RunFigures], cost: Sequence[RunFigures], duration_s: float) -> Done:
        cycles = least(map(least_cycles, results))
        return Done(
            measures={
                case: results[i * seeds : (i + 1) * seeds] for i, case in enumerate(transports)
            },
            duration_s=duration_s,
            warmup_s=WARMUP * duration_s,
            packets=sum(int(run["packets"]) for run in cost),
            cpu_s=sum(run["cpu_s"] or 0.0 for run in cost),
            stationary=cycles is not None and is_long_enough(question, cycles, duration_s),
            engine=engine,
        )

    if question.duration_s is not None:
        results = run(question.duration_s, seeds)
        return done(results, results, question.duration_s)
    left_s = _most_s(question, seeds, engine)
    trial_s = max(TRIAL_S, TRIAL_ROUND_TRIPS * max(question.rtts_s))
    duration_s = _tidy(min(trial_s, left_s / (seeds + 1)))
    cost: list[RunFigures] = []
    each = 1
    while True:
        results = run(duration_s, each)
        cost += results
        left_s -= duration_s * each
        cycles = _known_cycles(results)
        enough = is_long_enough(question, cycles, duration_s)
        longer_s = duration_s if enough else _longer(question, duration_s, cycles)
        longer_s = _tidy(min(longer_s, left_s / seeds))
        # A run that would hardly be longer than the last shows nothing new.
        if each == seeds and (enough or longer_s < LEAST_GAIN * duration_s):
            return done(results, cost, duration_s)
        # Without a cycle another trial costs little beside runs of all seeds.
        knows = enough or cycles > 0 or longer_s * (seeds + LARGEST_STEP) > left_s
        duration_s, each = longer_s, seeds if knows else 1


def _longer(question: Question, duration_s: float, cycles: float) -> float:
    """How long runs should be after runs whose slowest flow had that number of cycles."""
    wanted = MARGIN * ENOUGH_CYCLES / cycles if cycles else LARGEST_STEP
    step = min(max(wanted, LEAST_STEP), LARGEST_STEP)
    return max(duration_s * step, MARGIN * least_s(question) if cycles else 0.0)


def _most_s(question: Question, seeds: int, engine: Engine) -> float:
    """How long one run of each case may last in all, trial runs included, within the budget."""
    packets = question.budget_s * FACTS[engine].packets_per_cpu_s
    left_s = min(packets / _packets_per_s(question), (seeds + 1) * LONGEST_S)
    slowest_s = max(question.rtts_s)
    each_s = left_s / (seeds + 1)
    if each_s < LEAST_ROUND_TRIPS * slowest_s:
        wanted_s = question.budget_s * LEAST_ROUND_TRIPS * slowest_s / each_s
        raise ScenarioError(
            f"--budget {question.budget_s:g}s: {len(_cases(question))} cases with "
            f"{count_of(seeds, 'seed')} would end after {each_s:.2g} s, too soon for a "
            f"round-trip time of {slowest_s:g} s: compare "
            f"fewer controllers, or at a lower rate, or with a budget of at least {wanted_s:.0f}s"
        )
    return left_s


def least_cycles(run: Mapping[str, Any]) -> float | None:
    """The cycles of the flow that had the fewest; None if those of a flow are not known.

    A transport stack that shows no window reports no loss events.
    """
    return least(flow["cycles"] for flow in run["flows"])


def least(numbers: Iterable[float | None]) -> float | None:
    """Give the smallest of some numbers of cycles; None if one is not known."""
    each = list(numbers)
    known = [float(cycles) for cycles in each if cycles is not None]
    return min(known) if len(known) == len(each) else None


def _known_cycles(runs: Iterable[Mapping[str, Any]]) -> float:
    """The fewest cycles of the flows whose cycles are known; infinite without such a flow."""
    each = (flow["cycles"] for run in runs for flow in run["flows"])
    return min((float(cycles) for cycles in each if cycles is not None), default=inf)


def _tidy(seconds: float) -> float:
    """Round a length to two or three digits, so that it can be printed."""
    step = 10.0 if seconds >= 1000 else 1.0 if seconds >= 10 else 0.01
    return round(seconds // step * step, 2)


def _cases(question: Question) -> dict[Case, Transport | Stack]:
    """Every case with what carries it; standard TCP always runs beside the others, too."""
    alone = {Case(name=n, beside=False): c for n, c in question.compared.items()}
    if question.others is None:
        return alone
    standard = Transport(
        controller={"kind": STANDARD}, profile=question.profile, pacing=question.pacing
    )
    each = {**question.compared, STANDARD: standard}
    return alone | {Case(name=n, beside=True): c for n, c in each.items()}


def _scenario(
    question: Question, case: Case, transport: Transport | Stack, duration_s: float
) -> Scenario:
    """Write the scenario of one case and read it.

    The bottleneck has a quarter of the shortest round-trip time in each direction, and the access
    links have the other half. Flows start within a second, at times that are drawn. The packets of
    a stack have their own key, because those of the scenario are of Fairhaul's senders.
    """
    packet = f"{question.packet_bytes} B"
    own = transport.keys() | ({"packet": packet} if isinstance(transport, Stack) else {})
    rtts = [round(rtt * 1e12) for rtt in question.rtts_s]
    start = f"uniform 0 s..{min(1.0, duration_s / 20):g} s"
    flows: list[dict[str, object]] = [
        {"name": f"F{i + 1}", "rtt": f"{rtt} ps", "start": start, **own}
        for i, rtt in enumerate(rtts)
    ]
    if case.beside and question.others is not None:
        flows.append(
            {
                "name": "others",
                "role": "background",
                "count": question.others.count,
                "rtt": f"{min(rtts)} ps..{max(rtts)} ps",
                "start": start,
                **question.others.transport.keys(),
            }
        )
    scenario = {
        "title": f"{case.name} {'beside the others' if case.beside else 'alone'}",
        "duration": f"{duration_s:g} s",
        "warmup": f"{WARMUP * duration_s:.6g} s",
        "packet": packet,
        "bottleneck": {
            "rate": question.rate,
            "delay": f"{min(rtts) // 4} ps",
            "queue": {"kind": "droptail", "capacity": question.buffer},
        },
        "flow": flows,
    }
    return read_one(scenario)

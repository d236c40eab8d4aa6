"""The runs of an advice: candidates over the same drawn settings of the path."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.runs.cost import counted_s
from fairhaul.scenario.read import Scenario, ScenarioError, read, read_one, variant
from fairhaul.scenario.transport import Transport
from fairhaul.studies.advice.hosts import PACKET_BYTES, USUAL, Candidate, Change, Hosts
from fairhaul.studies.advice.measured import TransferFigures, completion_s, transfer_figures
from fairhaul.studies.advice.path import Known
from fairhaul.studies.comparison.question import Question
from fairhaul.studies.explanation.model import POLICED_LINK

# Settings of the path in all; those of a first look are part of them.
SETTINGS = 12
# A further change, or a port, is recommended if the transfer is so much faster, beyond chance.
MARGIN = 0.05
# The part of a run before the transfer, in which only the competing flows send.
WARMUP = 0.25
# How long the transfer is run: at least this many round trips, and at most so many, or so many
# seconds, or so many times what it would take at the full rate.
LEAST_ROUND_TRIPS, MOST_ROUND_TRIPS, MOST_S, MOST_TIMES = 20, 1000, 600.0, 40

# The flow that competing flows are compared with: of the kernel's default controller, on a host
# that does not pace, as theirs, with buffers that limit nothing.
REFERENCE = Candidate(
    hosts=Hosts(controller={"kind": USUAL}),
    changes=(Change(name="one cubic flow, not paced", to={}),),
)
UNPACED = Transport(controller={"kind": USUAL})


@dataclass(frozen=True, kw_only=True)
class Run:
    """A candidate over one setting.

    `completion_s` is how long the transfer takes, `goodput_bps` its mean rate in that time, and
    `others_bps` what the competing flows have; `retransmitted` is a part of its packets.
    `cycles` are those of the flow that had most, and `limits` say for which part of the time
    each limit kept the transfer back. `is_over` says whether the transfer ended within the run.
    """

    completion_s: float
    goodput_bps: float
    others_bps: float
    retransmitted: float
    cycles: float
    limits: dict[str, float]
    is_over: bool


class Rounds:
    """Runs candidates, within parts of the budget."""

    def __init__(self, question: Question, known: Known, running: Running) -> None:
        """Draw the settings of the path."""
        self._question, self._known, self._running = question, known, running
        self.duration_s = 1.0
        self.packets = 0.0
        self._drawn = self.scenarios(REFERENCE)
        self.settings = [variant(scenario) for scenario in self._drawn]
        self.path_bytes = max(map(self._holds_bytes, self._drawn))

    def play(
        self, candidates: Sequence[Candidate], settings: int, part: float
    ) -> dict[str, list[Run]]:
        """Run candidates, and the reference, over drawn settings; give the runs by their names."""
        players = [REFERENCE, *candidates]
        self.duration_s = self._duration_s(players, settings, part)
        plans = {of.name: self.scenarios(of)[:settings] for of in players}
        by = build_of(transfer_figures)
        plan = [
            job
            for scenarios in plans.values()
            for scenario in scenarios
            for job in jobs_of(scenario, 1, "sim", "transfer", by)
        ]
        done = iter(values(plan, transfer_figures, self._running))
        results = {name: [next(done) for _ in scenarios] for name, scenarios in plans.items()}
        self.packets += sum(run["packets"] for runs in results.values() for run in runs)
        size = self._question.size_bytes
        return {name: [_run(run, size) for run in runs] for name, runs in results.items()}

    def _duration_s(self, players: Sequence[Candidate], settings: int, part: float) -> float:
        """How long runs may last; what one costs is proportional to its length."""
        question, runs = self._question, len(players) * settings
        rtt_s = max(question.rtts_s)
        at_full_rate_s = 8 * question.size_bytes / question.rate_bps
        most_s = max(MOST_S, MOST_ROUND_TRIPS * rtt_s)
        least_s = LEAST_ROUND_TRIPS * rtt_s / (1 - WARMUP)
        self.duration_s = min(most_s, MOST_TIMES * at_full_rate_s + least_s)
        cost_s = sum(
            counted_s(scenario) for of in players for scenario in self.scenarios(of)[:settings]
        )
        seconds = self.duration_s * question.budget_s * part / cost_s
        if seconds < least_s:
            wanted_s = question.budget_s * least_s / seconds
            raise ScenarioError(
                f"--budget {question.budget_s:g}s: {runs} runs would end after {seconds:.2g} s "
                f"each, too soon for a round-trip time of {rtt_s:g} s: give a "
                f"budget of at least {math.ceil(wanted_s / 60)}min, or fewer candidates (--only)"
            )
        return min(seconds, self.duration_s)

    @property
    def least_bucket_bytes(self) -> float:
        """The smallest bucket of any setting; infinite without a policer."""
        return min(map(self._bucket_bytes, self._drawn)) if self._known.policer else math.inf

    def _bucket_bytes(self, scenario: Scenario) -> float:
        return float(str(variant(scenario)["bottleneck.policer.burst"]).split()[0])

    def _holds_bytes(self, scenario: Scenario) -> float:
        """Give what the path of a setting holds: what is under way, and what waits."""
        has_policer = self._known.policer is not None
        waiting = (self._bucket_bytes if has_policer else self._waiting_bytes)(scenario)
        return self._question.rate_bps / 8 * max(self._question.rtts_s) + waiting

    def _waiting_bytes(self, scenario: Scenario) -> float:
        """Give the capacity of the queue of a setting."""
        link = scenario.described["links"][0]
        assert link["capacity_s"] is not None, "its queue has a capacity"
        return float(link["capacity_s"] * link["rate_bps"] / 8)

    def scenarios(self, candidate: Candidate) -> list[Scenario]:
        """Give the scenarios of a candidate, of which each setting has one."""
        question, known = self._question, self._known
        rtt_s = max(question.rtts_s)
        warmup_s = WARMUP * self.duration_s
        first = f"uniform 0 s..{min(1.0, self.duration_s / 20):g} s"
        cross = UNPACED if question.others is None else question.others.transport
        shared = {"rtt": f"{rtt_s * 1e12:.0f} ps"}
        scenario: dict[str, Any] = {
            "title": candidate.name,
            "duration": f"{self.duration_s:.6g} s",
            "warmup": f"{warmup_s:.6g} s",
            "packet": f"{PACKET_BYTES} B",
            "bottleneck": {
                "rate": question.rate,
                "delay": f"{rtt_s * 1e12 / 4:.0f} ps",
                "queue": {"kind": "droptail", "capacity": "1 bdp"},
                **self._policer(),
            },
            "flow": [
                {
                    "name": "ours",
                    **shared,
                    "start": f"{warmup_s:.6g} s",
                    **candidate.hosts.keys(question.rate_bps),
                },
                {
                    "name": "cross",
                    "role": "background",
                    "count": 1,
                    **shared,
                    "start": first,
                    **cross.keys(),
                },
            ][: 1 if known.cross == 0 else 2],
        }
        sweep = {"points": SETTINGS, **known.sweep()}
        if candidate.hosts.packet_bytes == PACKET_BYTES:
            drawn = read({**scenario, "sweep": sweep})
        else:
            # A capacity in packets counts the largest ones, and would grow with them.
            least = candidate.hosts.packet_bytes
            drawn = [
                read_one(scenario, {**variant(of), "bottleneck.queue.capacity": f"{size} B"})
                for of in self._drawn
                for size in [max(math.ceil(self._waiting_bytes(of)), least)]
            ]
        return [each.with_seed(index + 1) for index, each in enumerate(drawn)]

    def _policer(self) -> dict[str, Any]:
        """Give the keys of a link that is faster than what its policer lets pass."""
        if self._known.policer is None:
            return {}
        rate_bps = self._question.rate_bps
        policer = {"rate": f"{rate_bps:.0f} bit/s", "burst": self._known.policer}
        return {"rate": f"{POLICED_LINK * rate_bps:.0f} bit/s", "policer": policer}


def _run(run: TransferFigures, size_bytes: int) -> Run:
    took_s = completion_s(run, size_bytes)
    return Run(
        completion_s=took_s,
        goodput_bps=8 * size_bytes / took_s,
        others_bps=run["others_bps"],
        retransmitted=run["retransmitted"],
        cycles=run["cycles"],
        limits=run["limits"],
        is_over=run["received_bytes"][-1] >= size_bytes,
    )

"""The tournament: candidates over the same drawn settings, in two rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from fairhaul.host.deployable import Way
from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.measures.measures import ENOUGH_LOSS_EVENTS, figures
from fairhaul.measures.types import RunFigures
from fairhaul.report.outcome import StudyResult
from fairhaul.runs.cost import counted_s
from fairhaul.scenario.read import Scenario, ScenarioError, read, variant
from fairhaul.scenario.transport import Transport
from fairhaul.statistics.estimate import ANY, Estimate, estimate
from fairhaul.statistics.evidence import below, judge
from fairhaul.studies.advice.changes import changes
from fairhaul.studies.advice.path import USUAL, Known
from fairhaul.studies.advice.words import outcome_of
from fairhaul.studies.comparison.question import Question
from fairhaul.studies.explanation.model import POLICED_LINK

# Settings of the two rounds. Those of the first are part of the second's.
FIRST, SECOND = 4, 12
# The part of the budget that the first round costs, and how many candidates it leaves.
FIRST_PART = 0.25
FINALISTS = 4
PACKET_BYTES = 1500
WARMUP = 0.25
# How long a run lasts: at least this many round trips, and at most so many, or so many seconds.
LEAST_ROUND_TRIPS, MOST_ROUND_TRIPS, MOST_S = 20, 1000, 600.0

CANDIDATES = (
    *("cubic", "reno", "bbr", "bbr3", "highspeed", "scalable", "htcp", "bic", "illinois"),
    *("westwood", "fhstcp", "ghstcp"),
)
PARALLEL = 4

# The flow that competing flows are compared with: of the kernel's default controller, on a host
# that does not pace, as theirs.
TODAY = "one cubic flow, not paced"
UNPACED = Transport(controller={"kind": USUAL})


@dataclass(frozen=True, kw_only=True)
class Run:
    """A candidate over one setting: its goodput, and that of the competing flows, bit/s."""

    goodput_bps: float
    others_bps: float
    loss_rate: float
    loss_events: int
    """Of the flow that had most."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A candidate of the final: its runs, setting by setting, and the means over the settings.

    `harm` is the part of the competing flows' goodput that they lose, compared with what they have
    beside one flow of the kernel's default controller. `best` counts the settings in which it is
    the fastest candidate of all that harm no more than allowed.
    """

    name: str
    runs: Sequence[Run]
    goodput: Estimate
    harm: Estimate
    best: int
    allowed: bool


@dataclass(frozen=True, kw_only=True)
class Advice(StudyResult):
    """The result of a tournament.

    `faster` says of each other entry whether the winner is faster (true), slower (false), or
    whether the settings cannot tell (None). `first` are the candidates of the first round with
    their mean goodput, bit/s; `changes` are sentences on when another controller would be better.
    `today` is the goodput of one flow of the kernel's default controller without pacing, and
    `path_bytes` is what the path and its buffer hold at most in any setting. `ways` say how this
    host has each controller. Runs last `duration_s`.
    """

    question: Question
    known: Known
    settings: Sequence[Mapping[str, Any]]
    entries: Sequence[Entry]
    winner: Entry
    today: Estimate
    faster: Mapping[str, bool | None]
    first: Mapping[str, float]
    changes: Sequence[str]
    most_harm: float
    duration_s: float
    packets: float
    path_bytes: float
    ways: Mapping[str, Way]

    outcome = outcome_of

    def values(self) -> dict[str, Any]:
        """Give the numbers; keys carry their units."""
        return {
            "question": self.question.to_dict(),
            "drawn": self.known.text(),
            "observed": None if self.known.observed is None else self.known.observed.text(),
            "settings": list(self.settings),
            "recommended": self.winner.name if self.is_long_enough else None,
            "ahead": self.winner.name,
            "today_goodput_bps": self.today.to_dict(),
            "completion_s": self.completion_s,
            "long_enough": self.is_long_enough,
            "short_settings": self.short,
            "most_harm": self.most_harm,
            "candidates": [
                {
                    "name": entry.name,
                    "goodput_bps": entry.goodput.to_dict(),
                    "harm": entry.harm.to_dict(),
                    "fastest_in": entry.best,
                    "allowed": entry.allowed,
                    "slower_than_recommended": self.faster.get(entry.name),
                    "goodput_by_setting_bps": [run.goodput_bps for run in entry.runs],
                }
                for entry in self.entries
            ],
            "first_round_goodput_bps": dict(self.first),
            "changes": list(self.changes),
            "duration_s": self.duration_s,
            "packets": self.packets,
        }

    @property
    def completion_s(self) -> float:
        """How long the transfer takes at the winner's mean goodput."""
        return self.question.size_bytes * 8 / self.winner.goodput.mean

    @property
    def short(self) -> int:
        """The number of settings in which a run of the final is too short for the long term."""
        return sum(any(part < 1 for part in parts) for parts in self._parts())

    @property
    def is_long_enough(self) -> bool:
        """Whether the runs of the final lasted long enough for a judgement.

        Either the transfer would have been over, or a flow had 20 loss events.
        """
        return self.short == 0

    @property
    def wanted_budget_s(self) -> float:
        """About the budget with which the runs would last long enough, in seconds."""
        return self.question.budget_s / min(part for parts in self._parts() for part in parts)

    def _parts(self) -> Iterator[list[float]]:
        """Give for each setting the part of the length that it should have, of each run.

        A run without loss events says that it should be longer, and not by how much.
        """
        for runs in zip(*(entry.runs for entry in self.entries), strict=True):
            yield [
                max(
                    run.goodput_bps / 8 * self.duration_s / self.question.size_bytes,
                    max(run.loss_events, 1) / ENOUGH_LOSS_EVENTS,
                )
                for run in runs
            ]


def play(
    question: Question,
    known: Known,
    running: Running,
    *,
    most_harm: float,
    ways: Mapping[str, Way],
) -> Advice:
    """Let the candidates of a question compete.

    Args:
        question: the path, the candidates as `controllers`, and the budget.
        known: what else is known of the path.
        running: how the runs are run.
        most_harm: the part of their goodput that competing flows may lose at most.
        ways: how this host has each controller, for the commands.

    Raises:
        ScenarioError: the budget is too small for this path.
    """
    rounds = _Rounds(question, known, running)
    first = rounds.play(question.controllers, FIRST, FIRST_PART)
    today = first.pop(TODAY)
    # Harmful candidates last, then the fastest first.
    ranked = sorted(
        first,
        key=lambda of: (fmean(_harms(first[of], today)) > most_harm, -_geometric(first[of])),
    )
    finalists = {name: question.controllers[name] for name in ranked[:FINALISTS]}
    second = rounds.play(finalists, SECOND, 1 - FIRST_PART)
    today = second.pop(TODAY)
    entries = [_entry(name, second, today, most_harm) for name in finalists]
    allowed = [entry for entry in entries if entry.allowed] or [
        min(entries, key=lambda entry: entry.harm.mean)
    ]
    winner = max(allowed, key=lambda entry: _geometric(entry.runs))
    return Advice(
        question=question,
        known=known,
        settings=rounds.settings,
        entries=sorted(entries, key=lambda entry: -_geometric(entry.runs)),
        winner=winner,
        today=estimate([run.goodput_bps for run in today]),
        faster=_faster(winner, entries),
        first={name: fmean(run.goodput_bps for run in first[name]) for name in ranked},
        changes=changes(winner, allowed, rounds.settings),
        most_harm=most_harm,
        duration_s=rounds.duration_s,
        packets=rounds.packets,
        path_bytes=rounds.path_bytes,
        ways=ways,
    )


class _Rounds:
    """Runs the rounds, each within its part of the budget."""

    def __init__(self, question: Question, known: Known, running: Running) -> None:
        self._question, self._known, self._running = question, known, running
        self.duration_s = 0.0
        self.packets = 0.0
        self.path_bytes = 0.0
        self.settings: list[dict[str, Any]] = []

    def play(
        self, candidates: Mapping[str, Transport], settings: int, part: float
    ) -> dict[str, list[Run]]:
        """Run candidates, and today's flow for reference, over drawn settings."""
        players = {TODAY: UNPACED, **candidates}
        self.duration_s = self._duration_s(players, settings, part)
        plans = {
            name: self._scenarios(name, transport)[:settings] for name, transport in players.items()
        }
        self.settings = [variant(scenario) for scenario in plans[TODAY]]
        self.path_bytes = max(map(self._holds_bytes, plans[TODAY]))
        by = build_of(figures)
        plan = [
            job
            for scenarios in plans.values()
            for scenario in scenarios
            for job in jobs_of(scenario, 1, "sim", "figures", by)
        ]
        done = iter(values(plan, figures, self._running))
        results = {name: [next(done) for _ in scenarios] for name, scenarios in plans.items()}
        self.packets += sum(run["packets"] for runs in results.values() for run in runs)
        return {name: [_run(run) for run in runs] for name, runs in results.items()}

    def _duration_s(self, players: Mapping[str, Transport], settings: int, part: float) -> float:
        """How long runs may last; what one costs is proportional to its length."""
        question, runs = self._question, len(players) * settings
        rtt_s = max(question.rtts_s)
        self.duration_s = max(MOST_S, MOST_ROUND_TRIPS * rtt_s)
        cost_s = sum(
            counted_s(scenario)
            for name, transport in players.items()
            for scenario in self._scenarios(name, transport)[:settings]
        )
        seconds = self.duration_s * question.budget_s * part / cost_s
        least_s = LEAST_ROUND_TRIPS * rtt_s
        if seconds < least_s:
            wanted_s = question.budget_s * least_s / seconds
            raise ScenarioError(
                f"--budget {question.budget_s:g}s: {runs} runs would end after {seconds:.2g} s "
                f"each, too soon for a round-trip time of {rtt_s:g} s: give a "
                f"budget of at least {math.ceil(wanted_s / 60)}min, or fewer candidates (--only)"
            )
        return min(seconds, self.duration_s)

    def _holds_bytes(self, scenario: Scenario) -> float:
        """Give what the path of a setting holds: what is under way, and what waits."""
        link = scenario.described["links"][0]
        assert link["capacity_s"] is not None, "its queue has a capacity"
        waiting = link["capacity_s"] * link["rate_bps"] / 8
        if self._known.policer is not None:
            waiting = float(str(variant(scenario)["bottleneck.policer.burst"]).split()[0])
        return self._question.rate_bps / 8 * max(self._question.rtts_s) + waiting

    def _scenarios(self, name: str, transport: Transport) -> list[Scenario]:
        question, known = self._question, self._known
        rtt_s = max(question.rtts_s)
        start = f"uniform 0 s..{min(1.0, self.duration_s / 20):g} s"
        cross = UNPACED if question.others is None else question.others.transport
        shared = {"rtt": f"{rtt_s * 1e12:.0f} ps", "start": start}
        scenario = {
            "title": name,
            "duration": f"{self.duration_s:.6g} s",
            "warmup": f"{WARMUP * self.duration_s:.6g} s",
            "packet": f"{PACKET_BYTES} B",
            "bottleneck": {
                "rate": question.rate,
                "delay": f"{rtt_s * 1e12 / 4:.0f} ps",
                "queue": {"kind": "droptail", "capacity": "1 bdp"},
                **self._policer(),
            },
            "flow": [
                {"name": "ours", **shared, **transport.keys()},
                {"name": "cross", "role": "background", "count": 1, **shared, **cross.keys()},
            ],
            "sweep": {"points": SECOND, **known.sweep()},
        }
        scenarios = read(scenario)
        return [scenario.with_seed(index + 1) for index, scenario in enumerate(scenarios)]

    def _policer(self) -> dict[str, Any]:
        """Give the keys of a link that is faster than what its policer lets pass."""
        if self._known.policer is None:
            return {}
        rate_bps = self._question.rate_bps
        policer = {"rate": f"{rate_bps:.0f} bit/s", "burst": self._known.policer}
        return {"rate": f"{POLICED_LINK * rate_bps:.0f} bit/s", "policer": policer}


def _run(run: RunFigures) -> Run:
    def total(role: str) -> float:
        return sum(flow["goodput_bps"] for flow in run["flows"] if flow["role"] == role)

    losses = [flow["loss_rate"] or 0.0 for flow in run["flows"] if flow["role"] == "measured"]
    return Run(
        goodput_bps=total("measured"),
        others_bps=total("background"),
        loss_rate=fmean(losses),
        loss_events=max(int(flow["loss_events"]) for flow in run["flows"]),
    )


def _geometric(runs: Sequence[Run]) -> float:
    """The mean of the logarithms of the goodput: a setting counts whatever its rate is."""
    return fmean(math.log(max(run.goodput_bps, 1.0)) for run in runs)


def _harms(runs: Sequence[Run], reference: Sequence[Run]) -> list[float]:
    return [
        1 - run.others_bps / usual.others_bps if usual.others_bps > 0 else 0.0
        for run, usual in zip(runs, reference, strict=True)
    ]


def _entry(
    name: str, runs: Mapping[str, Sequence[Run]], reference: Sequence[Run], most_harm: float
) -> Entry:
    own = runs[name]
    harm = estimate(_harms(own, reference), ANY)
    each = {
        other: [
            run.goodput_bps if harm_of <= most_harm else 0.0
            for run, harm_of in zip(of, _harms(of, reference), strict=True)
        ]
        for other, of in runs.items()
    }
    best = sum(
        own_bps > 0 and own_bps >= max(of[place] for of in each.values())
        for place, own_bps in enumerate(each[name])
    )
    return Entry(
        name=name,
        runs=own,
        goodput=estimate([run.goodput_bps for run in own]),
        harm=harm,
        best=best,
        allowed=harm.mean <= most_harm,
    )


def _faster(winner: Entry, entries: Sequence[Entry]) -> dict[str, bool | None]:
    """Judge whether the winner is faster than each other entry, setting by setting, together."""
    ratios = {
        other.name: [
            math.log(max(theirs.goodput_bps, 1.0) / max(ours.goodput_bps, 1.0))
            for ours, theirs in zip(winner.runs, other.runs, strict=True)
        ]
        for other in entries
        if other is not winner
    }
    evidence = [below(estimate(each), 0.0) for each in ratios.values()]
    return dict(zip(ratios, judge(evidence), strict=True))

"""The result of an advice: the candidates of the final, and the one that is recommended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from fairhaul.host.deployable import Way
from fairhaul.measures.limits import is_limited_by_others
from fairhaul.measures.long_term import ENOUGH_CYCLES
from fairhaul.report.outcome import StudyResult
from fairhaul.statistics.estimate import Estimate
from fairhaul.studies.advice.hosts import Candidate
from fairhaul.studies.advice.path import Known
from fairhaul.studies.advice.runs import WARMUP, Run
from fairhaul.studies.advice.words import outcome_of
from fairhaul.studies.comparison.question import Question


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A candidate of the final: its runs, setting by setting, and the means over the settings.

    `goodput` is that of the transfer from its start to its end. `harm` is the part of the competing
    flows' goodput that they lose, compared with what they have beside one flow of the kernel's
    default controller. `best` counts the settings in which it is the fastest candidate of all that
    harm no more than allowed. `is_port` says that it needs a controller which Linux lacks.
    """

    candidate: Candidate
    runs: Sequence[Run]
    goodput: Estimate
    harm: Estimate
    best: int
    allowed: bool
    is_port: bool = False

    @property
    def name(self) -> str:
        """The name of the candidate."""
        return self.candidate.name

    @property
    def log_goodput(self) -> float:
        """The mean of the logarithms of the goodput: a setting counts whatever its rate is."""
        return log_goodput(self.runs)

    @property
    def retransmitted(self) -> float:
        """The part of the packets that were retransmissions."""
        return fmean(run.retransmitted for run in self.runs)

    @property
    def median_s(self) -> float:
        """The median of the completion times over the settings."""
        return median(run.completion_s for run in self.runs)

    def completion_s(self, part: float) -> float:
        """The completion time below which that part of the settings is, between two of them."""
        times = sorted(run.completion_s for run in self.runs)
        place = part * (len(times) - 1)
        below = math.floor(place)
        above = min(below + 1, len(times) - 1)
        return times[below] + (place - below) * (times[above] - times[below])

    @property
    def limits(self) -> dict[str, float]:
        """For which part of its time each limit kept the transfer back, over all settings."""
        return {
            limit: fmean(run.limits[limit] for run in self.runs) for limit in self.runs[0].limits
        }


@dataclass(frozen=True, kw_only=True)
class Advice(StudyResult):
    """The result of an advice.

    `now` is the entry of the hosts as they are, and `winner` what is recommended, which may be the
    same. `faster` says of each other entry whether the winner is faster (true), slower (false), or
    whether the settings cannot tell (None). `tried` are the candidates that did not reach the
    final, with their mean goodput, bit/s; `sensitivity` are sentences on when another candidate
    would be better. `today` is the goodput of one flow of the kernel's default controller without
    pacing and with large buffers, and `path_bytes` is what the path and its buffer hold at most in
    any setting. `ways` say how this host has each controller. Runs last `duration_s`.
    """

    question: Question
    known: Known
    settings: Sequence[Mapping[str, Any]]
    entries: Sequence[Entry]
    now: Entry
    winner: Entry
    today: Estimate
    faster: Mapping[str, bool | None]
    tried: Mapping[str, float]
    sensitivity: Sequence[str]
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
            "now": self.now.candidate.hosts.text(),
            "recommended": self.winner.name if self.is_long_enough else None,
            "ahead": self.winner.name,
            "today_goodput_bps": self.today.to_dict(),
            "completion_s": self.winner.median_s,
            "long_enough": self.is_long_enough,
            "short_settings": self.short,
            "most_harm": self.most_harm,
            "candidates": [self._entry(entry) for entry in self.entries],
            "other_candidates_goodput_bps": dict(self.tried),
            "sensitivity": list(self.sensitivity),
            "duration_s": self.duration_s,
            "packets": self.packets,
        }

    def _entry(self, entry: Entry) -> dict[str, Any]:
        return {
            "name": entry.name,
            "needs_port": entry.is_port,
            "goodput_bps": entry.goodput.to_dict(),
            "completion_s": {
                "p10": entry.completion_s(0.1),
                "median": entry.median_s,
                "p90": entry.completion_s(0.9),
            },
            "retransmitted": entry.retransmitted,
            "harm": entry.harm.to_dict(),
            "limits": entry.limits,
            "fastest_in": entry.best,
            "allowed": entry.allowed,
            "slower_than_recommended": self.faster.get(entry.name),
            "goodput_by_setting_bps": [run.goodput_bps for run in entry.runs],
        }

    @property
    def short(self) -> int:
        """The number of settings in which a run of the final is too short for the long term."""
        return sum(any(part < 1 for part in parts) for parts in self._parts())

    @property
    def is_long_enough(self) -> bool:
        """Whether the runs of the final lasted long enough for a judgement.

        Either the transfer was over, or a flow had 20 cycles, or something else than its
        congestion window limits the transfer.
        """
        return self.short == 0

    @property
    def wanted_budget_s(self) -> float:
        """About the budget with which the runs would last long enough, in seconds."""
        return self.question.budget_s / min(part for parts in self._parts() for part in parts)

    def _parts(self) -> Iterator[list[float]]:
        """Give for each setting the part of the length that it should have, of each run.

        A run without cycles says that it should be longer, and not by how much.
        """
        own_s = (1 - WARMUP) * self.duration_s
        for runs in zip(*(entry.runs for entry in self.entries), strict=True):
            yield [
                1.0
                if is_limited_by_others(run.limits)
                else max(own_s / run.completion_s, max(run.cycles, 1) / ENOUGH_CYCLES)
                for run in runs
            ]


def log_goodput(runs: Sequence[Run]) -> float:
    """The mean of the logarithms of the goodput of runs, bit/s."""
    return fmean(math.log(run.goodput_bps) for run in runs)

"""The search for the best change: single changes first, then the best one with another.

All candidates run over the same drawn settings of the path. First looks are short; the final
decides between few candidates.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean

from fairhaul.host.deployable import Way
from fairhaul.jobs.values import Running
from fairhaul.statistics.estimate import ANY, estimate
from fairhaul.statistics.evidence import below, judge
from fairhaul.studies.advice.commands import WINDOWS
from fairhaul.studies.advice.hosts import Candidate, Choices
from fairhaul.studies.advice.path import Known
from fairhaul.studies.advice.results import Advice, Entry, log_goodput
from fairhaul.studies.advice.runs import MARGIN, REFERENCE, SETTINGS, Rounds, Run
from fairhaul.studies.advice.sensitivity import sensitivity
from fairhaul.studies.comparison.question import Question

# The settings of a first look, and the parts of the budget that the looks at single changes, at
# pairs and at ports cost. The final has the rest.
FIRST = 4
SINGLES_PART, PAIRS_PART, PORTS_PART = 0.2, 0.1, 0.1
# How many changes are combined with the best one, and how many candidates reach the final: of what
# Linux has, and of what has to be installed.
COMBINED, STOCK_FINALISTS, PORT_FINALISTS = 6, 3, 1


def play(
    question: Question,
    known: Known,
    choices: Choices,
    running: Running,
    *,
    most_harm: float,
    ways: Mapping[str, Way],
) -> Advice:
    """Let the candidates of a question compete.

    Args:
        question: the path and the budget.
        known: what else is known of the path.
        choices: how the hosts are set, and the changes to try.
        running: how the runs are run.
        most_harm: the part of their goodput that competing flows may lose at most.
        ways: how this host has each controller, for the commands.

    Raises:
        ScenarioError: the budget is too small for this path.
    """
    if known.observed is not None:
        running.say(known.observed.text())
    search = _Search(Rounds(question, known, running), most_harm)
    now = Candidate(hosts=choices.now)
    search.look([now, *search.singles(now, choices)], SINGLES_PART)
    search.look(search.pairs(now), PAIRS_PART)
    stock = search.ranked()
    kept = [change for change in stock[0].changes if change.to.keys().isdisjoint(CONTROLS)]
    # A port is an alternative to parallel streams, and keeps every other change.
    ports = [now.changed(*kept, change) for change in choices.ports]
    search.look(ports, PORTS_PART)
    finalists = [now, *search.finalists(now, ports)]
    final = search.final(finalists)
    today = final.pop(REFERENCE.name)
    entries = [_entry(of, final, today, most_harm, is_port=of in ports) for of in finalists]
    winner = recommended(entries)
    rounds = search.rounds
    return Advice(
        question=question,
        known=known,
        settings=rounds.settings,
        entries=sorted(entries, key=lambda entry: -entry.log_goodput),
        now=entries[0],
        winner=winner,
        today=estimate([run.goodput_bps for run in today]),
        faster=_faster(winner, entries),
        tried=search.tried(final),
        sensitivity=sensitivity(winner, [of for of in entries if of.allowed], rounds.settings),
        most_harm=most_harm,
        duration_s=rounds.duration_s,
        packets=rounds.packets,
        path_bytes=rounds.path_bytes,
        ways=ways,
    )


# The settings of a change that a port replaces.
CONTROLS = frozenset({"controller", "streams"})


class _Search:
    """The first looks at candidates, and what is left of the budget."""

    def __init__(self, rounds: Rounds, most_harm: float) -> None:
        self.rounds = rounds
        self.runs: dict[str, list[Run]] = {}
        self._candidates: list[Candidate] = []
        self._harms: dict[str, float] = {}
        self._most_harm = most_harm
        self._left = 1.0

    def look(self, candidates: Sequence[Candidate], part: float) -> None:
        """Run candidates over a few settings."""
        if not candidates:
            return
        self._left -= part
        found = self.rounds.play(candidates, FIRST, part)
        usual = found.pop(REFERENCE.name)
        self.runs |= found
        self._candidates += candidates
        self._harms |= {name: fmean(harms(runs, usual)) for name, runs in found.items()}

    def tried(self, final: Collection[str]) -> dict[str, float]:
        """Give the mean goodput of the candidates that are not in the final, bit/s."""
        return {
            name: fmean(run.goodput_bps for run in runs)
            for name, runs in self.runs.items()
            if name not in final
        }

    def ranked(self) -> list[Candidate]:
        """Give all candidates so far: harmful ones last, then the fastest first."""
        return sorted(
            self._candidates,
            key=lambda of: (
                self._harms[of.name] > self._most_harm,
                -log_goodput(self.runs[of.name]),
            ),
        )

    def singles(self, now: Candidate, choices: Choices) -> list[Candidate]:
        """Give the hosts with each change that can be made.

        Buffers that hold the path twice need no change, and no bucket lets larger packets pass.
        """
        suffice = now.hosts.window_bytes >= WINDOWS * self.rounds.path_bytes
        most_bytes = self.rounds.least_bucket_bytes
        return [
            now.changed(change)
            for change in choices.stock
            if not (suffice and "send_buffer" in change.to)
            and change.to.get("packet_bytes", 0) <= most_bytes
        ]

    def pairs(self, now: Candidate) -> list[Candidate]:
        """Combine the best change with others that did no harm to the transfer or to others."""
        best, *others = self.ranked()
        if best == now:
            return []
        least = log_goodput(self.runs[now.name]) + math.log(1 - MARGIN)
        useful = [
            of
            for of in others
            if of != now
            and not best.touches(of.changes[0])
            and self._harms[of.name] <= self._most_harm
            and log_goodput(self.runs[of.name]) >= least
        ]
        return [best.changed(*of.changes) for of in useful[:COMBINED]]

    def finalists(self, now: Candidate, ports: Sequence[Candidate]) -> list[Candidate]:
        """Give the best candidates with a change, among them two of different settings.

        A first look misjudges harm at times, so one knob alone would leave nothing to choose from.
        """
        ranked = [of for of in self.ranked() if of != now]
        stock = [of for of in ranked if of not in ports]
        singles = [of for of in stock if len(of.changes) == 1]
        chosen = singles[:1]
        chosen += [of for of in singles if not chosen[0].touches(of.changes[0])][:1]
        others = [of for of in stock if of not in chosen][: STOCK_FINALISTS - len(chosen)]
        return [*chosen, *others, *[of for of in ranked if of in ports][:PORT_FINALISTS]]

    def final(self, candidates: Sequence[Candidate]) -> dict[str, list[Run]]:
        """Run candidates over all settings."""
        return self.rounds.play(candidates, SETTINGS, self._left)


def recommended(entries: Sequence[Entry]) -> Entry:
    """Choose: what is as it is, or more changes if each is worth it.

    One change must be faster than none by `MARGIN` beyond chance, two than the choice so far, and
    a port than the fastest without one. What harms others too much is replaced in any case. The
    first entry is that without a change.
    """
    allowed = [entry for entry in entries if entry.allowed]
    if not allowed:
        return min(entries, key=lambda entry: entry.harm.mean)
    stock = [entry for entry in allowed if not entry.is_port]
    winner: Entry | None = None
    for count in sorted({len(entry.candidate.changes) for entry in stock}):
        tier = [entry for entry in stock if len(entry.candidate.changes) == count]
        winner = _best_of(winner, tier)
    ports = [entry for entry in allowed if entry.is_port]
    if winner is None:
        return _best_of(None, ports)
    # The fastest without a port may be no winner, because chance explains its lead.
    rival = max(stock, key=lambda entry: entry.log_goodput)
    by_port = _best_of(rival, ports) if ports else rival
    return winner if by_port is rival else by_port


def _best_of(winner: Entry | None, tier: Sequence[Entry]) -> Entry:
    """Give the fastest of a tier that is faster than the winner so far, or the winner."""
    if winner is None:
        return max(tier, key=lambda entry: entry.log_goodput)
    # A mean above the margin is the mean of "winner / other" below its opposite.
    evidence = [below(estimate(_ratios(winner, of)), -math.log(1 + MARGIN)) for of in tier]
    proven = [of for of, is_faster in zip(tier, judge(evidence), strict=True) if is_faster]
    return max([winner, *proven], key=lambda entry: entry.log_goodput)


def _ratios(ours: Entry, theirs: Entry) -> list[float]:
    """Give the logarithms of our goodput over theirs, setting by setting."""
    return [
        math.log(our.goodput_bps / their.goodput_bps)
        for our, their in zip(ours.runs, theirs.runs, strict=True)
    ]


def harms(runs: Sequence[Run], reference: Sequence[Run]) -> list[float]:
    """Give the part that competing flows lose of what they have in the reference, by setting."""
    return [
        1 - run.others_bps / usual.others_bps if usual.others_bps > 0 else 0.0
        for run, usual in zip(runs, reference, strict=True)
    ]


def _entry(
    candidate: Candidate,
    runs: Mapping[str, Sequence[Run]],
    reference: Sequence[Run],
    most_harm: float,
    *,
    is_port: bool,
) -> Entry:
    own = runs[candidate.name]
    harm = estimate(harms(own, reference), ANY)
    each = {
        other: [
            run.goodput_bps if harm_of <= most_harm else 0.0
            for run, harm_of in zip(of, harms(of, reference), strict=True)
        ]
        for other, of in runs.items()
    }
    best = sum(
        own_bps > 0 and own_bps >= max(of[place] for of in each.values())
        for place, own_bps in enumerate(each[candidate.name])
    )
    return Entry(
        candidate=candidate,
        runs=own,
        goodput=estimate([run.goodput_bps for run in own]),
        harm=harm,
        best=best,
        allowed=harm.mean <= most_harm,
        is_port=is_port,
    )


def _faster(winner: Entry, entries: Sequence[Entry]) -> dict[str, bool | None]:
    """Judge whether the winner is faster than each other entry, setting by setting, together."""
    others = [other for other in entries if other is not winner]
    evidence = [below(estimate(_ratios(other, winner)), 0.0) for other in others]
    return dict(zip((other.name for other in others), judge(evidence), strict=True))

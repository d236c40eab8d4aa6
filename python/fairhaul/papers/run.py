"""A paper reproduced: all its experiments run in one go, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.nearest import hint
from fairhaul.papers import PAPERS
from fairhaul.papers.experiment import Case, Claim, Experiment, Found, Key, Numbers, Verdict
from fairhaul.papers.table import Table
from fairhaul.runs import for_each, with_seeds
from fairhaul.scenario import ScenarioError

if TYPE_CHECKING:
    from fairhaul.record import Record
    from fairhaul.runs import Watch
    from fairhaul.scenario import Scenario

DIFFERS = "Differs from the paper, whose value lies outside our interval"
CHOSEN = "Left out there, chosen here"


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper: its name in `PAPERS`, what it asks, and its experiments by name."""

    name: str
    question: str
    experiments: Mapping[str, Experiment]

    @property
    def title(self) -> str:
        """What the paper is called."""
        return PAPERS[self.name][0]

    @property
    def key(self) -> str:
        """Its key among the sources."""
        return PAPERS[self.name][1]


@dataclass(frozen=True, kw_only=True)
class Part:
    """An experiment that was run: how, and what was found."""

    name: str
    experiment: Experiment
    seeds: int
    scenarios: Sequence[Scenario]
    found: Found
    tables: Sequence[Table]
    claims: Sequence[Claim]

    def how(self) -> str:
        """Say how many seeds it had, and how long its runs were."""
        lengths = [scenario.duration_s for scenario in self.scenarios]
        least, most = min(lengths), max(lengths)
        length = f"{least:.4g} s" if least == most else f"{least:.4g} to {most:.4g} s"
        return f"{self.seeds} seed{'s' * (self.seeds > 1)} of {length}"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What the runs took: seconds by the clock and of the processors, and packets."""

    runs: int
    clock_s: float
    cpu_s: float
    packets: int


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A paper reproduced: its experiments, the command that does it again, and what it took."""

    paper: Paper
    quick: bool
    parts: Sequence[Part]
    command: str
    cost: Cost

    @property
    def tables(self) -> list[Table]:
        """The tables of all experiments."""
        return [table for part in self.parts for table in part.tables]

    @property
    def claims(self) -> list[Claim]:
        """What the paper claims, and what is seen of it."""
        return [claim for part in self.parts for claim in part.claims]

    @property
    def how(self) -> str:
        """Say how it was run."""
        parts = "; ".join(f"{part.name}: {part.how()}" for part in self.parts)
        form = "Short form" if self.quick else "Full form"
        note = " The full form has more seeds, longer runs and narrower intervals."
        several = max(part.seeds for part in self.parts) > 1
        interval = "; mean and 95 % interval" if several else ""
        return f"{self.paper.key}. {form}: {parts}{interval}.{note if self.quick else ''}"

    def answer(self) -> str:
        """Answer the paper's question: which of its claims hold here, and which do not."""
        if not self.claims:
            return "The paper claims nothing of this experiment, and has no number for it."
        held = self._said(Verdict.HOLDS)
        fallen = self._said(Verdict.PART, Verdict.NOT)
        left = len(self._said(Verdict.OPEN))
        count = f"{len(held) or 'None'} of {len(self.claims)}"
        of = "claim" if len(self.claims) == 1 else "claims"
        said = f"{count} {of} of the paper hold{'s' * (len(held) == 1)} here"
        said += f": {'; '.join(held)}." if held else "."
        if fallen:
            said += f" In part only, or not at all: {'; '.join(fallen)}."
        if left:
            said += f" These runs do not settle {left} more." if held or fallen else ""
            said += "" if held or fallen else " These runs are too few to settle any."
        return said

    def _said(self, *verdicts: Verdict) -> list[str]:
        return [claim.text for claim in self.claims if claim.verdict in verdicts]

    def remarks(self) -> dict[str, list[str]]:
        """Give under headings what is to be said of all tables."""
        return {
            "Claims": [f"{claim.verdict}: {claim.text}. {claim.seen}" for claim in self.claims],
            DIFFERS: self.differences(),
            CHOSEN: [words for part in self.parts for words in part.experiment.chosen],
        }

    def differences(self) -> list[str]:
        """Say, a line each, where the paper's value lies outside our interval."""
        if min(part.seeds for part in self.parts) == 1:
            return ["One run gives no interval, so nothing is claimed."]
        return [line for table in self.tables for line in table.differences()]

    def to_dict(self) -> dict[str, Any]:
        """Give the object that `--json` prints."""
        first = self.parts[0]
        return {
            "paper": self.paper.name,
            "quick": self.quick,
            "seeds": first.seeds,
            "duration_s": first.scenarios[0].duration_s,
            "how": self.how,
            "answer": self.answer(),
            "tables": [table.to_dict() for table in self.tables],
            "claims": [claim.to_dict() for claim in self.claims],
            "remarks": self.remarks(),
        }


def reproduce(
    paper: Paper,
    *,
    quick: bool,
    seeds: int | None,
    jobs: int | None,
    watch: Watch | None,
    only: Sequence[str],
    set: Mapping[str, object],  # noqa: A002
) -> Reproduction:
    """Run the experiments of `paper`, or `only` some, all in one go.

    So no core waits, and the time that is left is that of the whole.
    """
    chosen = choose(paper, only)
    cases = {name: one.cases(quick, set) for name, one in chosen.items()}
    counts = {
        name: seeds or (one.quick_seeds if quick else one.seeds) for name, one in chosen.items()
    }
    before = time.perf_counter()
    runs = _run(chosen, cases, counts, jobs, watch)
    took = time.perf_counter() - before
    parts = []
    for name, one in chosen.items():
        found = _found([run for run in runs if run.name == name])
        parts.append(
            Part(
                name=name,
                experiment=one,
                seeds=counts[name],
                scenarios=[case.scenario for case in cases[name]],
                found=found,
                tables=one.tables(found),
                claims=one.claims(found),
            )
        )
    cost = Cost(
        runs=len(runs),
        clock_s=took,
        cpu_s=sum(run.cpu_s for run in runs),
        packets=sum(run.packets for run in runs),
    )
    command = _command(paper, quick, seeds, only, set)
    return Reproduction(paper=paper, quick=quick, parts=parts, command=command, cost=cost)


def choose(paper: Paper, only: Sequence[str]) -> dict[str, Experiment]:
    """Give the experiments of `paper`, or `only` some of them; wrong names are told at once."""
    known = paper.experiments
    wrong = [name for name in only if name not in known]
    if wrong:
        said = (f"{name!r} is no experiment of {paper.name}; {hint(name, known)}" for name in wrong)
        raise ScenarioError(*said)
    return {name: one for name, one in known.items() if not only or name in only}


@dataclass(frozen=True, kw_only=True)
class _Run:
    """What is kept of one run."""

    name: str
    key: Key
    numbers: Numbers
    kept: Any
    cpu_s: float
    packets: int


def _run(
    chosen: Mapping[str, Experiment],
    cases: Mapping[str, Sequence[Case]],
    counts: Mapping[str, int],
    jobs: int | None,
    watch: Watch | None,
) -> list[_Run]:
    plan = [
        (name, case, seeded)
        for name in chosen
        for case in cases[name]
        for seeded in with_seeds(case.scenario, counts[name])
    ]

    def read(index: int, record: Record) -> _Run:
        name, case, seeded = plan[index]
        one = chosen[name]
        first = seeded.seed == case.scenario.seed
        return _Run(
            name=name,
            key=case.key,
            numbers=one.numbers(record),
            kept=one.keep(record) if one.keep is not None and first else None,
            cpu_s=record.meta["cpu_s"],
            packets=record.meta["packets"],
        )

    return for_each([seeded for _, _, seeded in plan], read, jobs=jobs, watch=watch)


def _found(runs: Sequence[_Run]) -> Found:
    numbers: dict[Key, list[Numbers]] = {}
    for run in runs:
        numbers.setdefault(run.key, []).append(run.numbers)
    return Found(runs=numbers, kept={run.key: run.kept for run in runs if run.kept is not None})


def _command(
    paper: Paper, quick: bool, seeds: int | None, only: Sequence[str], changed: Mapping[str, object]
) -> str:
    words = ["fairhaul", "reproduce", paper.name, *(["--quick"] if quick else [])]
    words += [word for name in only for word in ("--only", name)]
    words += [] if seeds is None else ["--seeds", str(seeds)]
    said = " ".join(words)
    return f"{said}, with {dict(changed)}" if changed else said

"""The results of an experiment: the numbers of its runs, and the claims that they are judged by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from fairhaul.statistics.estimate import ANY, Bounds, Estimate, estimate
from fairhaul.statistics.evidence import Evidence, below, less
from fairhaul.studies.papers.table import Cell

# The numbers of one run by name; None where a run has none.
Numbers = Mapping[str, float | None]
Settings = Mapping[str, object]
Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Results:
    """The results of an experiment: the numbers of each seed, by the key of the case.

    `kept` is what `Experiment.keep` made of the first seed of each case; `seeds` are those of
    `runs`, which may lack some: in the lab not every run is valid. `bounds` says what the numbers
    can be.
    """

    runs: Mapping[Key, Sequence[Numbers]]
    kept: Mapping[Key, Any] = field(default_factory=dict)
    seeds: Mapping[Key, Sequence[int]] = field(default_factory=dict)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)

    def values(self, key: Key, name: str) -> list[float]:
        """Give the number `name` of every seed that has it."""
        numbers = [run.get(name) for run in self.runs[key]]
        return [value for value in numbers if value is not None]

    def by_seed(self, key: Key, name: str) -> dict[int, float]:
        """Give the number `name` by the seed of the run, of every run that has it."""
        runs = zip(self.seeds[key], self.runs[key], strict=True)
        return {seed: value for seed, run in runs if (value := run.get(name)) is not None}

    def pairs(self, key: Key, other: Key, name: str) -> list[tuple[float, float]]:
        """Give the number `name` of two cases, seed by seed, where both have it."""
        ours, theirs = self.by_seed(key, name), self.by_seed(other, name)
        return [(ours[seed], theirs[seed]) for seed in ours if seed in theirs]

    def estimate(self, key: Key, name: str) -> Estimate | None:
        """Estimate the number `name`, None where no run has it."""
        values = self.values(key, name)
        return estimate(values, self.bounds.get(name, ANY)) if values else None

    def mean(self, key: Key, name: str) -> float:
        """Give the mean of the number `name`, not a number where no run has it."""
        interval = self.estimate(key, name)
        return interval.mean if interval else float("nan")

    def above(self, key: Key, other: Key, name: str) -> Evidence | None:
        """Give the evidence for "the case has more of `name` than the other"."""
        return below(less(self.by_seed(other, name), self.by_seed(key, name)), 0.0)


class Verdict(Enum):
    """The verdict on a claim: a sign, and the words beside it."""

    HOLDS = ("✓", "holds")
    PART = ("◐", "in part")
    NOT = ("✗", "does not hold")
    OPEN = ("?", "undecided")

    def __str__(self) -> str:
        """Write the sign and the words."""
        return " ".join(self.value)


def judged(parts: Sequence[bool | None]) -> Verdict:
    """Judge a claim by its parts, each of which holds, does not hold or is undecided."""
    if parts and all(parts):
        return Verdict.HOLDS
    if True in parts and False in parts:
        return Verdict.PART
    return Verdict.NOT if parts and None not in parts else Verdict.OPEN


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A number by which a claim is judged, and the case whose it is."""

    number: str
    case: str
    ours: Estimate | None
    form: str

    def to_dict(self) -> dict[str, object]:
        """Give the number as it is printed in JSON."""
        ours = None if self.ours is None else self.ours.to_dict()
        return {"number": self.number, "case": self.case, "ours": ours}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper claims, in words that follow "it", and the numbers by which it is judged.

    `reading` says how the words were made comparisons; `why` is said where the claim does not hold,
    or in part only.
    """

    text: str
    verdict: Verdict
    measured: Sequence[Measured] = ()
    reading: str = ""
    why: str = ""

    def numbers(self) -> str:
        """Write the numbers, each with its case."""
        texts: dict[str, list[str]] = {}
        for of in self.measured:
            case = f" ({of.case})" if of.case else ""
            texts.setdefault(of.number, []).append(cell(of.ours, of.form).ours_text() + case)
        sentences = [f"{name}: {', '.join(each)}" for name, each in texts.items()]
        return f"{'; '.join(sentences)}." if sentences else ""

    def to_dict(self) -> dict[str, object]:
        """Give the claim as it is printed in JSON."""
        return {
            "claim": self.text,
            "verdict": self.verdict.value[1],
            "numbers": [measured.to_dict() for measured in self.measured],
        }


def cell(ours: Estimate | None, form: str, paper: float | None = None, step: float = 0.01) -> Cell:
    """Put our number into a cell, beside the paper's where it has one."""
    return Cell(
        paper=[] if paper is None else [paper],
        steps=[] if paper is None else [step],
        ours=[] if ours is None else [ours],
        form=form,
    )

"""The claims of a paper as comparisons of cases, judged by the intervals of their means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.estimate import Estimate, estimate
from fairhaul.papers.axes import Axes, Where
from fairhaul.papers.experiment import (
    Claim,
    Key,
    Measured,
    Results,
    below,
    every,
    judged,
    within,
)
from fairhaul.papers.layout import Layout
from fairhaul.papers.section import Section

KINDS = ("above", "below", "not_below", "same", "within")
BY = ("mean", "ratio", "difference")
Answers = list[bool | None]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A comparison: a number of the cases `of`, with another case or with a band.

    The other case differs in the labels of `other` alone, and may have another `number`. With
    `every`, all cases make one answer, which is no as soon as one is.
    """

    numbers: Sequence[str]
    of: Where
    kind: str
    other: Where
    number: str
    band: tuple[float, float]
    factor: float
    margin: float
    by: str
    every: bool

    @classmethod
    def read(cls, section: Section, axes: Axes) -> Part:
        """Read a comparison."""
        kinds = [kind for kind in KINDS if kind in section.content]
        if len(kinds) != 1:
            section.wrong("", f"one of {', '.join(KINDS)} is required")
        kind = kinds[0] if kinds else "above"
        to = "to" if kind == "within" else kind
        numbers, band = section.texts("number"), (0.0, 0.0)
        if not numbers:
            section.wrong("number", "the name of a number is required")
        if kind == "within":
            low, high = section.numbers("within", 2) or (0.0, 0.0)
            band = low, high
        section.one_of("by", section.text("by", "mean"), BY, "comparison")
        part = cls(
            numbers=numbers,
            of=axes.where(section, "of"),
            kind=kind,
            other=axes.where(section, to, extra=["number"]),
            number=section.section(to).text("number", ""),
            band=band,
            factor=section.number("factor", 1.0),
            margin=section.number("margin", 0.0),
            by=section.text("by", "mean"),
            every=section.flag("every"),
        )
        section.close()
        return part

    def judge(self, layout: Layout, results: Results) -> tuple[Answers, list[Measured]]:
        """Give an answer for each comparison, and the numbers that were compared."""
        answers: Answers = []
        used: dict[tuple[str, Key], Estimate | None] = {}
        for number in self.numbers:
            # Of windows of time, those that are longer than the runs have no number.
            if not any(results.values(key, number) for key in results.runs):
                continue
            for key in layout.axes.chosen(results.runs, self.of):
                for other in layout.axes.replaced(key, self.other):
                    if other in results.runs:
                        answers.append(self._answer(results, number, key, other, used))
        if self.every and answers:
            answers = [every(answers)]
        axes = layout.axes.varying([key for _, key in used])
        measured = [
            Measured(
                number=number,
                case=layout.label(results, key, axes),
                ours=ours,
                form=layout.form(number),
            )
            for (number, key), ours in used.items()
        ]
        return answers, measured

    def _answer(
        self,
        results: Results,
        number: str,
        key: Key,
        other: Key,
        used: dict[tuple[str, Key], Estimate | None],
    ) -> bool | None:
        theirs_name = self.number or number
        compared = self.kind != "within" or bool(self.other)
        if compared and self.by != "mean":
            joined = _joined(results, key, other, number, self.by)
            used[f"{number}, {self.by}", key] = joined
            return within(joined, *self.band)
        ours = used[number, key] = results.estimate(key, number)
        if not compared:
            return within(ours, *self.band)
        theirs = used[theirs_name, other] = results.estimate(other, theirs_name)
        if self.kind == "same":
            values = results.values(key, number)
            return values == results.values(other, theirs_name) if values else None
        if self.kind == "within":
            mean = results.mean(other, theirs_name)
            return within(ours, *(end * mean for end in self.band))
        return self._order(ours, theirs)

    def _order(self, ours: Estimate | None, theirs: Estimate | None) -> bool | None:
        if self.kind == "above":
            ours, theirs = theirs, ours
        less = below(ours, theirs, factor=self.factor, more=self.margin)
        return not less if self.kind == "not_below" and less is not None else less


def _joined(results: Results, key: Key, other: Key, number: str, by: str) -> Estimate | None:
    """Estimate the ratio or the difference of a number in two cases, seed by seed."""
    pairs = results.pairs(key, other, number)
    values = [ours / theirs if by == "ratio" else ours - theirs for ours, theirs in pairs]
    return estimate(values) if values else None


Judge = Callable[[Results], tuple[Answers, list[Measured]]]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A claim as it is declared: comparisons, and functions that compare otherwise."""

    text: str
    reading: str
    why: str
    parts: Sequence[Part]
    functions: Sequence[Judge]

    @classmethod
    def read(
        cls, section: Section, axes: Axes, function: Callable[[Section, str], Any]
    ) -> Statement:
        """Read a claim; `function` reads a function that a key names."""
        parts = [Part.read(table, axes) for table in section.sections("parts")]
        judges = [function(section, "judge")] if "judge" in section.content else []
        if not parts and not judges:
            section.wrong("parts", "at least one comparison is required")
        statement = cls(
            text=section.text("text"),
            reading=section.text("reading", ""),
            why=section.text("why", ""),
            parts=parts,
            functions=judges,
        )
        section.close()
        return statement

    @property
    def numbers(self) -> list[str]:
        """The names of the numbers that are compared."""
        return [n for part in self.parts for n in (*part.numbers, part.number) if n]

    def claim(self, layout: Layout, results: Results) -> Claim:
        """Judge the claim by what was found."""
        answers: Answers = []
        measured: list[Measured] = []
        each = [part.judge(layout, results) for part in self.parts]
        for some, numbers in [*each, *(judge(results) for judge in self.functions)]:
            answers += some
            measured += [number for number in numbers if number not in measured]
        return Claim(
            text=self.text,
            verdict=judged(answers),
            reading=self.reading,
            measured=measured,
            why=self.why,
        )

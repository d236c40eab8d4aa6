"""The claims of a paper as comparisons of cases, which are judged together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.statistics.estimate import Estimate, estimate
from fairhaul.statistics.evidence import Judgement, all_of, below, both, judge, less, within
from fairhaul.studies.papers.axes import Axes, Where
from fairhaul.studies.papers.layout import Layout
from fairhaul.studies.papers.results import Claim, Key, Measured, Results, judged
from fairhaul.studies.papers.section import Section

KINDS = ("above", "below", "not_below", "same", "within")
BY = ("mean", "ratio", "difference")
Judgements = list[Judgement]


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
    factor: float = 1.0
    margin: float = 0.0
    by: str = "mean"
    every: bool = False

    @classmethod
    def read(cls, section: Section, axes: Axes) -> Part:
        """Read a comparison."""
        kinds = [kind for kind in KINDS if kind in section.content]
        if len(kinds) != 1:
            section.wrong("", f"one of {', '.join(KINDS)} is required")
        kind = kinds[0] if kinds else "above"
        to = "to" if kind == "within" else kind
        numbers = section.texts("number")
        if not numbers:
            section.wrong("number", "the name of a number is required")
        band = section.numbers("within", 2) if kind == "within" else []
        section.one_of("by", section.text("by", "mean"), BY, "comparison")
        return section.read(
            cls,
            numbers=numbers,
            of=axes.where(section, "of"),
            kind=kind,
            other=axes.where(section, to, extra=["number"]),
            number=section.section(to).text("number", ""),
            band=tuple(band) or (0.0, 0.0),
        )

    def weigh(self, layout: Layout, results: Results) -> tuple[Judgements, list[Measured]]:
        """Give the evidence for each comparison, and the numbers that are compared."""
        judgements: Judgements = []
        used: dict[tuple[str, Key], Estimate | None] = {}
        for number in self.numbers:
            # Of windows of time, those that are longer than the runs have no number.
            if not any(results.values(key, number) for key in results.runs):
                continue
            for key in layout.axes.chosen(results.runs, self.of):
                for other in layout.axes.replaced(key, self.other):
                    if other in results.runs:
                        judgements.append(self._weigh(results, number, key, other, used))
        if self.every and judgements:
            judgements = [all_of(judgements)]
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
        return judgements, measured

    def _weigh(
        self,
        results: Results,
        number: str,
        key: Key,
        other: Key,
        used: dict[tuple[str, Key], Estimate | None],
    ) -> Judgement:
        theirs_name = self.number or number
        compared = self.kind != "within" or bool(self.other)
        if compared and self.by != "mean":
            joined = _joined(results, key, other, number, self.by)
            used[f"{number}, {self.by}", key] = joined
            return within(joined, *self.band)
        ours = used[number, key] = results.estimate(key, number)
        if not compared:
            return within(ours, *self.band)
        used[theirs_name, other] = results.estimate(other, theirs_name)
        if self.kind == "same":
            values = results.values(key, number)
            return values == results.values(other, theirs_name) if values else None
        mine, yours = results.by_seed(key, number), results.by_seed(other, theirs_name)
        if self.kind == "within":
            low, high = self.band
            too_low = below(less(mine, yours, low), 0.0)
            low_enough = below(less(mine, yours, high), 0.0)
            return both(too_low and too_low.opposite, low_enough)
        if self.kind == "above":
            mine, yours = yours, mine
        evidence = below(less(mine, yours, self.factor), self.margin)
        return evidence.opposite if evidence and self.kind == "not_below" else evidence


def _joined(results: Results, key: Key, other: Key, number: str, by: str) -> Estimate | None:
    """Estimate the ratio or the difference of a number in two cases, seed by seed."""
    pairs = results.pairs(key, other, number)
    values = [ours / theirs if by == "ratio" else ours - theirs for ours, theirs in pairs]
    return estimate(values) if values else None


Weigh = Callable[[Results], tuple[Judgements, list[Measured]]]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A claim as it is declared: comparisons, and functions that compare otherwise."""

    text: str
    parts: Sequence[Part]
    functions: Sequence[Weigh]
    reading: str = ""
    why: str = ""

    @classmethod
    def read(
        cls, section: Section, axes: Axes, function: Callable[[Section, str], Any]
    ) -> Statement:
        """Read a claim; `function` reads a function that a key names."""
        parts = [Part.read(table, axes) for table in section.sections("parts")]
        judges = [function(section, "judge")] if "judge" in section.content else []
        if not parts and not judges:
            section.wrong("parts", "at least one comparison is required")
        return section.read(cls, parts=parts, functions=judges)

    @property
    def numbers(self) -> list[str]:
        """The names of the numbers that are compared."""
        return [n for part in self.parts for n in (*part.numbers, part.number) if n]

    def weigh(self, layout: Layout, results: Results) -> tuple[Judgements, list[Measured]]:
        """Give the evidence for the comparisons of the claim, and the numbers compared."""
        judgements: Judgements = []
        measured: list[Measured] = []
        each = [part.weigh(layout, results) for part in self.parts]
        for some, numbers in [*each, *(weigh(results) for weigh in self.functions)]:
            judgements += some
            measured += [number for number in numbers if number not in measured]
        return judgements, measured


def claims(statements: Sequence[Statement], layout: Layout, results: Results) -> list[Claim]:
    """Judge the claims of an experiment, with the comparisons of all of them as one family."""
    weighed = [statement.weigh(layout, results) for statement in statements]
    answers = iter(judge([each for judgements, _ in weighed for each in judgements]))
    return [
        Claim(
            text=of.text,
            verdict=judged([next(answers) for _ in judgements]),
            reading=of.reading,
            measured=measured,
            why=of.why,
        )
        for of, (judgements, measured) in zip(statements, weighed, strict=True)
    ]

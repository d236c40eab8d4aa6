"""The tables of docs/start.md, and their sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from fairhaul.statistics.estimate import AT_LEAST_0, estimate
from fairhaul.statistics.estimate import text as estimate_text
from fairhaul.text.digits import Significant, percent
from fairhaul.text.phrases import listed
from fairhaul.text.table import Table
from tools.start.compared import Number, Ratio, differences, parts, ratios
from tools.start.result import Started
from tools.start.runs import Case, Runs

THREE = Significant(digits=3)
# The heads of the columns that count the cases in which a time is less or more.
TIMES = ("shorter in", "longer in")


def summary(
    runs: Runs,
    base: str,
    number: Number[Started],
    called: str,
    ways: tuple[str, str] = TIMES,
) -> Iterator[str]:
    """Give a row for each rule: its ratio to `base`, where it is beyond chance, and losses."""
    found = ratios(runs, base, number)
    heads = [
        "rule",
        f"{called}, relative to {base}",
        *ways,
        "lost packets",
        "largest queueing delay",
    ]
    rows = []
    for rule in next(iter(runs.values())):
        of = found.get(rule)
        each = [run for case in runs.values() for run in case[rule]]
        mean = estimate([lost(run) for run in each], AT_LEAST_0).mean
        delay = fmean(run["delay_s"] for run in each)
        rows.append([rule, *_ratio(of), f"{mean:,.0f}", f"{1e3 * delay:.0f} ms"])
    yield from Table(columns=heads, rows=rows, words=1).markdown()


def _ratio(of: Ratio | None) -> list[str]:
    if of is None:
        return ["1", "", ""]
    return [
        estimate_text(of.ratio, THREE),
        f"{len(of.less)} of {of.cases}",
        f"{len(of.more)} of {of.cases}",
    ]


def by_value(
    runs: Runs, axis: int, base: str, number: Number[Started], called: str
) -> Iterator[str]:
    """Give a row for each value of a key: the ratio of each rule."""
    rules = [rule for rule in next(iter(runs.values())) if rule != base]
    rows = []
    for value, part in parts(runs, axis):
        found = ratios(part, base, number)
        rows.append([value, *(estimate_text(found[rule].ratio, THREE) for rule in rules)])
    yield from Table(columns=[called, *rules], rows=rows, words=1).markdown()


def sentences(found: Mapping[str, Ratio], base: str, called: str) -> Iterator[str]:
    """Say of each rule what is beyond chance."""
    for rule, of in found.items():
        ends = of.ratio.ends()
        if ends is None or ends[0] <= 1 <= ends[1]:
            continue
        much = percent(0)(abs(1 - of.ratio.mean))
        if much == percent(0)(0):
            continue
        way = "less" if of.ratio.mean < 1 else "more"
        yield (
            f"- With `{rule}` the {called} is {much} {way} than with {base}, as a geometric mean "
            f"over {of.cases} cases; beyond chance it is less in {len(of.less)} of them, and more "
            f"in {len(of.more)}."
        )


def losses(runs: Runs, base: str) -> Iterator[str]:
    """Say for the first value of a case where a rule loses fewer or more packets than `base`.

    All cases and rules are judged together.
    """
    found = differences(runs, base, lost)
    rules = [rule for rule in next(iter(runs.values())) if rule != base]
    for first, part in parts(runs, 0):
        for rule in rules:
            fewer, more = (
                [case for case in part if found[case, rule] is is_less] for is_less in (True, False)
            )
            yield (
                f"- With {first}, `{rule}` loses fewer packets than {base} {_where(fewer)}, and "
                f"more {_where(more)}."
            )


def lost(run: Started) -> float:
    """Give the packets that the flow lost."""
    return float(run["lost"])


def _where(cases: Sequence[Case]) -> str:
    return f"at {listed([', '.join(case[1:]) for case in cases])}" if cases else "nowhere"


def ends(runs: Runs, bdp: float) -> Iterator[str]:
    """Say for each case and rule whether slow start ended by its exit, and at how many BDP."""
    rules = list(next(iter(runs.values())))
    rows = []
    for case, of in runs.items():
        cells = []
        for rule in rules:
            exits = [run["exit_cwnd"] for run in of[rule] if run["exit_cwnd"] is not None]
            lost = fmean(run["lost"] for run in of[rule])
            word = f"exit {fmean(exits) / bdp:.1f}" if exits else "loss"
            part = f" in {len(exits)}" if 0 < len(exits) < len(of[rule]) else ""
            cells.append(f"{word}{part} ({lost:,.0f})")
        rows.append([", ".join(case), *cells])
    yield from Table(columns=["case", *rules], rows=rows, words=1).markdown()

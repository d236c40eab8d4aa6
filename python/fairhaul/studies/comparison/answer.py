"""The sentences that answer a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from fairhaul.measures.long_term import ENOUGH_CYCLES
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.transport import STANDARD
from fairhaul.statistics.estimate import LEAST_RUNS
from fairhaul.statistics.evidence import below, judge, less
from fairhaul.studies.comparison.numbers import Runs
from fairhaul.studies.comparison.plan import ENOUGH_ROUND_TRIPS, Done, budget_s
from fairhaul.studies.comparison.question import Question
from fairhaul.text.durations import DURATION, duration_text
from fairhaul.text.phrases import size_text

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Theme:
    """What controllers are ranked by, and the words for a single one, the best and the worst.

    `ranked` is what a sentence calls what it ranks.
    """

    case: str
    value: Callable[[Row], float | None]
    only: str
    best: str
    last: str
    figure: str
    form: Callable[[float], str]
    ranked: str
    more_is_better: bool = False


def answer(question: Question, rows: Sequence[Row], found: Mapping[str, Runs], done: Done) -> str:
    """Say which controller shares most evenly, completes first and harms the others least.

    Only stationary cases are ranked: the start of a flow says nothing about the long term.
    Differences are those between runs of one seed, and all of them are judged together.
    """
    ranked = [(theme, _ranking(theme, rows, found)) for theme in _themes(question)]
    pairs = [
        below(less(ranking[first], ranking[last]), 0.0)
        for _, ranking in ranked
        for first, last in combinations(ranking, 2)
    ]
    judged = iter(judge(pairs))
    parts = [
        _sentence(theme, ranking, {pair: next(judged) for pair in combinations(ranking, 2)})
        for theme, ranking in ranked
    ]
    if not done.stationary:
        nothing_else = not any(parts)
        parts.append(too_short(question, rows, done, nothing_else=nothing_else))
        parts.append(not_known(question, rows))
    return " ".join(part for part in parts if part)


def _themes(question: Question) -> list[Theme]:
    several, ranked = len(question.rtts_s) > 1, what(question)
    transfer = f"completes {size_text(question.size_bytes)}{' on every flow' if several else ''}"
    themes = []
    if several:
        themes.append(
            Theme(
                case="alone",
                value=lambda run: run["jain"],
                only="divides the link among its own flows",
                best="divides the link most evenly among its own flows",
                last="least evenly",
                figure="Jain's index {}",
                form=lambda index: f"{index:.3f}",
                ranked=ranked,
                more_is_better=True,
            )
        )
    themes.append(
        Theme(
            case="alone",
            value=slowest,
            only=transfer,
            best=f"{transfer} first",
            last="last",
            figure="{}",
            form=DURATION,
            ranked=ranked,
        )
    )
    if question.others is not None:
        themes.append(
            Theme(
                case="beside",
                value=lambda run: run["harm"],
                only=f"harms {others_text(question)}",
                best=f"harms {others_text(question)} least",
                last="most",
                figure="harm {}",
                form=lambda harm: f"{harm:.2f}",
                ranked=ranked,
            )
        )
    return themes


Ranking = Mapping[str, Mapping[int, float]]


def _ranking(theme: Theme, rows: Sequence[Row], found: Mapping[str, Runs]) -> Ranking:
    """Give the values by seed of the stationary cases, the best first."""
    names = [row["controller"] for row in rows if row[theme.case]["stationary"]]
    if theme.case == "beside" and len(rows) > 1:
        # What standard TCP does to others is the reference, and 0 by definition.
        names = [name for name in names if name != STANDARD]
    values = {}
    for name in names:
        each = {seed: theme.value(run) for seed, run in found[name][theme.case].items()}
        values[name] = {seed: value for seed, value in each.items() if value is not None}
    known = [name for name in names if values[name]]
    known.sort(key=lambda name: fmean(values[name].values()), reverse=theme.more_is_better)
    return {name: values[name] for name in known}


def _sentence(theme: Theme, ranking: Ranking, apart: Mapping[tuple[str, str], bool | None]) -> str:
    """Name the best and the worst controller, or say that the runs cannot tell them apart."""
    if not ranking:
        return ""
    names = list(ranking)
    texts = {
        name: theme.figure.format(theme.form(fmean(values.values())))
        for name, values in ranking.items()
    }
    best, last = names[0], names[-1]
    if len(names) == 1:
        return f"{best} {theme.only}: {texts[best]}."
    runs = min(len(values) for values in ranking.values())
    means = ", ".join(f"{name} {texts[name]}" for name in names)
    if runs < LEAST_RUNS:
        seeds = "one seed says" if runs == 1 else f"{runs} seeds say"
        return (
            f"Which {theme.ranked} {theme.best}, {seeds} nothing about: {means}; a ranking "
            f"requires at least {LEAST_RUNS} seeds."
        )
    if apart[best, last] is None:
        return f"The runs do not show which {theme.ranked} {theme.best}: {means}."
    ties = [name for name in names[1:-1] if apart[best, name] is None]
    beside = f" or {' or '.join(ties)}" if ties else ""
    return f"{best}{beside} {theme.best} ({texts[best]}), {last} {theme.last} ({texts[last]})."


def too_short(question: Question, rows: Sequence[Row], done: Done, *, nothing_else: bool) -> str:
    """Name the cases that are too short, and the duration that each would need.

    A controller that probes by losses, and causes none, has no cycle and no estimate.
    """
    cases, wanted = [], []
    for case, heading in _headings(question).items():
        short = [row for row in rows if row[case] and is_short(row[case])]
        texts = ", ".join(_wanted(question, row, case) for row in short)
        cases += [f"{heading}, {texts}"] if short else []
        wanted += [row[case]["wanted_duration_s"] for row in short]
    if not cases:
        return ""
    seeds = len(next(iter(done.measures.values())))
    lead = "Cannot say yet, too short" if nothing_else else "Too short to say, and not ranked"
    return (
        f"{lead}: {'; '.join(cases)}. In "
        f"{duration_text(done.duration_s)}, one of their flows had fewer than {ENOUGH_CYCLES} "
        f"cycles (loss events, or probes without a loss), or fewer than {ENOUGH_ROUND_TRIPS} round "
        "trips were measured, so their figures hold for that time and not for the long term."
        f"{_advice(question, done.engine, wanted, seeds)}"
    )


def not_known(question: Question, rows: Sequence[Row]) -> str:
    """Name the cases of which it is not known whether their runs are long enough."""
    cases = []
    for case, heading in _headings(question).items():
        names = [row["controller"] for row in rows if row[case] and is_not_known(row[case])]
        cases += [f"{heading}, {', '.join(names)}"] if names else []
    if not cases:
        return ""
    return (
        f"Not ranked, because these stacks show no window and no loss events: {'; '.join(cases)}. "
        "Without loss events it is not known whether their runs are long enough, so their figures "
        "hold for the time that was measured and not for the long term."
    )


def is_not_known(case: Mapping[str, Any]) -> bool:
    """Whether the cycles of a flow of this case are not known, however long the runs are."""
    return case["least_cycles"] is None


def is_short(case: Mapping[str, Any]) -> bool:
    """Whether a run of this case is known to be too short."""
    return not case["stationary"] and not is_not_known(case)


def _headings(question: Question) -> dict[str, str]:
    return {"alone": "alone", "beside": f"competing with {others_text(question)}"}


def _advice(question: Question, engine: Engine, wanted: Sequence[float | None], seeds: int) -> str:
    """Say what budget would suffice."""
    known = [length for length in wanted if length is not None]
    text, few = "", len(known) < len(wanted)
    if known:
        cost = duration_text(budget_s(question, max(known), seeds, engine) * (1 + 1 / seeds))
        text = f" By these estimates, a budget of about {cost} (--budget) would suffice"
        text += " for the cases with an estimate." if few else "."
    none = (
        " Without a cycle there is no estimate; larger packets (--mtu) or longer runs (--duration) "
        "may bring loss events."
    )
    return text + none if few else text


def _wanted(question: Question, row: Row, case: str) -> str:
    """Name a controller and the duration that it needs."""
    wanted_s = row[case]["wanted_duration_s"]
    # A stack may reduce its window and not report it.
    none = "no loss event reported" if row["controller"] in question.stacks else "no cycle yet"
    needs = none if wanted_s is None else f"needs about {duration_text(wanted_s)}"
    return f"{row['controller']} ({needs})"


def slowest(run: Row) -> float | None:
    """Give the completion time of the slowest flow of a run; None if a flow never completes."""
    times = [flow["completion_s"] for flow in run["flows"]]
    return None if None in times else max(times)


def what(question: Question) -> str:
    """Say what is compared."""
    names = ["controller"] * bool(question.controllers) + ["stack"] * bool(question.stacks)
    return " or ".join(names)


def others_text(question: Question) -> str:
    """Name the competing flows, such as "4 reno flows"."""
    others = question.others
    if others is None:
        return "nothing"
    return f"{others.count} {others.name} flow{'' if others.count == 1 else 's'}"

"""The sentence that answers a comparison, and the words for its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.comparison.plan import Done
from fairhaul.comparison.question import STANDARD, Question
from fairhaul.measures import ENOUGH_LOSS_EVENTS

Row = Mapping[str, Any]

# From the largest unit down; a length is written in two neighbouring units.
UNITS = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))


@dataclass(frozen=True, kw_only=True)
class RankedFigure:
    """A figure of one controller; with a single seed, both ends of its interval are the mean."""

    name: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Theme:
    """What controllers are ranked by, and the words for a single one, the best and the worst."""

    only: str
    best: str
    last: str
    figure: str
    form: Callable[[float], str]
    more_is_better: bool = False


def answer(question: Question, rows: Sequence[Row], done: Done) -> str:
    """Say which controller shares most evenly, completes first and harms the others least.

    Only stationary cases are ranked: the start of a flow says nothing about the long term.
    """
    size = size_text(question.size_bytes)
    alone = _ranking(rows, "alone")
    parts = []
    if len(question.rtts_s) > 1:
        theme = Theme(
            only="divides the link among its own flows",
            best="divides the link most evenly among its own flows",
            last="least evenly",
            figure="Jain's index {}",
            form=lambda index: f"{index:.3f}",
            more_is_better=True,
        )
        parts.append(_ranked([_figure(row, row["alone"]["jain"]) for row in alone], theme))
    theme = Theme(
        only=f"transfers {size} on its slowest flow",
        best=f"transfers {size} fastest on its slowest flow",
        last="slowest",
        figure="{}",
        form=duration_text,
    )
    parts.append(_ranked([_figure(row, slowest(row["alone"])) for row in alone], theme))
    if question.others is not None:
        theme = Theme(
            only=f"harms {others_text(question)}",
            best=f"harms {others_text(question)} least",
            last="most",
            figure="harm {}",
            form=lambda harm: f"{harm:.2f}",
        )
        # What standard TCP does to others is the reference, and 0 by definition.
        judged = _ranking([r for r in rows if r["controller"] != STANDARD] or rows, "beside")
        parts.append(_ranked([_figure(row, row["beside"]["harm"]) for row in judged], theme))
    if not done.stationary:
        parts.append(too_short(question, rows, done))
    return " ".join(part for part in parts if part)


def too_short(question: Question, rows: Sequence[Row], done: Done) -> str:
    """Name the cases that are not stationary, and the duration that each would need.

    A controller that causes no losses, e.g. a delay-based one, never has enough loss events.
    """
    headings = {"alone": "alone", "beside": f"competing with {others_text(question)}"}
    short = {
        case: [row for row in rows if row[case] and not row[case]["stationary"]]
        for case in headings
    }
    which = "; ".join(
        f"{heading}, {', '.join(_wanted(row, case) for row in short[case])}"
        for case, heading in headings.items()
        if short[case]
    )
    length = duration_text(done.duration_s)
    return (
        f"These cases are too short to judge, and are not ranked: {which}. In {length}, one of "
        f"their flows had fewer than {ENOUGH_LOSS_EVENTS} loss events, so its figures hold for "
        "that time and not for the long term. `fairhaul run` runs a scenario of any duration."
    )


def _wanted(row: Row, case: str) -> str:
    """Name a controller and the duration that it needs."""
    wanted_s = row[case]["wanted_duration_s"]
    needs = "no loss event yet" if wanted_s is None else f"needs about {duration_text(wanted_s)}"
    return f"{row['controller']} ({needs})"


def _ranking(rows: Sequence[Row], case: str) -> Sequence[Row]:
    """Give the stationary cases, which can be ranked."""
    return [row for row in rows if row[case]["stationary"]]


def slowest(case: Mapping[str, Any]) -> Any:
    """Give the completion time of the slowest flow; None if a flow never completes."""
    times = [flow["completion_s"] for flow in case["flows"]]
    return None if None in times else max(times, key=_mean)


def _figure(row: Row, value: Any) -> RankedFigure | None:
    name = row["controller"]
    if value is None:
        return None
    if not isinstance(value, Mapping):
        return RankedFigure(name=name, mean=value, low=value, high=value)
    mean = value["mean"]
    low, high = (mean if value[end] is None else value[end] for end in ("low", "high"))
    return RankedFigure(name=name, mean=mean, low=low, high=high)


def _mean(value: Any) -> float:
    return float(value["mean"] if isinstance(value, Mapping) else value)


def _ranked(figures: Sequence[RankedFigure | None], theme: Theme) -> str:
    """Name the best and the worst of `figures`; say so if their intervals overlap."""
    up = theme.more_is_better
    ranked = sorted((f for f in figures if f is not None), key=lambda f: f.mean, reverse=up)
    if not ranked:
        return ""
    best, last = ranked[0], ranked[-1]
    first, end = (theme.figure.format(theme.form(f.mean)) for f in (best, last))
    if len(ranked) == 1:
        return f"{best.name} {theme.only}: {first}."
    ranking = f"{best.name} {theme.best} ({first}), {last.name} {theme.last} ({end})"
    apart = best.low > last.high if up else best.high < last.low
    return f"{ranking}." if apart else f"{ranking}, but the difference is not significant."


def others_text(question: Question) -> str:
    """Name the competing flows, such as "4 reno"."""
    others = question.others
    return f"{others.count} {others.name}" if others is not None else "nothing"


def size_text(size_bytes: int) -> str:
    """Write a size in the largest unit that leaves a number of 1 or more."""
    for power, unit in ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB")):
        if size_bytes >= 10**power:
            return f"{size_bytes / 10**power:g} {unit}"
    return f"{size_bytes} B"


def duration_text(seconds: float) -> str:
    """Write a length of time in its two largest units, such as "3 h 26 min"."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    at = next(i for i, (unit, _) in enumerate(UNITS) if seconds >= unit)
    (large, large_name), (small, small_name) = UNITS[at : at + 2]
    whole, rest = divmod(round(seconds / small), large // small)
    return f"{whole} {large_name} {rest} {small_name}" if rest else f"{whole} {large_name}"

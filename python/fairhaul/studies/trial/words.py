"""A trial in words: the answer says which question was asked."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairhaul.report.outcome import Outcome, Section
from fairhaul.studies.trial.judge import LEAST_PAIRS, Comparison
from fairhaul.studies.trial.results import State
from fairhaul.text.phrases import count_of, listed, quantity
from fairhaul.text.table import Table

UNITS = {"transfer": "transfer", "time": "block"}
MEANT = {
    "transfer": "The controllers ran beside each other, and shared the path: this is the advantage "
    "in competition. It does not say what would happen if all connections changed; --by time "
    "asks that.",
    "time": "All connections had one controller at a time: this is the effect of changing all. It "
    "does not say which controller wins beside the other; a trial by transfer asks that.",
}


def outcome_of(state: State) -> Outcome:
    """Put a trial into words and tables."""
    names = state.controllers
    by_transfer = state.design == "transfer"
    others = " or ".join(names[1:])
    return Outcome(
        study="trial",
        title="Trial of " + listed(names),
        question=(
            f"Which wins beside the other, {names[0]} or {others}?"
            if by_transfer
            else f"What if all connections change from {names[0]} to {others}?"
        ),
        answer=" ".join(_answers(state)),
        evidence=lambda: list(_sections(state)),
        values=state.values,
    )


def _answers(state: State) -> Iterator[str]:
    first = state.controllers[0]
    for name, of in zip(state.controllers[1:], state.comparisons, strict=True):
        yield _answer(state, first, name, of)


def _answer(state: State, first: str, name: str, of: Comparison) -> str:
    unit = UNITS[state.design]
    ends = of.interval()
    if of.verdict == "harm":
        return f"{name} does harm: {_harm(first, of)} The trial was ended."
    if ends is None:
        return (
            f"Undecided: {count_of(of.pairs, unit)} of each controller are too few; from "
            f"{LEAST_PAIRS} on they are judged."
        )
    low, high = (math.expm1(end) for end in ends)
    if of.verdict == "undecided":
        more = f" A difference of 5 % needs about {state.needed} of each." * bool(state.needed)
        return (
            f"Undecided: the goodput of {name} differs from that of {first} by {_change(low)} to "
            f"{_change(high)}, after {of.pairs} {unit}s of each.{more}"
        )
    if of.verdict == "same":
        return (
            f"{name} and {first} differ by less than 5 % in goodput ({_change(low)} to "
            f"{_change(high)})."
        )
    least, most = sorted(abs(end) for end in (low, high))
    change = abs(math.expm1(of.goodput.mean))
    amount = f"{100 * change:.1f} % [{100 * least:.1f}, {100 * most:.1f}]"
    more = "more" if of.verdict == "higher" else "less"
    if state.design == "transfer":
        verb = "wins" if of.verdict == "higher" else "loses"
        return f"{name} {verb} beside {first}: its transfers have {amount} {more} goodput."
    return f"With {name} on all connections, they have {amount} {more} goodput than with {first}."


def _harm(first: str, of: Comparison) -> str:
    parts = []
    if "goodput" in of.harms():
        parts.append(f"its goodput is at least 10 % below that of {first}.")
    if "retransmitted" in of.harms():
        parts.append(
            f"it retransmits {100 * of.retransmitted.mean:.1f} % more of its packets than {first}."
        )
    return " And ".join(parts)


def _change(part: float) -> str:
    return f"{100 * part:+.1f} %"


def _sections(state: State) -> Iterator[Section]:
    values = state.values()
    rows = [
        [
            arm["name"],
            str(arm["transfers"]),
            str(arm["connections"]),
            "-" if arm["goodput_bps"] is None else quantity(arm["goodput_bps"], "bit/s"),
            _percent(arm["retransmitted"]),
            "-" if arm["rtt_ms"] is None else f"{arm['rtt_ms']:.1f}",
            _percent(arm["limited_by_hosts"]),
        ]
        for arm in values["controllers"]
    ]
    columns = (
        *("controller", "transfers", "connections", "goodput", "retrans %", "RTT ms"),
        "limited by hosts %",
    )
    notes = [
        "goodput: geometric mean over transfers, of acknowledged bytes over the time in which data "
        "were outstanding; limited by hosts: time in which the receive window or the send buffer "
        "was the limit",
    ]
    yield Section(heading="Meaning", text=[MEANT[state.design]])
    yield Section(
        heading="Controllers", tables=[Table(columns=columns, rows=rows, words=1, notes=notes)]
    )
    points = list(_not_counted(state))
    yield Section(heading="Course", text=[f"Ended: {state.ended}."], points=points)


def _not_counted(state: State) -> Iterator[str]:
    counts = state.values()["not_counted"]
    sentences = {
        "small": f"transfers below {quantity(state.least_bytes, 'B')} of acknowledged data",
        "open": "connections that had not ended",
        "settling": "connections that began in the first quarter of a block",
        "not_assigned": "connections that did not get their controller",
    }
    for key, what in sentences.items():
        if counts[key]:
            yield f"not counted: {counts[key]} {what}"
    if state.counts.get("overflows"):
        yield "the kernel did not report all connections that ended: too many did at a time"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f}"

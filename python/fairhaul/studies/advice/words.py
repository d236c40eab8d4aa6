"""An advice in words: what limits now, what to change, how sure that is, and the candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairhaul.host.buffers import SEND_LIMIT, send_limit_bytes
from fairhaul.report.outcome import Outcome, Section
from fairhaul.statistics.estimate import legend
from fairhaul.statistics.estimate import text as estimate_text
from fairhaul.studies.advice.commands import commands
from fairhaul.studies.advice.drawings import of_candidates, over_settings
from fairhaul.studies.advice.hosts import GRANTED, fixed_bytes
from fairhaul.studies.advice.runs import MARGIN
from fairhaul.text.digits import Decimals, percent
from fairhaul.text.durations import rough_duration_text as duration_text
from fairhaul.text.phrases import RATE, listed, quantity, size_text
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.advice.results import Advice, Entry

COLUMNS = (
    *("hosts", "transfer takes", "10 to 90 %", "Mbit/s", "others lose %", "retrans %"),
    *("fastest in", ""),
)


def outcome_of(advice: Advice) -> Outcome:
    """Put an advice into words and tables."""
    question = advice.question
    path = f"{quantity(question.rate_bps, 'bit/s')} and {1000 * max(question.rtts_s):g} ms"
    # None for what was not judged.
    found = commands(advice) if advice.is_long_enough else []
    lines = [command for _, command in found if command]
    return Outcome(
        study="advise",
        title=f"Advice for a path of {path}",
        question=f"What to change for {size_text(question.size_bytes)} over {path}?",
        answer=f"{_limit(advice)}{answer(advice)} {_neighbours(advice)}".strip(),
        evidence=lambda: _sections(advice, found),
        values=lambda: advice.values() | {"commands": lines},
    )


def _sections(advice: Advice, found: Sequence[tuple[str, str]]) -> list[Section]:
    first = ""
    if advice.tried:
        first = f"Slower, or more harmful, in a first look: {listed(list(advice.tried))}."
    count = len(advice.settings)
    means = (
        f"{legend(count)} Completion times are medians over the {count} settings, beside the range "
        "in which eight of ten settings are."
    )
    table = Table(
        title=f"The final, over {count} settings",
        columns=COLUMNS,
        rows=[_row(entry, advice) for entry in advice.entries],
    )
    return [
        Section(
            heading="",
            text=[simulated(advice), means],
            tables=[table],
            points=[*_certainty(advice), *filter(None, (_less(advice), _excluded(advice), first))],
            figures=lambda: [of_candidates(advice)],
        ),
        Section(
            heading="When the answer would change",
            points=list(advice.sensitivity)
            or [f"No other allowed candidate is {percent(0)(MARGIN)} faster in any setting."],
            text=[
                f"Each run of the final lasts {duration_text(advice.duration_s)}, over {count} "
                f"settings. Drawn for each setting: {advice.known.text()}."
            ],
            figures=lambda: over_settings(advice),
        ),
        # A terminal has had it before the first run.
        Section(heading="What was read", text=_read(advice), detailed=True),
        Section(
            heading="Commands",
            commands=[
                line
                for what, command in found
                for line in (f"# {what}", *([command] if command else []))
            ],
        ),
    ]


def _limit(advice: Advice) -> str:
    """Say what limits the transfer now, and what this host allows as it is set."""
    observed = advice.known.observed
    parts = ("" if observed is None else observed.first(), _allowed(advice), _now(advice))
    return "".join(f"{part} " for part in parts if part)


def _allowed(advice: Advice) -> str:
    """Say how much one connection gets with the buffers as they are, if that is less."""
    hosts = advice.now.candidate.hosts
    windows = [("the receiver's window", fixed_bytes(hosts.receive_buffer))]
    send_bytes = fixed_bytes(hosts.send_buffer)
    if send_bytes is None:
        windows.append((f"{SEND_LIMIT} of this host", send_limit_bytes()))
    else:
        windows.append((f"{SEND_LIMIT} of the sender", GRANTED * send_bytes))
    known = [(size, what) for what, size in windows if size is not None]
    if not known:
        return ""
    size, what = min(known)
    most_bps = 8 * size / max(advice.question.rtts_s)
    if most_bps >= advice.question.rate_bps:
        return ""
    return (
        f"As the hosts are set now, one connection gets at most {quantity(most_bps, 'bit/s')}: "
        f"{what} is {quantity(size, 'B')}."
    )


def _now(advice: Advice) -> str:
    """Say how long the transfer takes as it is, and what keeps it back."""
    now = advice.now
    limit, part = max(now.limits.items(), key=lambda of: of[1])
    kept = f"; the {limit} keeps it back for {percent(0)(part)} of its time" if part else ""
    return (
        f"As it is now ({now.candidate.hosts.text()}), {size_text(advice.question.size_bytes)} "
        f"take {_times(now)}{kept}."
    )


def _times(entry: Entry) -> str:
    low, high = entry.completion_s(0.1), entry.completion_s(0.9)
    return (
        f"{duration_text(entry.median_s)} ({duration_text(low)} to {duration_text(high)} in eight "
        "of ten settings)"
    )


def _read(advice: Advice) -> list[str]:
    observed = advice.known.observed
    return [] if observed is None else [observed.text()]


def _less(advice: Advice) -> str | None:
    """Say so if the answer is less than what the connections have that were read."""
    observed = advice.known.observed
    # What something else than the path limits is compared with nothing.
    now = None if observed is None else observed.now_bps
    if now is None or advice.winner.goodput.mean >= now:
        return None
    return (
        "The answer is less than these connections have now, because the settings have competing "
        "flows and random losses, which the path may lack."
    )


def answer(advice: Advice) -> str:
    """Say what to change, and how long the transfer then takes, or that the runs were too short."""
    winner = advice.winner
    goodput = estimate_text(winner.goodput, RATE)
    if not advice.is_long_enough:
        return (
            f"Cannot say yet: runs of {duration_text(advice.duration_s)} are too short for the "
            f"long term in {advice.short} of {len(advice.settings)} settings; about --budget "
            f"{math.ceil(advice.wanted_budget_s / 60)}min would do. So far {winner.name!r} is "
            f"ahead, with {goodput} on average over the settings."
        )
    if winner is advice.now:
        return f"Change nothing: no change makes it {percent(0)(MARGIN)} faster beyond chance."
    return (
        f"Change to {winner.name}: it then takes {_times(winner)}, with {goodput} on average over "
        "the settings."
    )


def _neighbours(advice: Advice) -> str:
    """Say what the competing flows lose, if there are any."""
    if advice.known.cross == 0:
        return ""
    lost = estimate_text(advice.winner.harm, percent(0))
    allowed = percent(0)(advice.most_harm)
    beyond = "" if advice.winner.allowed else f", more than the allowed {allowed}"
    return (
        f"Competing flows lose {lost} of what they have beside one cubic flow{beyond} (negative: "
        "they gain)."
    )


def _certainty(advice: Advice) -> list[str]:
    """Say how sure the answer is."""
    lines = [
        f"{advice.winner.name!r} is the fastest allowed candidate in {advice.winner.best} of "
        f"{len(advice.settings)} drawn settings."
    ]
    allowed = {entry.name: entry.allowed for entry in advice.entries}
    slower, unknown, faster = (
        [name for name, found in advice.faster.items() if found is verdict]
        for verdict in (True, None, False)
    )
    for names, words in (
        (slower, "It is faster than {}, beyond chance."),
        (unknown, "These settings cannot tell it apart from {}."),
        (
            [name for name in faster if allowed[name]],
            f"{{}}: faster, but not by {percent(0)(MARGIN)} beyond chance.",
        ),
        (
            [name for name in faster if not allowed[name]],
            "{}: faster, beyond chance, but competing flows would lose more.",
        ),
    ):
        if names:
            lines.append(words.format(listed(names)))
    return lines


def _excluded(advice: Advice) -> str:
    """Name the candidates that harm competing flows more than allowed."""
    names = [entry.name for entry in advice.entries if not entry.allowed]
    limit = percent(0)(advice.most_harm)
    text = f"Not allowed, because competing flows would lose more than {limit}: {listed(names)}."
    return text if names else ""


def simulated(advice: Advice) -> str:
    """Say what the hosts of the runs were."""
    hosts = "Every candidate has the hosts as they are now, except for the changes in its name."
    if advice.known.cross == 0:
        return f"{hosts} No other flows compete."
    return (
        f"{hosts} The competing flows, and the cubic flow that their loss is compared with, have "
        "large enough buffers and do not pace; in the same settings that cubic flow has "
        f"{estimate_text(advice.today, RATE)}."
    )


def _row(entry: Entry, advice: Advice) -> list[str]:
    """Give the cells of a candidate: completion time, goodput, harm, settings, verdict."""
    verdict = "eBPF port" if entry.is_port else ""
    if not entry.allowed:
        verdict = "harms too much"
    elif entry is advice.winner:
        verdict = "recommended" if advice.is_long_enough else "ahead so far"
    low, high = entry.completion_s(0.1), entry.completion_s(0.9)
    return [
        entry.name,
        duration_text(entry.median_s),
        f"{duration_text(low)} to {duration_text(high)}",
        estimate_text(entry.goodput, Decimals(digits=1, scale=1e-6)),
        estimate_text(entry.harm, Decimals(digits=0, scale=100)),
        Decimals(digits=2, scale=100)(entry.retransmitted),
        f"{entry.best} of {len(advice.settings)}",
        verdict,
    ]

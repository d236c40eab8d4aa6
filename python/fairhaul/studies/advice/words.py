"""An advice in words: the answer, how sure it is, the candidates, and the commands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairhaul.figures.axes import axis_of
from fairhaul.figures.charts import Scale
from fairhaul.figures.clouds import clouds_over
from fairhaul.figures.figure import Figure
from fairhaul.figures.side_by_side import side_by_side
from fairhaul.host.buffers import LARGEST_WINDOW, SEND_LIMIT, raised, send_limit_bytes
from fairhaul.host.deployable import Way, install_command, pacing_command, way_of
from fairhaul.host.process import Refused
from fairhaul.report.outcome import Outcome, Section
from fairhaul.scenario.transport import controller_of
from fairhaul.statistics.estimate import legend
from fairhaul.statistics.estimate import text as estimate_text
from fairhaul.studies.advice.path import NAMES
from fairhaul.text.digits import Decimals, percent
from fairhaul.text.durations import duration_text
from fairhaul.text.phrases import RATE, listed, quantity, rate_unit, size_text
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.advice.tournament import Advice, Entry

MEBIBYTE = 1 << 20
# Half of a socket buffer is for the kernel's own records.
RECORDS = 2
# While a lost packet is repaired, the receiver holds up to a second window behind it.
WINDOWS = 2
COLUMNS = ("candidate", "Mbit/s", "transfer takes", "others lose %", "fastest in", "")


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
        question=f"Which congestion control for {size_text(question.size_bytes)} over {path}?",
        answer=f"{_limit(advice)}{answer(advice)} {_neighbours(advice)}",
        evidence=lambda: _sections(advice, found),
        values=lambda: advice.values() | {"commands": lines},
    )


def _sections(advice: Advice, found: Sequence[tuple[str, str]]) -> list[Section]:
    names = {entry.name for entry in advice.entries}
    slower = [name for name in advice.first if name not in names]
    first = f"Slower, or more harmful, in the first round: {listed(slower)}." if slower else ""
    count = len(advice.settings)
    means = f"Means over {count} settings. {legend(count)}"
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
            figures=lambda: [_candidates(advice)],
        ),
        Section(
            heading="When the answer would change",
            points=list(advice.changes) or ["No other allowed candidate is faster anywhere."],
            text=[
                f"Each run of the final lasts {duration_text(advice.duration_s)}, over {count} "
                f"settings. Drawn for each setting: {advice.known.text()}."
            ],
            figures=lambda: _settings(advice),
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
    parts = ("" if observed is None else observed.first(), _allowed(advice))
    return "".join(f"{part} " for part in parts if part)


def _allowed(advice: Advice) -> str:
    """Say how much one connection gets with the buffers as they are, if that is less."""
    observed = advice.known.observed
    windows = [("the receiver's window", None if observed is None else observed.window_bytes)]
    windows.append((f"{SEND_LIMIT} of this host", send_limit_bytes()))
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
    """Say what to use, and how long the transfer takes, or that the runs were too short for it."""
    connections = advice.question.controllers[advice.winner.name].connections
    over = "one connection" if connections == 1 else f"{connections} connections"
    goodput = estimate_text(advice.winner.goodput, RATE)
    kind = controller_of(advice.winner.name)
    if not advice.is_long_enough:
        return (
            f"Cannot say yet: runs of {duration_text(advice.duration_s)} are too short for the "
            f"long term in {advice.short} of {len(advice.settings)} settings; about --budget "
            f"{math.ceil(advice.wanted_budget_s / 60)}min would do. So far {kind} over {over} is "
            f"ahead, with {goodput} on average over the settings."
        )
    return (
        f"Use {kind} over {over}: {goodput} on average over the "
        f"settings, so that {size_text(advice.question.size_bytes)} take about "
        f"{duration_text(advice.completion_s)}."
    )


def _neighbours(advice: Advice) -> str:
    """Say what the competing flows lose."""
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
        f"It is the fastest allowed candidate in {advice.winner.best} of {len(advice.settings)} "
        "drawn settings."
    ]
    for verdict, words in (
        (True, "It is faster than {}, beyond chance."),
        (None, "These settings cannot tell whether it is faster than {}."),
        (False, "It is slower than {}, beyond chance, but the others harm competing flows more."),
    ):
        names = [name for name, found in advice.faster.items() if found is verdict]
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
    """Say how the hosts of the runs paced, and what that of today's flow is."""
    pacing = advice.question.pacing
    candidates = f"with {pacing} on the sender" if pacing else "without pacing by the sender"
    return (
        f"Every candidate was simulated {candidates}. The competing flows, and the cubic flow that "
        "their loss is compared with, were simulated without it; in the same settings that cubic "
        f"flow has {estimate_text(advice.today, RATE)}."
    )


def buffer_bytes(advice: Advice) -> int:
    """Give the socket buffers with which no connection is limited, in whole mebibytes.

    The runs had no limit either. Any connection may at times have all that the path holds.
    """
    needed = RECORDS * WINDOWS * advice.path_bytes
    return min(LARGEST_WINDOW, math.ceil(needed / MEBIBYTE) * MEBIBYTE)


def _buffers(advice: Advice) -> tuple[str, str]:
    """Give the command that raises the limits of buffers of this host, and what it is for."""
    least = buffer_bytes(advice)
    limits = raised(least)
    of = "the path"
    if least == LARGEST_WINDOW:
        of = "the largest window of TCP; the runs had no limit"
    if not limits.before:
        return f"on both hosts: buffers of at least {least} bytes, for {of}", ""
    if not limits.command:
        return f"on this host buffers suffice; the other one needs {least} bytes, for {of}", ""
    return (
        f"on this host: larger buffers, for {of} (now {limits.text()}); "
        "on the other host the same, where its values are smaller",
        limits.command,
    )


def commands(advice: Advice) -> list[tuple[str, str]]:
    """Give the commands, each with what it is for."""
    ways = advice.ways
    transport = advice.question.controllers[advice.winner.name]
    connections, kind = transport.connections, str(transport.controller["kind"])
    way = way_of(transport.controller, ways)
    found = [_buffers(advice)]
    if transport.pacing is not None:
        pace = f"sudo {pacing_command(transport.pacing)}"
        found.append(("on the sender: pacing, at the device of the route", pace))
    name = kind
    if way is Way.PORT:
        name = f"fh_{kind}"
        try:
            install = f"sudo {install_command(transport.controller, transport.profile)}"
            found.append(("on the sender: the controller", install))
        except Refused as refused:
            way = Way.NONE
            found.append((f"on the sender: {kind} cannot be installed as simulated: {refused}", ""))
    elif way is Way.NONE:
        found.append((f"on the sender: {kind} is not available on this host", ""))
    if way is not Way.NONE:
        parallel = f" -P {connections}" if connections > 1 else ""
        each = f", {connections} for each transfer" if connections > 1 else ""
        found += [
            ("a test with iperf3", f"iperf3 -c FAR -C {name}{parallel} -t 60"),
            (
                f"or for all connections to the other site{each}",
                f"sudo ip route change PREFIX via GATEWAY dev DEVICE congctl {name}",
            ),
        ]
    return found


def _row(entry: Entry, advice: Advice) -> list[str]:
    """Give the cells of a candidate: goodput, completion time, harm, settings, verdict."""
    completion_s = advice.question.size_bytes * 8 / entry.goodput.mean
    verdict = ""
    if not entry.allowed:
        verdict = "harms too much"
    elif entry is advice.winner:
        verdict = "recommended" if advice.is_long_enough else "ahead so far"
    return [
        entry.name,
        estimate_text(entry.goodput, Decimals(digits=1, scale=1e-6)),
        duration_text(completion_s),
        estimate_text(entry.harm, Decimals(digits=0, scale=100)),
        f"{entry.best} of {len(advice.settings)}",
        verdict,
    ]


def _candidates(advice: Advice) -> Figure:
    scale, unit = rate_unit(max(e.goodput.mean for e in advice.entries))
    return side_by_side(
        "candidates",
        "Goodput, and what competing flows lose",
        "Means over the settings, with 95 % intervals of the mean.",
        [entry.name for entry in advice.entries],
        {
            f"Goodput ({unit})": ([entry.goodput for entry in advice.entries], scale),
            "Loss of competing flows (%)": ([entry.harm for entry in advice.entries], 100),
        },
    )


def _settings(advice: Advice) -> list[Figure]:
    """Draw the goodput of each candidate over each property of the path that was drawn."""
    most = max(run.goodput_bps for entry in advice.entries for run in entry.runs)
    scale, unit = rate_unit(most)
    keys = [
        axis_of(key, NAMES[key].removeprefix("a "), [setting[key] for setting in advice.settings])
        for key in advice.settings[0]
    ]
    drawn = [axis for axis in keys if len(set(axis.values)) > 1]
    if not drawn:
        return []
    clouds = {
        entry.name: [
            (setting, scale * run.goodput_bps)
            for setting, run in zip(advice.settings, entry.runs, strict=True)
        ]
        for entry in advice.entries
    }
    y = Scale(title=f"Goodput ({unit})", low=0.0, high=1.05 * scale * most or 1.0)
    return [
        Figure(
            name="settings",
            title="Goodput over what was drawn",
            caption="Each point is one run of a candidate over one setting.",
            chart=clouds_over(drawn, clouds, y),
        )
    ]

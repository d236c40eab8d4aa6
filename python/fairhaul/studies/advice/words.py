"""An advice in words: the answer, how sure it is, and the commands that carry it out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairhaul.host.deployable import Way, install_command, pacing_command, way_of
from fairhaul.host.process import Refused
from fairhaul.scenario.transport import controller_of
from fairhaul.statistics.estimate import text as estimate_text
from fairhaul.text.digits import Decimals
from fairhaul.text.durations import duration_text
from fairhaul.text.phrases import listed, quantity, size_text

if TYPE_CHECKING:
    from fairhaul.studies.advice.tournament import Advice, Entry

MEBIBYTE = 1 << 20
# Half of a socket buffer is for the kernel's own records.
RECORDS = 2
# While a lost packet is repaired, the receiver holds up to a second window behind it.
WINDOWS = 2
# The kernel counts the bytes of a buffer in a signed integer of 32 bits.
MOST_BUFFER = (1 << 31) - MEBIBYTE


def answer(advice: Advice) -> str:
    """Say what to use, and how long the transfer takes."""
    connections = advice.question.controllers[advice.winner.name].connections
    over = "one connection" if connections == 1 else f"{connections} connections"
    goodput = estimate_text(advice.winner.goodput, _rate)
    return (
        f"Use {controller_of(advice.winner.name)} over {over}: {goodput} on average over the "
        f"settings, so that {size_text(advice.question.size_bytes)} take about "
        f"{duration_text(advice.completion_s)}."
    )


def _rate(value: float) -> str:
    return quantity(value, "bit/s")


def neighbours(advice: Advice) -> str:
    """Say what the competing flows lose."""
    harm = advice.winner.harm
    lost = estimate_text(harm, lambda value: f"{100 * value:.0f} %")
    limit = f"{100 * advice.most_harm:.0f} %"
    beyond = "" if advice.winner.allowed else f", more than the allowed {limit}"
    return (
        "Competing flows lose "
        f"{lost} of what they have beside one cubic flow{beyond} (negative: they gain)."
    )


def certainty(advice: Advice) -> list[str]:
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
    if not advice.is_long_enough:
        round_trips = advice.duration_s / max(advice.question.rtts_s)
        lines.append(
            f"The runs lasted {duration_text(advice.duration_s)}, only {round_trips:.0f} round "
            "trips: too short for the long term. A larger --budget makes them longer."
        )
    return lines


def excluded(advice: Advice) -> str:
    """Name the candidates that harm competing flows more than allowed."""
    names = [entry.name for entry in advice.entries if not entry.allowed]
    if not names:
        return ""
    limit = f"{100 * advice.most_harm:.0f} %"
    return f"Not allowed, because competing flows would lose more than {limit}: {listed(names)}."


def simulated(advice: Advice) -> str:
    """Say how the hosts of the runs paced, and what that of today's flow is."""
    pacing = advice.question.pacing
    candidates = f"with {pacing} on the sender" if pacing else "without pacing by the sender"
    return (
        f"Every candidate was simulated {candidates}. The competing flows, and the cubic flow that "
        "their loss is compared with, were simulated without it; in the same settings that cubic "
        f"flow has {estimate_text(advice.today, _rate)}."
    )


def buffer_bytes(advice: Advice) -> int:
    """Give the socket buffers with which no connection is limited, in whole mebibytes.

    The runs had no limit either. Any connection may at times have all that the path holds.
    """
    needed = RECORDS * WINDOWS * advice.path_bytes
    return min(MOST_BUFFER, math.ceil(needed / MEBIBYTE) * MEBIBYTE)


def commands(advice: Advice) -> list[tuple[str, str]]:
    """Give the commands, each with what it is for."""
    ways = advice.ways
    transport = advice.question.controllers[advice.winner.name]
    connections, kind = transport.connections, str(transport.controller["kind"])
    most = buffer_bytes(advice)
    way = way_of(transport.controller, ways)
    limited = "" if most < MOST_BUFFER else ", the largest of Linux; the runs had no limit"
    found = [
        (
            f"on both hosts: buffers for the path{limited}",
            f"sudo sysctl -w net.core.rmem_max={most} net.core.wmem_max={most} "
            f"net.ipv4.tcp_rmem='4096 131072 {most}' net.ipv4.tcp_wmem='4096 65536 {most}'",
        ),
    ]
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


def row(entry: Entry, advice: Advice) -> list[str]:
    """Give the cells of a candidate: goodput, completion time, harm, settings, verdict."""
    completion_s = advice.question.size_bytes * 8 / entry.goodput.mean
    verdict = "recommended" if entry is advice.winner else ""
    if not entry.allowed:
        verdict = "harms too much"
    return [
        entry.name,
        estimate_text(entry.goodput, Decimals(digits=1, scale=1e-6)),
        duration_text(completion_s),
        estimate_text(entry.harm, Decimals(digits=0, scale=100)),
        f"{entry.best} of {len(advice.settings)}",
        verdict,
    ]


COLUMNS = ("candidate", "Mbit/s", "transfer takes", "others lose %", "fastest in", "")

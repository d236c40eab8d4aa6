"""Advice: what to change about the hosts of a transfer over a path, or that nothing helps.

What is not known of the path (buffer, competing flows, loss) is drawn from stated ranges. The hosts
as they are, and the hosts with each change, run over the same settings, so that they are compared
setting by setting. Short runs choose which changes reach the final, which has longer ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path as FilePath
from typing import Unpack

from fairhaul import _core
from fairhaul.host.buffers import send_limit_bytes
from fairhaul.host.deployable import Way
from fairhaul.host.deployable import ways as ways_of_host
from fairhaul.host.recording import is_recording
from fairhaul.jobs.values import Running, RunOptions
from fairhaul.scenario.profiles import TUNED
from fairhaul.scenario.quantities import size_bytes
from fairhaul.scenario.read import ScenarioError
from fairhaul.scenario.transport import Reading
from fairhaul.studies.advice.hosts import (
    ALWAYS,
    CAPS,
    KNOBS,
    PACKET_BYTES,
    POLICED_CAPS,
    STREAMS,
    USUAL,
    Choices,
    Hosts,
    choices_of,
    hosts_now,
)
from fairhaul.studies.advice.path import Known
from fairhaul.studies.advice.results import Advice
from fairhaul.studies.advice.shown import Shown, shown
from fairhaul.studies.advice.tournament import play
from fairhaul.studies.comparison.question import Question, read_question
from fairhaul.studies.explanation import explain, text_of
from fairhaul.studies.explanation.observed import Observed
from fairhaul.studies.explanation.observed import observed as read_observed
from fairhaul.studies.explanation.sockets import is_iperf3, of_iperf3

__all__ = ["Advice", "Known", "advise", "read_path"]

# That no flows compete.
NO_CROSS = "none"

# Controllers that may be candidates, if the host has them.
CANDIDATES = (
    *("cubic", "reno", "bbr", "bbr3", "highspeed", "scalable", "htcp", "bic", "illinois"),
    *("westwood", "fhstcp", "ghstcp"),
)


def advise(  # noqa: PLR0913 - one argument for each word of the question
    candidates: Sequence[str] = (),
    *,
    rate: str = "",
    rtt: str = "",
    size: str = "1TB",
    buffer: str | None = None,
    policer: str | None = None,
    cross: str | None = None,
    loss: float | None = None,
    now: str | None = None,
    buffers: str | None = None,
    mtu: int = PACKET_BYTES,
    observed: str | PathLike[str] | None = None,
    harm: float = 0.25,
    every: bool = False,
    budget: str = "5min",
    **options: Unpack[RunOptions],
) -> Advice:
    """Find what to change about the hosts of a transfer over a path.

    Args:
        candidates: the changes to try, as `--only` has them; by default all.
        rate: the rate of the bottleneck, such as `"10 Gbit/s"`.
        rtt: the two-way propagation, such as `"80 ms"`.
        size: the size of the transfer.
        buffer: the buffer of the bottleneck; half to twice of it is tried. Unknown: 0.05 to 2 bdp.
        policer: the size of the bucket of a policer of this rate, instead of a buffer.
        cross: the competing flows, as `"4xcubic"`; half to twice as many are tried; or `"none"`.
        loss: the probability of random loss; a third to three times of it is tried.
        now: the controller and the connections in use; by default what was observed, or cubic.
        buffers: the largest socket buffers now; by default what was observed, or those of Linux.
        mtu: the size of packets now, in bytes.
        observed: what `ss -ti` or `iperf3 --json` printed, or a file that `explain` reads.
        harm: the part that competing flows may lose of what they have beside one cubic flow.
        every: whether controllers that this host lacks are candidates, too.
        budget: the processor time of all runs, at 2.5 million packets a second on any machine.
        options: how the runs are run, as `fairhaul.jobs.values.Running` has it.

    Raises:
        ScenarioError, RunError: `args` are all mistakes, one line each; a run failed.
    """
    ways = ways_of_host()
    question, known, choices = read_path(
        list(candidates) or [*KNOBS, *usable(ways, every=every)],
        observed,
        rate=rate,
        rtt=rtt,
        size=size,
        buffer=buffer,
        cross=cross,
        loss=loss,
        policer=policer,
        now=now,
        buffers=buffers,
        mtu=mtu,
        budget=budget,
        ways=ways,
    )
    return play(question, known, choices, Running.of(options), most_harm=harm, ways=ways)


def usable(ways: Mapping[str, Way], *, every: bool) -> list[str]:
    """Give the controllers that a host can use, or every one."""
    return [
        name
        for name in CANDIDATES
        if every or name in ALWAYS or ways.get(name, Way.NONE) is not Way.NONE
    ]


def read_path(  # noqa: PLR0913
    candidates: Sequence[str],
    observed: str | PathLike[str] | None = None,
    *,
    rate: str = "",
    rtt: str = "",
    size: str = "1TB",
    buffer: str | None = None,
    cross: str | None = None,
    loss: float | None = None,
    policer: str | None = None,
    now: str | None = None,
    buffers: str | None = None,
    mtu: int = PACKET_BYTES,
    budget: str = "5min",
    ways: Mapping[str, Way] | None = None,
) -> tuple[Question, Known, Choices]:
    """Read a path, what was measured of it, if anything, and what may be changed.

    `ways` says which candidates this host would get as eBPF ports, with the rules of these.

    Raises:
        ScenarioError: `args` are all mistakes, one line each, with the option.
    """
    of_path = None if observed is None else _seen(observed)
    if of_path is not None:
        rate, rtt = rate or _rate(of_path), rtt or f"{of_path.rtt_ms:g} ms"
    if isinstance(of_path, Shown):
        if policer is None and buffer is None:
            policer, buffer = of_path.policer, None if of_path.policer else of_path.buffer
            cross = cross or (NO_CROSS if of_path.has_all else None)
        loss = of_path.loss if loss is None else loss
    if policer is not None and buffer is not None:
        raise ScenarioError("--policer and --buffer: a path is taken to have one of them")
    controllers = [name for name in candidates if name not in KNOBS]
    with _cross_named():
        question = read_question(
            controllers or [USUAL],
            rate=rate,
            rtt=rtt,
            buffer=buffer or "1 bdp",
            size=size,
            against=None if cross == NO_CROSS else cross,
            budget=budget,
        )
    others = question.others
    known = Known(
        buffer=buffer,
        cross=0 if cross == NO_CROSS else None if others is None else others.count,
        cross_kind=USUAL if others is None else others.name,
        loss=loss,
        policer=None if policer is None else f"{size_bytes('--policer', policer)} B",
        observed=of_path,
    )
    tried = question.controllers if controllers else {}
    hosts = _hosts(of_path, now, buffers, mtu)
    caps = CAPS if policer is None else POLICED_CAPS
    return question, known, choices_of(hosts, tried, ways or {}, candidates, caps)


@contextmanager
def _cross_named() -> Iterator[None]:
    """Name the option of an advice in mistakes of a comparison."""
    try:
        yield
    except ScenarioError as error:
        mistakes = (str(mistake).replace("--against", "--cross") for mistake in error.args)
        raise ScenarioError(*mistakes) from None


def _hosts(
    of_path: Observed | Shown | None, now: str | None, buffers: str | None, mtu: int
) -> Hosts:
    """Give the hosts as they are set now: what is given, or was observed, or is usual."""
    reading = Reading(TUNED)
    transport = reading.transport("--now", now or _in_use(of_path))
    if reading.mistakes:
        raise ScenarioError(*reading.mistakes)
    return hosts_now(
        transport,
        send_bytes=send_limit_bytes(),
        receive_window_bytes=None if of_path is None else of_path.window_bytes,
        buffers_bytes=None if buffers is None else size_bytes("--buffers", buffers),
        packet_bytes=mtu,
    )


def _in_use(of_path: Observed | Shown | None) -> str:
    """Give the transport that was observed, or the usual one, as `--now` takes it."""
    if of_path is None:
        return USUAL
    controller = of_path.connections[0].controller
    name = controller if controller in CANDIDATES else USUAL
    return f"{min(len(of_path.connections), STREAMS[-1])}x{name}"


def _seen(given: str | PathLike[str]) -> Observed | Shown:
    """Read what was measured of a path: a text, or a file that `explain` reads."""
    if not isinstance(given, str):
        file = FilePath(given)
        if is_recording(file) or _core.is_capture(file):
            return shown(explain(file).connections)
        given = text_of(file)
    return shown(of_iperf3(given)) if is_iperf3(given) else read_observed(given)


def _rate(observed: Observed | Shown) -> str:
    """Give the rate that connections have shown, or nothing.

    Raises:
        ScenarioError: it is not that of the path.
    """
    if observed.limit:
        rates = f" ({of})" if (of := observed.rates_text()) else ""
        raise ScenarioError(
            f"--from: {observed.first()} The rate that was read{rates} is "
            "not that of the path: give --rate"
        )
    return f"{observed.rate_bps:.0f} bit/s" if observed.rate_bps else ""

"""Advice: which controller, and how many connections, for a transfer over a path.

What is not known of the path (buffer, competing flows, loss) is drawn from stated ranges. All
candidates run over the same settings, so that they are compared setting by setting. A first round
with short runs removes the slow candidates, a second round decides between the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path as FilePath
from typing import Unpack

from fairhaul import _core
from fairhaul.host.deployable import Way, as_port, way_of
from fairhaul.host.deployable import ways as ways_of_host
from fairhaul.jobs.values import Running, RunOptions
from fairhaul.scenario.quantities import size_bytes
from fairhaul.scenario.read import ScenarioError
from fairhaul.scenario.transport import Transport
from fairhaul.studies.advice.captured import Captured, captured
from fairhaul.studies.advice.path import USUAL, Known
from fairhaul.studies.advice.tournament import CANDIDATES, PARALLEL, Advice, play
from fairhaul.studies.comparison.question import Question, read_question
from fairhaul.studies.explanation import text_of
from fairhaul.studies.explanation.observed import Observed
from fairhaul.studies.explanation.observed import observed as read_observed

__all__ = ["Advice", "Known", "advise", "read_path"]

# How the host of a candidate paces. The commands of an advice set what its transport has.
PACING = "fq"


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
    observed: str | PathLike[str] | None = None,
    harm: float = 0.25,
    every: bool = False,
    budget: str = "5min",
    **options: Unpack[RunOptions],
) -> Advice:
    """Find a controller for a transfer over a path.

    Args:
        candidates: names such as `"cubic"` and `"4xcubic"`; by default every controller that
            this host can use, and four connections of cubic.
        rate: the rate of the bottleneck, such as `"10 Gbit/s"`.
        rtt: the two-way propagation, such as `"80 ms"`.
        size: the size of the transfer.
        buffer: the buffer of the bottleneck; half to twice of it is tried. Unknown: 0.05 to 2 bdp.
        policer: the size of the bucket of a policer of this rate, instead of a buffer.
        cross: the competing flows, such as `"4xcubic"`; half to twice as many are tried.
        loss: the probability of random loss; a third to three times of it is tried.
        observed: the output of `ss -ti` during a transfer, or the path of a file with it or of a
            packet capture; what is not given is read from it.
        harm: the part of their goodput that competing flows may lose at most, compared with what
            they have beside one cubic flow.
        every: whether controllers that this host lacks are candidates, too.
        budget: the processor time of all runs, at 2.5 million packets a second on any machine.
        options: how the runs are run, as `fairhaul.jobs.values.Running` has it.

    Raises:
        ScenarioError: `args` are all mistakes, one line each.
        RunError: a run failed.
    """
    ways = ways_of_host()
    question, known = read_path(
        list(candidates) or usable(ways, every=every),
        observed,
        rate=rate,
        rtt=rtt,
        size=size,
        buffer=buffer,
        cross=cross,
        loss=loss,
        policer=policer,
        budget=budget,
        ways=ways,
    )
    running = Running.of(options)
    if known.observed is not None:
        running.say(known.observed.text())
    return play(question, known, running, most_harm=harm, ways=ways)


def usable(ways: Mapping[str, Way], *, every: bool) -> list[str]:
    """Give the candidates: controllers that a host can use, or every one, and parallel TCP."""
    able = [name for name in CANDIDATES if every or ways.get(name, Way.NONE) is not Way.NONE]
    usual = [name for name in (USUAL,) if name not in able]
    return [*usual, *able, f"{PARALLEL}x{USUAL}"]


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
    budget: str = "5min",
    ways: Mapping[str, Way] | None = None,
) -> tuple[Question, Known]:
    """Read a path, and what was measured of it, if anything.

    Candidates that this host would get as eBPF ports have the rules of these ports: `ways` says
    which they are.

    Raises:
        ScenarioError: `args` are all mistakes, one line each, with the option.
    """
    of_path = None if observed is None else _seen(observed)
    if of_path is not None:
        rate, rtt = rate or _rate(of_path), rtt or f"{of_path.rtt_ms:g} ms"
    if isinstance(of_path, Captured):
        if policer is None and buffer is None:
            policer, buffer = of_path.policer, None if of_path.policer else of_path.buffer
        loss = of_path.loss if loss is None else loss
    if policer is not None and buffer is not None:
        raise ScenarioError("--policer and --buffer: a path is taken to have one of them")
    bucket = None if policer is None else f"{size_bytes('--policer', policer)} B"
    try:
        question = read_question(
            candidates,
            rate=rate,
            rtt=rtt,
            buffer=buffer or "1 bdp",
            size=size,
            against=cross,
            pacing=PACING,
            budget=budget,
        )
    except ScenarioError as error:
        mistakes = (str(mistake).replace("--against", "--cross") for mistake in error.args)
        raise ScenarioError(*mistakes) from None
    others = question.others
    known = Known(
        buffer=buffer,
        cross=None if others is None else others.count,
        cross_kind=USUAL if others is None else others.name,
        loss=loss,
        policer=bucket,
        observed=of_path,
    )
    controllers = {
        name: _deployed(transport, ways or {}) for name, transport in question.controllers.items()
    }
    return replace(question, controllers=controllers), known


def _seen(given: str | PathLike[str]) -> Observed | Captured:
    """Read what was measured of a path: a text, or a file with it or of a capture."""
    if isinstance(given, str):
        return read_observed(given)
    file = FilePath(given)
    if _core.is_capture(file):
        return captured(file)
    return read_observed(text_of(file))


def _rate(observed: Observed | Captured) -> str:
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


def _deployed(transport: Transport, ways: Mapping[str, Way]) -> Transport:
    """Give a candidate the rule that its controller has on the host."""
    if way_of(transport.controller, ways) is not Way.PORT:
        return transport
    return replace(transport, controller=as_port(transport.controller))

"""Advice: which controller, and how many connections, for a transfer over a path.

What is not known of the path (buffer, competing flows, loss) is drawn from stated ranges. All
candidates run over the same settings, so that they are compared setting by setting. A first round
with short runs removes the slow candidates, a second round decides between the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairhaul.host.deployable import Way, as_port, way_of
from fairhaul.scenario.quantities import size_bytes
from fairhaul.scenario.read import ScenarioError
from fairhaul.scenario.transport import Transport
from fairhaul.studies.advice.path import USUAL, Known, observed
from fairhaul.studies.advice.tournament import Advice, advise
from fairhaul.studies.comparison.question import Question, read_question

__all__ = ["Advice", "Known", "advise", "read_path"]

# How the host of a candidate paces. The commands of an advice set what its transport has.
PACING = "fq"


def read_path(  # noqa: PLR0913
    candidates: Sequence[str],
    seen: str | None = None,
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
    """Read a path, and what `ss -ti` printed of it, if anything.

    Candidates that this host would get as eBPF ports have the rules of these ports: `ways` says
    which they are.

    Raises:
        ScenarioError: `args` are all mistakes, one line each, with the option.
    """
    if seen is not None:
        of_path = observed(seen)
        rate, rtt = rate or of_path.rate or "", rtt or of_path.rtt or ""
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
            profile="linux",
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
    )
    controllers = {
        name: _deployed(transport, ways or {}) for name, transport in question.controllers.items()
    }
    return replace(question, controllers=controllers), known


def _deployed(transport: Transport, ways: Mapping[str, Way]) -> Transport:
    """Give a candidate the rule that its controller has on the host."""
    if way_of(transport.controller, ways) is not Way.PORT:
        return transport
    return replace(transport, controller=as_port(transport.controller))

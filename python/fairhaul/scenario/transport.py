"""Transports and paths, read from the words that a person types.

A controller is put alone into a small scenario and read by the reader of scenarios, so that
mistakes are reported in the same sentences and with the same nearest words, all of them at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fairhaul.scenario.listings import needed_queue
from fairhaul.scenario.profiles import TUNED, checked
from fairhaul.scenario.quantities import (
    rate_bps,
    require,
    rtt_s,
    size_bytes,
    time_s,
    with_example,
)
from fairhaul.scenario.read import Scenario, ScenarioError, read_as_typed, toml, value_of

# Standard TCP: the reference for harm.
STANDARD = "reno"

T = TypeVar("T")

MOST_CONTROLLERS, MOST_ROUND_TRIPS, MOST_OTHERS, MOST_CONNECTIONS = 32, 16, 1000, 64


Controller = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Transport:
    """What carries a transfer: a number of connections of one controller.

    `pacing` is that of its host, for a controller that does not pace itself: `"fq"`, `"quic"`, or
    None. What is simulated and the commands that are printed are both taken from here.
    """

    controller: Controller
    connections: int = 1
    profile: str = TUNED
    pacing: str | None = None

    @property
    def kind(self) -> str:
        """The name of its controller."""
        return str(self.controller["kind"])

    def keys(self) -> dict[str, object]:
        """Give the keys of a flow with this transport."""
        shared = {"connections": self.connections} if self.connections > 1 else {}
        pacing = {"pacing": self.pacing} if self.pacing else {}
        return {"controller": self.controller, "profile": self.profile, **shared, **pacing}


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A transport stack that carries a transfer at both ends, by its name or its library."""

    settings: Controller

    @property
    def kind(self) -> str:
        """Its name, or its library."""
        return str(self.settings["kind"])

    @property
    def value(self) -> str | Controller:
        """What the key `stack` of a flow has: the name alone where there are no settings."""
        return self.kind if len(self.settings) == 1 else self.settings

    def keys(self) -> dict[str, object]:
        """Give the keys of a flow with this stack."""
        return {"stack": self.value}


@dataclass(frozen=True, kw_only=True)
class Others:
    """The competing flows: a number of flows of one controller."""

    name: str
    count: int
    transport: Transport


def read_transport(
    given: str,
    profile: str = TUNED,
    *,
    place: str = "",
    queue: str = "droptail",
) -> Transport:
    """Read a transport such as `fhstcp:c=20` or `4xreno`.

    Args:
        given: the text.
        profile: that of its flows.
        place: where it is written, for messages; by default the text itself.
        queue: the kind of queue of its path.

    Raises:
        ScenarioError: it is no transport, or one that needs another queue; `args` are all mistakes.
    """
    reading = Reading(profile, queue)
    name = given.strip()
    transport = reading.transport(place or name or "CC", name)
    if reading.mistakes:
        raise ScenarioError(*reading.mistakes)
    return transport


def read_stack(given: str) -> Stack:
    """Read a transport stack: a name or a library, perhaps with settings (`quinn:controller=bbr`).

    A library is found from the folder of the caller, wherever a scenario is.

    Raises:
        ScenarioError: the text is no stack; `args` are all mistakes.
    """
    settings, mistakes = keyed(given)
    if mistakes:
        raise ScenarioError(*(f"--stack {given}: {mistake}" for mistake in mistakes))
    kind = str(settings["kind"])
    if "/" in kind or Path(kind).suffix:
        settings["kind"] = str(Path(kind).resolve())
    return Stack(settings=settings)


def keyed(text: str) -> tuple[Controller, list[str]]:
    """Read `kind` or `kind:key=value,key=value`; give its keys, and what is wrong with the text."""
    kind, colon, rest = text.partition(":")
    found: Controller = {"kind": kind.strip()}
    mistakes = []
    for pair in _pairs(rest) if colon else ():
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            mistakes.append(f"{pair.strip()!r} does not have the form key=value")
        elif key.strip() in found:
            mistakes.append(f"{pair.strip()!r} is given twice")
        else:
            found[key.strip()] = value_of(value.strip())
    return found, mistakes


class Reading:
    """Reads the parts of a question, and collects mistakes."""

    def __init__(self, profile: str, queue: str = "droptail") -> None:
        """Read for flows of that profile, over a queue of that kind."""
        self.mistakes: list[str] = []
        self._profile = profile
        self._queue = queue
        self._collect(partial(checked, profile, "--profile"))

    def rate(self, given: str) -> int | None:
        """Read the rate of the bottleneck, bit/s."""
        return self._collect(partial(rate_bps, "--rate", given))

    def buffer(self, given: str, rate: str | None) -> None:
        """Check the buffer of the bottleneck, which has that rate if it is known."""
        self._collect(partial(_check_buffer, "--buffer", given, rate))

    def controllers(self, given: Sequence[str]) -> dict[str, Transport]:
        """Read controllers, or parallel connections of them; no two may be the same."""
        transports: dict[str, Transport] = {}
        for text in given:
            name = text.strip()
            if name in transports:
                self.mistakes.append(f"{name}: is given twice")
            transports[name] = self.transport(name or "CC", name)
        if not 1 <= len(transports) <= MOST_CONTROLLERS:
            self.mistakes.append(f"CC: give from 1 to {MOST_CONTROLLERS} controllers")
        return transports

    def stacks(self, given: Sequence[str]) -> dict[str, Stack]:
        """Read transport stacks, as `quinn:controller=bbr`; no two may be the same."""
        found: dict[str, Stack] = {}
        for text in given:
            name = text.strip()
            stack = self._collect(partial(read_stack, name))
            if name in found:
                self.mistakes.append(f"--stack {name}: is given twice")
            elif stack is not None:
                found[name] = stack
                self._read(f"--stack {name}", "flow.F1.stack", toml(stack.value))
        return found

    def rtts(self, given: Sequence[str]) -> list[float]:
        """Read round-trip times, s."""
        if not 1 <= len(given) <= MOST_ROUND_TRIPS:
            self.mistakes.append(f"--rtt: give from 1 to {MOST_ROUND_TRIPS} round-trip times")
            return []
        rtts = []
        for text in given:
            if ".." in text:
                self.mistakes.append(
                    f"--rtt {text}: give single times, separated by commas, instead of a range"
                )
            else:
                rtts.append(self._collect(partial(rtt_s, "--rtt", text)))
        return [rtt for rtt in rtts if rtt is not None]

    def pacing(self, given: str) -> str | None:
        """Read how hosts pace; None if they do not."""
        scenario = self._read(f"--pacing {given}", "flow.F1.pacing", toml(given))
        return scenario.described["flows"][0].get("pacing") if scenario else None

    def time(self, option: str, given: str) -> float:
        """Read a time, s; 0 for a mistake."""
        return self._collect(partial(time_s, option, given)) or 0.0

    def size(self, option: str, given: str) -> int:
        """Read the size of a transfer, bytes; 0 for a mistake."""
        return self._collect(partial(size_bytes, option, given)) or 0

    def others(self, given: str) -> Others | None:
        """Read competing flows such as `4xreno`."""
        count, name = _times(given)
        if not name:
            self.mistakes.append(f"--against {given}: give flows such as 4x{STANDARD}")
            return None
        if not 1 <= count <= MOST_OTHERS:
            self.mistakes.append(f"--against {given}: give from 1 to {MOST_OTHERS} flows")
        transport = self.transport(f"--against {given}", name)
        return Others(name=name, count=count, transport=transport)

    def transport(self, place: str, text: str) -> Transport:
        """Read a controller, or `4x` in front of it: a transfer over four connections of it."""
        connections, rest = _times(text)
        if not 1 <= connections <= MOST_CONNECTIONS:
            self.mistakes.append(f"{place}: give from 1 to {MOST_CONNECTIONS} connections")
        controller = self._controller(place, rest)
        return Transport(controller=controller, connections=connections, profile=self._profile)

    def _controller(self, place: str, text: str) -> Controller:
        """Read `kind` or `kind:key=value,key=value`."""
        controller, wrong = keyed(text)
        if "," in controller["kind"]:
            apart = " ".join(part.strip() for part in controller["kind"].split(","))
            self.mistakes.append(f"{place}: separate controllers by spaces: {apart}")
            return controller
        self.mistakes += [f"{place}: {mistake}" for mistake in wrong]
        needed = needed_queue(str(controller["kind"]))
        if needed and not self._queue.startswith(needed):
            self.mistakes.append(
                f'{place}: "{needed}" needs routers that assign its rate, and no path of this '
                f"command has their queue; write a scenario with queue = "
                f'{{ kind = "{needed}", capacity = "1 bdp" }}, for fairhaul run'
            )
        else:
            self._read(place, "flow.F1.controller", toml(controller))
        return controller

    def _read(self, place: str, key: str, value: str) -> Scenario | None:
        try:
            return with_key(key, value, self._queue)
        except ScenarioError as error:
            self.mistakes += [f"{place}: {reason}" for reason in error.args]
            return None

    def _collect(self, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except ScenarioError as error:
            self.mistakes += error.args
            return None


def _check_buffer(option: str, given: str, rate: str | None) -> None:
    require(option, given)
    link = {"rate": rate} if rate else {}
    try:
        with_key("bottleneck.queue.capacity", toml(given), link=link)
    except ScenarioError as error:
        mistakes = (f"{option} {given}: {with_example(option, reason)}" for reason in error.args)
        raise ScenarioError(*mistakes) from None


def with_key(
    key: str, value: str, queue: str = "droptail", link: Mapping[str, str] | None = None
) -> Scenario:
    """Read a small scenario with a value at a key; mistakes do not name the key."""
    scenario = {
        "duration": "1 s",
        "bottleneck": {
            "rate": "1 Gbit/s",
            "delay": "0 s",
            "queue": {"kind": queue, "capacity": "1 bdp"},
            **(link or {}),
        },
        "flow": [{"name": "F1", "rtt": "100 ms", "controller": STANDARD}],
    }
    try:
        (read,) = read_as_typed(scenario, [(key, value)])
    except ScenarioError as error:
        before = f"--set {key}={value}: "
        texts = (
            text.removeprefix(before) if text.startswith(before) else text.partition(": ")[2]
            for text in error.args
        )
        name = key.rpartition(".")[2]
        raise ScenarioError(*(text.removeprefix(f"{name}: ") for text in texts)) from None
    return read


def _pairs(text: str) -> list[str]:
    """Split at commas that are not in parentheses, as those of the formulas of `law`."""
    parts = [""]
    for character in text:
        if character == "," and parts[-1].count("(") <= parts[-1].count(")"):
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _times(text: str) -> tuple[int, str]:
    """Split `4xreno` into 4 and `reno`; the number is 1 if there is none."""
    parts = re.fullmatch(r"(?:(\d+)\s*[x*])?\s*(.*)", text.strip())
    return (int(parts[1] or 1), parts[2]) if parts else (1, text)


def controller_of(transport: str) -> str:
    """Give the controller of a transport such as `4xreno`, with its parameters."""
    return _times(transport)[1]

"""The box: the ranges of paths, rivals and starts in which a search looks for the worst place.

A point of the box is a list of numbers from 0 to 1, one for each range; `Box.place` turns it into
quantities. They are rounded, so that neighbouring points are often the same place and cost nothing.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from fairhaul import _core
from fairhaul.scenario.read import ScenarioError, toml
from fairhaul.scenario.transport import keyed, with_key
from fairhaul.studies.attack.impairments import NONE
from fairhaul.studies.attack.place import DECLARED, IMPAIRMENTS, SELF, Place
from fairhaul.text.nearest import hint

# What a range from 0 on a scale of logarithms covers: this part of it is 0, the rest four decades.
NOTHING, DECADES = 0.25, 4.0


@dataclass(frozen=True, kw_only=True)
class Range:
    """The ends of a range, and how the numbers from 0 to 1 are spread over it.

    `scale` is `"whole"`, `"linear"` or `"log"`; on a linear scale values have `decimals`, and
    otherwise three digits.
    """

    low: float
    high: float
    scale: str
    decimals: int | None = None

    @property
    def is_fixed(self) -> bool:
        """Whether it has only one value."""
        return self.low == self.high

    def value(self, part: float) -> float:
        """Give the value at a part of the range, rounded."""
        part = min(max(part, 0.0), 1.0)
        if self.scale == "whole":
            return min(self.low + math.floor(part * (self.high - self.low + 1)), self.high)
        if self.scale == "linear":
            value = self.low + part * (self.high - self.low)
            three = self.decimals is None
            return self.within(float(f"{value:.3g}")) if three else round(value, self.decimals)
        low = self.low
        if low == 0:
            if part < NOTHING or self.high == 0:
                return 0.0
            low, part = self.high / 10**DECADES, (part - NOTHING) / (1 - NOTHING)
        return self.within(float(f"{low * (self.high / low) ** part:.3g}"))

    def within(self, value: float) -> float:
        """Give the nearest value of the range."""
        return min(max(value, self.low), self.high)

    def holds(self, value: float) -> bool:
        """Whether a value is in the range."""
        return self.low <= value <= self.high

    def place(self, value: float, parts: int) -> int:
        """Give in which of `parts` equal parts of the range a value is, from 0."""
        if self.is_fixed or parts < 2:
            return 0
        if self.scale == "log" and self.low > 0:
            part = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return min(max(int(part * parts), 0), parts - 1)

    def text(self, unit: str = "") -> str:
        """Write the range."""
        ends = f"{self.low:g}" if self.is_fixed else f"{self.low:g} to {self.high:g}"
        return f"{ends} {unit}".strip()


class Choice(tuple[str, ...]):
    """Alternatives, of which each has as much of the numbers from 0 to 1."""

    __slots__ = ()

    @property
    def is_fixed(self) -> bool:
        """Whether there is only one."""
        return len(self) == 1

    def value(self, part: float) -> str:
        """Give the alternative at a part of the numbers."""
        return self[min(int(min(max(part, 0.0), 1.0) * len(self)), len(self) - 1)]

    def holds(self, value: str) -> bool:
        """Whether it has that alternative."""
        return value in self


@dataclass(frozen=True, kw_only=True)
class Box:
    """The ranges, and the lists to choose from; `docs/attack.md` describes each key."""

    rate: Range
    rtt: Range
    buffer: Range
    loss: Range
    dip: Range
    flows: Range
    rivals: Range
    rivals_rtt: Range
    rivals_start: Range
    size: Range
    strength: Range
    queue: Choice
    rival: Choice
    impairment: Choice
    offload: Choice
    ecn: Choice
    buffers: Choice
    round_trips: float
    least_s: float

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the ranges and lists that have more than one value."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return tuple(
            name for name, of in given.items() if isinstance(of, Range | Choice) and not of.is_fixed
        )

    def place(self, point: Sequence[float]) -> Place:
        """Give the place at a point."""
        parts = dict(zip(self.names, point, strict=True))

        def at(name: str) -> Any:
            return getattr(self, name).value(parts.get(name, 0.0))

        rivals, impairment = int(at("rivals")), at("impairment")
        sets_traffic = impairment != NONE and IMPAIRMENTS[impairment].sets_traffic
        is_fast = at("rate") >= OFFLOAD_FROM_MBPS and "on" in self.offload
        return Place(
            rate_mbps=at("rate"),
            rtt_ms=at("rtt"),
            buffer_bdp=at("buffer"),
            loss=at("loss"),
            dip=at("dip"),
            queue=at("queue"),
            flows=int(at("flows")),
            rivals=rivals,
            # What no flow has makes no difference.
            rival=at("rival") if rivals else self.rival[0],
            rivals_rtt=at("rivals_rtt") if rivals else 1.0,
            rivals_start=at("rivals_start") if rivals else 0.0,
            round_trips=self.round_trips,
            least_s=self.least_s,
            size_bdp=0.0 if sets_traffic else at("size"),
            impairment=impairment,
            strength=at("strength") if impairment != NONE else 0.0,
            offload="on" if is_fast else at("offload"),
            ecn=at("ecn"),
            buffers=at("buffers"),
        )

    @property
    def bdp(self) -> Range:
        """The bandwidth-delay products of the box, packets."""
        ends = (self.rate.low * self.rtt.low / 12, self.rate.high * self.rtt.high / 12)
        return Range(low=ends[0], high=ends[1], scale="log")

    def text(self) -> str:
        """Describe the box in a sentence."""
        kinds = f" ({', '.join(self.rival)})" if self.rivals.high > 0 else ""
        parts = [
            f"rates of {self.rate.text('Mbit/s')}",
            f"round-trip times of {self.rtt.text('ms')}",
            f"buffers of {self.buffer.text('BDP')}",
            f"random loss of {self.loss.text()}",
            f"attacked flows: {self.flows.text()}",
            f"rivals: {self.rivals.text()}{kinds}",
        ]
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Give the box as it is printed in JSON."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: [value.low, value.high] if isinstance(value, Range) else value
            for name, value in given.items()
        }


@dataclass(frozen=True, kw_only=True)
class Key:
    """How a range of the box is read: its default scale, its unit, and what its values may be."""

    scale: str
    low: float
    high: float
    unit: str = ""
    decimals: int | None = None


LISTS = {
    "queue": (),
    "rival": (),
    "impairment": (NONE, *IMPAIRMENTS),
    "offload": ("on", "off"),
    "ecn": ("off", "on"),
    "buffers": ("large", "auto"),
}
"""The lists of alternatives, with the words of which they are; any other text is checked."""
# From this rate on, hosts without offload would cost a kernel too much.
OFFLOAD_FROM_MBPS = 200.0
ROUND_TRIPS = (20.0, 100_000.0)

RANGES = {name: Key(**keys) for name, keys in DECLARED["range"].items()}


def read_box(given: Mapping[str, Any], place: str) -> Box:
    """Read a box; `place` is where it was written, in messages.

    Raises:
        ScenarioError: `args` are all mistakes.
    """
    mistakes = [
        f"{place}: unknown key {key!r}; {hint(key, DECLARED['box'])}"
        for key in given
        if key not in DECLARED["box"]
    ]
    found: dict[str, Any] = {}
    readers = {**dict.fromkeys(RANGES, _range), **dict.fromkeys(LISTS, _list)}
    for key, default in DECLARED["box"].items():
        value = given.get(key, default)
        try:
            found[key] = readers.get(key, _number)(key, value)
        except ScenarioError as error:
            mistakes += [f"{place}: {key}: {mistake}" for mistake in error.args]
    if mistakes:
        raise ScenarioError(*mistakes)
    return Box(least_s=found.pop("least_duration"), **found)


def read_file(file: Path, defaults: Mapping[str, Any]) -> Box:
    """Read the TOML file of a box; keys that it lacks have the values of `defaults`.

    Raises:
        ScenarioError: it cannot be read, or has mistakes.
    """
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"{file}: {(error.strerror or str(error)).lower()}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{file}: is not a TOML file: {error}") from None
    return read_box({**defaults, **given}, str(file))


def with_queue(box: Box, given: str) -> Box:
    """Fix the queue of a box to `KIND` or `KIND:key=value,key=value`."""
    queue, wrong = keyed(given)
    try:
        if wrong:
            raise ScenarioError(*wrong)
        return replace(box, queue=Choice([_queue(queue)]))
    except ScenarioError as error:
        mistakes = (f"--queue {given}: {mistake}" for mistake in error.args)
        raise ScenarioError(*mistakes) from None


def _range(key: str, given: Any) -> Range:
    if isinstance(given, list):
        raise ScenarioError(
            f"wanted a value, or a range {{ from = …, to = … }}, instead of a list: {toml(given)}"
        )
    first, last, scale = _core.range_ends(toml(given))
    low, high = (_value(key, tomllib.loads(f"end = {end}")["end"]) for end in (first, last))
    of = RANGES[key]
    for number in (low, high):
        if of.scale == "whole" and number != int(number):
            raise ScenarioError(f"wanted whole numbers: {toml(given)}")
        if not of.low <= number <= of.high:
            span = f"{of.low:g} to {of.high:g} {of.unit}".strip()
            raise ScenarioError(f"wanted values from {span}: {toml(given)}")
    if low > high:
        raise ScenarioError(f"the smaller end comes first: {toml(given)}")
    if scale is None or of.scale == "whole":
        scale = of.scale
    return Range(low=low, high=high, scale=scale, decimals=of.decimals)


def _value(key: str, given: Any) -> float:
    """Read a value of a key, in the unit of its range."""
    if key == "rate":
        return float(f"{_core.quantity('rate', str(given)) / 1e6:.6g}")
    if key == "rtt":
        return float(f"{_core.quantity('rtt', str(given)) * 1e3:.6g}")
    if key == "least_duration":
        return float(f"{_core.quantity('time', str(given)):.6g}")
    if key in {"buffer", "size"} and given != 0:
        number, unit = _core.number_and_unit(str(given)) or (0.0, "")
        if unit != "bdp":
            raise ScenarioError(f'wanted bandwidth-delay products such as "0.5 bdp": {toml(given)}')
        return number
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ScenarioError(f"wanted a number: {toml(given)}")
    return float(given)


def _queue(given: Any) -> str:
    """Read a queue without its capacity; give it as TOML."""
    if not isinstance(given, str | dict) or (isinstance(given, dict) and "kind" not in given):
        raise ScenarioError(f'wanted "droptail" or {{ kind = "red" }}: {toml(given)}')
    queue = {"kind": given} if isinstance(given, str) else dict(given)
    if "capacity" in queue:
        raise ScenarioError("capacity belongs to `buffer`")
    sized = toml({**queue, "capacity": "100 packets"})
    with_key("bottleneck.queue", sized, link={"rate": "10 Mbit/s"})
    return toml(queue)


def _list(key: str, given: Any) -> Choice:
    if isinstance(given, list):
        raise ScenarioError(f"write {{ any = {toml(given)} }} for alternatives")
    is_several = isinstance(given, Mapping) and list(given) == ["any"]
    items = given["any"] if is_several else [given]
    if not isinstance(items, list) or not items:
        raise ScenarioError("the list of alternatives is empty, or no list")
    if key == "queue":
        return Choice(_queue(item) for item in items)
    for item in items:
        if LISTS[key] and item not in LISTS[key]:
            raise ScenarioError(f"unknown word {toml(item)}; {hint(str(item), LISTS[key])}")
    if not all(isinstance(item, str) for item in items):
        raise ScenarioError(f'wanted controllers such as "cubic", or "{SELF}": {toml(given)}')
    return Choice(items)


def _number(key: str, given: Any) -> float:
    number = _value(key, given)
    low, high = ROUND_TRIPS
    if key == "round_trips" and not low <= number <= high:
        raise ScenarioError(f"wanted {low:g} to {high:g}: {toml(given)}")
    return number

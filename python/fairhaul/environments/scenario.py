"""The scenario of an episode: the flows that agents drive, and what is drawn for each episode."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairhaul import _core
from fairhaul.scenario import own
from fairhaul.scenario.read import Scenario, ScenarioError, Settings, Source, read_one, toml
from fairhaul.text.nearest import hint

# The name of the controller of the flows that agents drive.
AGENT = "agent"
# How many settings are drawn at a time, by a Latin hypercube; an episode takes one of them.
DRAWN = 256

USUAL: Mapping[str, Any] = {
    "title": "One sender over 10 Mbit/s",
    "duration": "30 s",
    "packet": "1500 B",
    "bottleneck": {
        "rate": "10 Mbit/s",
        "delay": "5 ms",
        "queue": {"kind": "droptail", "capacity": "1 bdp"},
    },
    "flow": [{"name": "agent", "rtt": "40 ms", "controller": "reno"}],
}

PAIR: Mapping[str, Any] = {
    **USUAL,
    "title": "Two senders over 10 Mbit/s",
    "flow": [
        {"name": "first", "rtt": "40 ms", "controller": "reno"},
        {"name": "second", "rtt": "40 ms", "controller": "reno", "start": "5 s"},
    ],
}


@dataclass(frozen=True)
class Sender:
    """A flow that an agent drives: its index, and the rate of its path, packets/s."""

    index: int
    link: float


class Episodes:
    """Makes the scenarios of episodes."""

    def __init__(
        self,
        source: Source | None,
        flows: Sequence[str] | None,
        draw: Mapping[str, object] | None,
        *,
        every_flow: bool = False,
    ) -> None:
        """Read a scenario.

        Args:
            source: what `fairhaul.run` takes; by default one sender over 10 Mbit/s and 40 ms.
            flows: the names of the flows that agents drive; by default the only flow, or all.
            draw: keys of the scenario with what to draw for each episode, as in `[sweep]`.
            every_flow: whether agents may drive several flows.

        Raises:
            ScenarioError: the scenario, a flow or a range is wrong.
        """
        self._source = dict(USUAL) if source is None else source
        self._draw = dict(draw or {})
        self._settings = self._drawn()
        plain = read_one(self._source)
        names = [flow["name"] for flow in plain.described["flows"]]
        if flows is None and len(names) > 1 and not every_flow:
            raise ScenarioError(f"several flows: say which one is the agent's: {', '.join(names)}")
        self.flows = tuple(names if flows is None else flows)
        for flow in self.flows:
            if flow not in names:
                raise ScenarioError(f"unknown flow {flow!r}; {hint(flow, names)}")
        # A mistake in what is drawn is found at once.
        self.make(0, self._settings[0] if self._settings else {})

    def _drawn(self) -> list[Settings]:
        if not self._draw:
            return []
        ranges = {
            key: value if isinstance(value, Mapping) else {"any": value}
            for key, value in self._draw.items()
        }
        lines = [f"{toml(key)} = {toml(value)}\n" for key, value in ranges.items()]
        rows = _core.drawn(f"points = {DRAWN}\n" + "".join(lines), "draw")
        return [{key: tomllib.loads(f"x = {value}")["x"] for key, value in row} for row in rows]

    def next(self, random: np.random.Generator, options: Mapping[str, Any] | None) -> Scenario:
        """Draw the scenario of an episode; `options["set"]` has keys with other values."""
        settings = dict(self._settings[int(random.integers(DRAWN))]) if self._settings else {}
        settings.update((options or {}).get("set") or {})
        return self.make(int(random.integers(1 << 32)), settings)

    def make(self, seed: int, settings: Settings) -> Scenario:
        """Give the scenario with these settings, and agents instead of its controllers."""
        agents: dict[str, object] = {f"flow.{flow}.controller": AGENT for flow in self.flows}
        # No slow start: the agent decides from the initial window on.
        agents |= {f"flow.{flow}.initial_ssthresh": 1 for flow in self.flows}
        with own.driven(AGENT):
            return read_one(self._source, {**settings, **agents}).with_seed(seed)

    def senders(self, scenario: Scenario) -> list[Sender]:
        """Describe the flows that agents drive, in their order."""
        described = scenario.described
        names = [flow["name"] for flow in described["flows"]]
        found = []
        for name in self.flows:
            flow = described["flows"][names.index(name)]
            links = [described["links"][hop["link"]] for hop in flow["forward"] if "link" in hop]
            slowest = min(link["rate_bps"] for link in links)
            rate = slowest / (8 * flow["packet_bytes"])
            found.append(Sender(names.index(name), rate))
        return found

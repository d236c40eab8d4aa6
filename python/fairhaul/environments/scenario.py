"""The scenario of an episode: the flows that agents drive, and what is drawn for each episode."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairhaul import _core
from fairhaul.environments import rewards
from fairhaul.environments.episode import Act, Episode, Sender, check_arguments
from fairhaul.environments.observation import History, Step
from fairhaul.environments.rewards import Reward
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
    "profile": "plain",
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


class Episodes:
    """Makes episodes of a scenario, and computes the rewards of its agents."""

    def __init__(  # noqa: PLR0913 - one argument for each choice
        self,
        source: Source | None,
        flows: Sequence[str] | None,
        draw: Mapping[str, object] | None,
        act: Act,
        reward: str | Reward,
        every: float | None,
        history: int,
        *,
        every_flow: bool = False,
    ) -> None:
        """Read a scenario; the arguments are those of `SenderEnv`, of one flow or several.

        `every_flow`: agents may drive several flows, and drive all if `flows` names none.
        """
        check_arguments(act, every, history)
        self._act, self._every_s, self._length = act, every, history
        self.reward = rewards.reward(reward)
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

    def begin(
        self, random: np.random.Generator, options: Mapping[str, Any] | None
    ) -> tuple[Episode, list[Step], list[History]]:
        """Draw an episode, and begin it: its first steps, and the histories of its agents.

        `options["set"]` has keys of the scenario with other values.
        """
        settings = dict(self._settings[int(random.integers(DRAWN))]) if self._settings else {}
        settings.update((options or {}).get("set") or {})
        scenario = self.make(int(random.integers(1 << 32)), settings)
        episode = Episode(scenario, self._senders(scenario), self._act, self._every_s)
        return episode, episode.begin(), [History(self._length) for _ in self.flows]

    def make(self, seed: int, settings: Settings) -> Scenario:
        """Give the scenario with these settings, and agents instead of its controllers."""
        agents: dict[str, object] = {f"flow.{flow}.controller": AGENT for flow in self.flows}
        # No slow start: the agent decides from the initial window on.
        agents |= {f"flow.{flow}.initial_ssthresh": 1 for flow in self.flows}
        with own.driven(AGENT):
            return read_one(self._source, {**settings, **agents}).with_seed(seed)

    def _senders(self, scenario: Scenario) -> list[Sender]:
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

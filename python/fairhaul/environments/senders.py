"""Several senders of one run, each with an agent, as an environment of PettingZoo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from pettingzoo import ParallelEnv  # type: ignore[import-untyped]

from fairhaul.environments.episode import Act, Episode, numbers
from fairhaul.environments.observation import History, Step, information
from fairhaul.environments.rewards import Reward
from fairhaul.environments.scenario import PAIR, Episodes
from fairhaul.environments.sender import actions, observations
from fairhaul.scenario.read import Source

Array = NDArray[np.float32]


class SendersEnv(ParallelEnv):  # type: ignore[misc]
    """The senders of several flows of one run; they decide together, once per longest round trip.

    The agents have the names of their flows. Actions and observations are those of `SenderEnv`.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "fairhaul_senders", "render_modes": []}

    def __init__(
        self,
        scenario: Source | None = None,
        *,
        flows: Sequence[str] | None = None,
        draw: Mapping[str, object] | None = None,
        act: Act = "window",
        reward: str | Reward = "power",
        every: float | None = None,
        history: int = 4,
    ) -> None:
        """Read the scenario; nothing runs yet. `SenderEnv` has the other arguments and the errors.

        By default `scenario` has two senders over 10 Mbit/s and 40 ms, the second from 5 s on, and
        agents drive all `flows`. The reward of each sender is computed from its own step.
        """
        source = PAIR if scenario is None else scenario
        self._episodes = Episodes(source, flows, draw, act, reward, every, history, every_flow=True)
        self._random = np.random.default_rng()
        self._episode: Episode | None = None
        self._histories: dict[str, History] = {}
        self.possible_agents = list(self._episodes.flows)
        self.agents: list[str] = []
        self.observation_spaces = dict.fromkeys(self.possible_agents, observations(history))
        self.action_spaces = dict.fromkeys(self.possible_agents, actions())

    def observation_space(self, agent: str) -> spaces.Box[np.float32]:
        """Give the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Box[np.float32]:
        """Give the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Begin an episode; `options["set"]` has keys of the scenario with values for it."""
        if seed is not None:
            self._random = np.random.Generator(np.random.PCG64(seed))
        self._episode, begun, histories = self._episodes.begin(self._random, options)
        self.agents = list(self.possible_agents)
        self._histories = dict(zip(self.agents, histories, strict=True))
        steps = dict(zip(self.agents, begun, strict=True))
        return self._rows(steps), {agent: information(step) for agent, step in steps.items()}

    def _rows(self, steps: Mapping[str, Step]) -> dict[str, Array]:
        return {agent: self._histories[agent].add(step) for agent, step in steps.items()}

    def step(
        self, actions: dict[str, Array]
    ) -> tuple[
        dict[str, Array],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Decide for each agent, and run until the next decision.

        Raises:
            RuntimeError: no episode has begun.
            ValueError: an agent has no action, or one that is not one finite number.
            RunError: the run failed.
        """
        if self._episode is None:
            raise RuntimeError("call reset() before step()")
        if missing := [agent for agent in self.agents if agent not in actions]:
            raise ValueError(f"no action for {', '.join(missing)}")
        chosen = [numbers(actions[agent], 1)[0] for agent in self.agents]
        steps = dict(zip(self.agents, self._episode.step(chosen), strict=True))
        over = self._episode.is_over
        result = (
            self._rows(steps),
            {agent: float(self._episodes.reward(step)) for agent, step in steps.items()},
            dict.fromkeys(steps, False),
            dict.fromkeys(steps, over),
            {agent: information(step) for agent, step in steps.items()},
        )
        if over:
            self.agents = []
        return result

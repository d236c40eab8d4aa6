"""One sender as an environment of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from fairhaul.environments.episode import Act, Episode, numbers
from fairhaul.environments.observation import HIGH, LOW, NAMES, History, information
from fairhaul.environments.rewards import Reward
from fairhaul.environments.scenario import Episodes
from fairhaul.scenario.read import Source

Observation = NDArray[np.float32]


def observations(history: int) -> spaces.Box[np.float32]:
    """Give the space of the last observations of a sender."""
    return spaces.Box(LOW, HIGH, (history * len(NAMES),), np.float32)


def actions() -> spaces.Box[np.float32]:
    """Give the space of actions: powers of two, by which the window or the rate is multiplied."""
    return spaces.Box(-1.0, 1.0, (1,), np.float32)


class SenderEnv(gymnasium.Env[Observation, NDArray[np.float32]]):
    """One sender of a run, which is paused for each decision.

    An action a from -1 to 1 multiplies the window, or the pacing rate, by 2^a. An observation has
    the ratios of `NAMES` for the last decisions, oldest first.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(
        self,
        scenario: Source | None = None,
        *,
        flow: str | None = None,
        draw: Mapping[str, object] | None = None,
        act: Act = "window",
        reward: str | Reward = "power",
        every: float | None = None,
        history: int = 4,
    ) -> None:
        """Read the scenario; nothing runs yet.

        Args:
            scenario: what `fairhaul.run` takes; by default one sender over 10 Mbit/s and 40 ms.
            flow: the flow that the agent drives; by default the only one.
            draw: keys of the scenario with what to draw for each episode, as in `[sweep]`:
                `{"bottleneck.rate": {"from": "5 Mbit/s", "to": "50 Mbit/s", "scale": "log"}}`.
            act: whether the actions multiply the "window" or the pacing "rate".
            reward: a name (power, used, log, vivace), or a function of a `Step`.
            every: seconds between decisions; by default a smoothed round-trip time.
            history: the number of observations that are given together.

        Raises:
            ScenarioError: an argument is wrong; `args` are all mistakes of the scenario.
        """
        flows = None if flow is None else [flow]
        self._episodes = Episodes(scenario, flows, draw, act, reward, every, history)
        self._episode: Episode | None = None
        self._history = History(history)
        self.observation_space = observations(history)
        self.action_space = actions()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; `options["set"]` has keys of the scenario with values for it.

        Raises:
            ScenarioError: an option is wrong.
        """
        super().reset(seed=seed)
        self._episode, (step,), (self._history,) = self._episodes.begin(self.np_random, options)
        return self._history.add(step), information(step)

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Decide, and run until the next decision; the end of the run truncates the episode.

        Raises:
            ResetNeeded: no episode has begun.
            ValueError: the action is not one finite number.
            RunError: the run failed.
        """
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        (step,) = self._episode.step(numbers(action, 1))
        done = not step.open
        observation = self._history.add(step)
        truncated = self._episode.is_over
        return observation, float(self._episodes.reward(step)), done, truncated, information(step)

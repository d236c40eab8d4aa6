"""Many senders, each in a run of its own, as one environment of Gymnasium, stepped in threads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from fairhaul import _core
from fairhaul.environments.episode import Act, Episode, is_count, numbers
from fairhaul.environments.observation import History, Step, information
from fairhaul.environments.rewards import Reward
from fairhaul.environments.scenario import Episodes
from fairhaul.environments.sender import actions, observations
from fairhaul.scenario.read import ScenarioError, Source

Array = NDArray[Any]
MOST_RUNS, MOST_THREADS = 1_000_000, 4096


class SenderVectorEnv(VectorEnv[Array, Array, Array]):
    """As many runs as wanted, with one sender each. All take the same arguments as `SenderEnv`.

    Run number i with the seed s is the one of a `SenderEnv` with the seed s + i, to the last bit,
    whatever the number of threads. An episode that has ended begins again with the next step, whose
    action is ignored for it.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "autoreset_mode": AutoresetMode.NEXT_STEP
    }

    def __init__(  # noqa: PLR0913 - one argument for each choice
        self,
        runs: int,
        scenario: Source | None = None,
        *,
        flow: str | None = None,
        draw: Mapping[str, object] | None = None,
        act: Act = "window",
        reward: str | Reward = "power",
        every: float | None = None,
        history: int = 4,
        threads: int | None = None,
    ) -> None:
        """Read the scenario; nothing runs yet. `threads` is by default one per core.

        Raises:
            ScenarioError: an argument is wrong.
        """
        if not is_count(runs, MOST_RUNS):
            raise ScenarioError(f"runs = {runs!r}; wanted a whole number from 1 to {MOST_RUNS}")
        if threads is not None and not is_count(threads, MOST_THREADS):
            raise ScenarioError(
                f"threads = {threads!r}; wanted a whole number from 1 to {MOST_THREADS}"
            )
        flows = None if flow is None else [flow]
        self._episodes = Episodes(scenario, flows, draw, act, reward, every, history)
        self._threads = threads or os.cpu_count() or 1
        self.num_envs = runs
        self.single_observation_space, self.single_action_space = observations(history), actions()
        self.observation_space = batch_space(self.single_observation_space, runs)
        self.action_space = batch_space(self.single_action_space, runs)
        self._randoms: list[np.random.Generator] = []
        self._runs: list[Episode] = []
        self._histories: list[History] = []
        self._ended = np.zeros(runs, dtype=np.bool_)

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode in each run; `options["set"]` has keys of the scenario."""
        if isinstance(seed, int):
            seed = [seed + index for index in range(self.num_envs)]
        if seed is not None or not self._randoms:
            seeds = seed or [None] * self.num_envs
            self._randoms = [np.random.Generator(np.random.PCG64(of)) for of in seeds]
        self._runs, self._histories = [], []
        begun = [self._episodes.begin(random, options) for random in self._randoms]
        self._runs = [episode for episode, _, _ in begun]
        self._histories = [history for _, _, (history,) in begun]
        self._ended[:] = False
        steps = [step for _, (step,), _ in begun]
        return self._rows(steps), _together(steps)

    def _rows(self, steps: Sequence[Step]) -> Array:
        return np.stack(
            [history.add(step) for history, step in zip(self._histories, steps, strict=True)]
        )

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Decide in each run, and run all until their next decisions.

        Raises:
            ResetNeeded: no episode has begun.
            ValueError: there is not one finite number for each run.
            RunError: a run failed.
        """
        if not self._runs:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        chosen = numbers(actions, self.num_envs)
        going = [index for index in range(self.num_envs) if not self._ended[index]]
        steps = self._advance(going, chosen)
        gained = np.zeros(self.num_envs)
        done = np.zeros(self.num_envs, dtype=np.bool_)
        over = np.zeros(self.num_envs, dtype=np.bool_)
        for index, episode in enumerate(self._runs):
            if index in steps:
                gained[index] = self._episodes.reward(steps[index])
                done[index], over[index] = not steps[index].open, episode.is_over
            else:
                begun = self._episodes.begin(self._randoms[index], None)
                self._runs[index], (steps[index],), (self._histories[index],) = begun
        self._ended = done | over
        found = [steps[index] for index in range(self.num_envs)]
        return self._rows(found), gained, done, over, _together(found)

    def _advance(self, going: Sequence[int], actions: Sequence[float]) -> dict[int, Step]:
        """Run these runs until their next decisions, in threads."""
        runs = [self._runs[index] for index in going]
        decisions = [
            run.decisions([actions[index]]) for run, index in zip(runs, going, strict=True)
        ]
        observed = _core.step_agents(
            [run.engine for run in runs],
            decisions,
            [run.until_s() for run in runs],
            self._threads,
        )
        return {
            index: run.taken(values)[0]
            for index, run, values in zip(going, runs, observed, strict=True)
        }


def _together(steps: Sequence[Step]) -> dict[str, Any]:
    """Give the information of all runs as arrays, by name."""
    each = [information(step) for step in steps]
    return {name: np.array([of[name] for of in each]) for name in each[0]}

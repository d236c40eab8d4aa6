"""One episode: a run that is paused for each decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Literal, SupportsFloat, SupportsIndex, TypeGuard

import numpy as np

from fairhaul import _core
from fairhaul.environments.observation import Before, Step
from fairhaul.scenario.memory import per_run
from fairhaul.scenario.read import Scenario, ScenarioError

Act = Literal["window", "rate"]

# The window that an agent may have: from two packets to so many of the path's.
LEAST_WINDOW, MOST_BDP = 2.0, 16.0
# With a rate, the window lets so many round trips of it be in flight.
ROUNDS_IN_FLIGHT = 2.0
# Between decisions, without a round-trip time to wait for; and at most.
LEAST_S, MOST_S = 1e-3, 1e9
# Observations that are given together.
MOST_HISTORY = 10_000

# Of a flow: its index, window and pacing rate; see `step_agents`.
Decision = tuple[int, float, float]


def check_arguments(act: object, every: object, history: object) -> None:
    """Refuse what is no argument of an environment.

    Raises:
        ScenarioError: `args` are all mistakes.
    """
    mistakes = []
    if act not in ("window", "rate"):
        mistakes.append(f'act = {act!r}; wanted "window" or "rate"')
    if every is not None and not (_is_number(every) and LEAST_S <= float(every) <= MOST_S):
        mistakes.append(f"every = {every!r}; wanted seconds, from {LEAST_S:g} to {MOST_S:g}")
    if not is_count(history, MOST_HISTORY):
        mistakes.append(f"history = {history!r}; wanted a whole number from 1 to {MOST_HISTORY}")
    if mistakes:
        raise ScenarioError(*mistakes)


def is_count(value: object, most: int) -> bool:
    """Whether it is a whole number from 1 to `most`."""
    if not isinstance(value, SupportsIndex) or isinstance(value, bool):
        return False
    return 1 <= index(value) <= most


def _is_number(value: object) -> TypeGuard[SupportsFloat]:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def numbers(actions: object, count: int) -> list[float]:
    """Give the actions of `count` agents.

    Raises:
        ValueError: there are more or fewer, or one is no finite number.
    """
    try:
        found = np.asarray(actions, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise ValueError(f"an action is a number, not {str(actions)[:60]}") from None
    if len(found) != count:
        raise ValueError(f"wanted {count} action{'s' if count > 1 else ''}, not {len(found)}")
    if not np.isfinite(found).all():
        raise ValueError(f"an action is a number from -1 to 1, not {found[~np.isfinite(found)][0]}")
    return [float(action) for action in found]


@dataclass(frozen=True)
class Sender:
    """A flow that an agent drives: its index, and the rate of its path, packets/s."""

    index: int
    link: float


@dataclass
class _Agent:
    sender: Sender
    before: Before
    last: Step | None = None
    srtt_s: float = 0.0
    rate: float = 0.0


class Episode:
    """A run, and the senders in it that agents drive."""

    def __init__(
        self, scenario: Scenario, senders: Sequence[Sender], act: Act, every_s: float | None
    ) -> None:
        """Begin a run; `every_s` is the time between decisions, or None for a round trip."""
        self.engine = _core.Simulation(scenario, per_run([scenario], 1))
        self.duration_s = scenario.duration_s
        self.now_s = 0.0
        self._act, self._every_s = act, every_s
        self._agents = [_Agent(sender, Before(sender.link)) for sender in senders]
        self._wait_s = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the time of the run is over."""
        return self.now_s >= self.duration_s

    def begin(self) -> list[Step]:
        """Run until a sender has had an acknowledgement, with the window that it began with."""
        steps = self.taken(self._step([self._held(agent) for agent in self._agents]))
        while not (self.is_over or any(step.rtt_s for step in steps)):
            steps = self.taken(self._step([self._held(agent) for agent in self._agents]))
        return steps

    def _step(self, decisions: Sequence[Decision]) -> Sequence[Sequence[float]]:
        (observed,) = _core.step_agents([self.engine], [decisions], [self.until_s()], 1)
        return observed

    def until_s(self) -> float:
        """Give the time of the next decision, and note how long that is."""
        longest = max(agent.srtt_s for agent in self._agents)
        wait_s = max(longest, LEAST_S) if self._every_s is None else self._every_s
        until_s = min(self.now_s + wait_s, self.duration_s)
        self._wait_s = until_s - self.now_s
        return until_s

    def decisions(self, actions: Sequence[float]) -> list[Decision]:
        """Make decisions of actions from -1 to 1, each a power of two as a factor."""
        return [
            self._decided(agent, 2.0 ** min(max(float(action), -1.0), 1.0))
            for agent, action in zip(self._agents, actions, strict=True)
        ]

    def _held(self, agent: _Agent) -> Decision:
        # A window of zero is left as it is.
        return agent.sender.index, 0.0, agent.rate

    def _decided(self, agent: _Agent, factor: float) -> Decision:
        step = agent.last
        if step is None or not step.open or not step.min_rtt_s:
            return self._held(agent)
        most = max(MOST_BDP * agent.sender.link * step.min_rtt_s, 2 * LEAST_WINDOW)
        if self._act == "window":
            return agent.sender.index, min(max(step.window * factor, LEAST_WINDOW), most), 0.0
        # It begins with the rate that its window had.
        rate = (agent.rate or step.window / agent.srtt_s) * factor
        agent.rate = min(max(rate, LEAST_WINDOW / agent.srtt_s), most / step.min_rtt_s)
        window = min(max(ROUNDS_IN_FLIGHT * agent.rate * agent.srtt_s, LEAST_WINDOW), most)
        return agent.sender.index, window, agent.rate

    def taken(self, observed: Sequence[Sequence[float]]) -> list[Step]:
        """Take what the senders observed until the time that `until_s` gave."""
        self.now_s += self._wait_s
        if self.now_s > self.duration_s - 1e-9:
            self.now_s = self.duration_s
        steps = []
        for agent, values in zip(self._agents, observed, strict=True):
            agent.srtt_s = values[8]
            agent.last = agent.before.step(values, max(self._wait_s, 1e-9))
            steps.append(agent.last)
        return steps

    def step(self, actions: Sequence[float]) -> list[Step]:
        """Decide, and run until the next decision."""
        return self.taken(self._step(self.decisions(actions)))

"""Rewards by name: what an agent is to make large, computed from one step."""

from __future__ import annotations

import math
from collections.abc import Callable

from fairhaul.environments.observation import Step
from fairhaul.scenario.read import ScenarioError
from fairhaul.text.nearest import hint

Reward = Callable[[Step], float]

# The least part of the link that the logarithm of a rate is taken of.
LEAST = 1e-3


def used(step: Step) -> float:
    """Give the part of the slowest link that the sender used, 0 to 1."""
    return step.rate / step.link


def power(step: Step) -> float:
    """Give what was used over the delay, as a ratio to the smallest [KLEINROCK 1979]."""
    return used(step) / step.rtt_ratio


def log(step: Step) -> float:
    """Give log2 of what was used less log2 of the delay: proportional fairness [REMY]."""
    return math.log2(max(used(step), LEAST)) - math.log2(max(step.rtt_ratio, 1.0))


def vivace(step: Step) -> float:
    """Give x^0.9 - 900 x (growth of the delay per second) - 11.35 x (loss), x in Mbit/s [VIVACE].

    Packets count as 1500 bytes.
    """
    x = step.rate * 12e-3
    growth = (step.rtt_s - step.rtt_before_s) / step.duration_s
    return math.pow(x, 0.9) - 900 * x * max(growth, 0.0) - 11.35 * x * step.loss


REWARDS: dict[str, Reward] = {"power": power, "used": used, "log": log, "vivace": vivace}


def reward(given: str | Reward) -> Reward:
    """Give a reward by its name, or the function itself.

    Raises:
        ScenarioError: there is no such name.
    """
    if not isinstance(given, str):
        return given
    if given not in REWARDS:
        raise ScenarioError(f"unknown reward {given!r}; {hint(given, REWARDS)}")
    return REWARDS[given]

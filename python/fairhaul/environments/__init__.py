"""Environments in which a program learns to control congestion: one sender, several, or many runs.

The files: `scenario` (the scenario of an episode, and what is drawn for it), `observation` (what an
agent is given), `rewards`, `episode` (one run), and the environments themselves: `sender` and
`vector` for Gymnasium, `senders` for PettingZoo. `docs/environments.md` describes them. They need
the extra `fairhaul[learn]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairhaul.environments.observation import NAMES, Step

if TYPE_CHECKING:
    from fairhaul.environments.sender import SenderEnv
    from fairhaul.environments.senders import SendersEnv
    from fairhaul.environments.vector import SenderVectorEnv

__all__ = ["NAMES", "SenderEnv", "SenderVectorEnv", "SendersEnv", "Step"]

_HOME = {"SenderEnv": "sender", "SenderVectorEnv": "vector", "SendersEnv": "senders"}


def __getattr__(name: str) -> Any:
    """Load an environment when it is first used, with the libraries of the extra."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"environments need {error.name}: pip install 'fairhaul[learn]'", name=error.name
        ) from error

"""The progress of a build, in steps of known shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class BuildProgress:
    """How far a build is."""

    part: float
    """From 0 to 1."""
    text: str
    """What is being done."""


OnProgress = Callable[[BuildProgress], None]

SHARES = {"downloading": 0.02, "unpacking": 0.03, "configuring": 0.01, "compiling": 0.94}
"""How much of a whole build a step is, by its first word."""


@dataclass
class Steps:
    """The steps of a build, in the order of `SHARES`."""

    on_progress: OnProgress = lambda _: None
    _text: str = field(default="", init=False)

    def begin(self, text: str) -> None:
        """Begin a step, whose text starts with its name."""
        self._text = text
        self.at(0.0)

    def at(self, done: float, detail: str = "") -> None:
        """Report how much of the step is done, from 0 to 1."""
        name = self._text.split()[0]
        before = 0.0
        for step, share in SHARES.items():
            if step == name:
                part = before + share * min(done, 1.0)
                text = f"{self._text}{detail}"
                self.on_progress(BuildProgress(part=part, text=text))
                return
            before += share
        raise AssertionError(f"{name} is no step of a build")

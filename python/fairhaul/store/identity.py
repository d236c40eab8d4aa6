"""What a result is addressed by: the build of Fairhaul, the scenario, and the key of a result."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from fairhaul import _core
from fairhaul.engines import Engine
from fairhaul.scenario import Scenario


@cache
def build() -> str:
    """Give the version and a hash of the sources of the engine and of what computes figures.

    A version has many builds during development. Two builds of the same sources are the same, on
    whatever machine.
    """
    sources = hashlib.sha256(_core.__engine__.encode())
    for file in sorted(Path(_core.__file__).parent.glob("*.py")):
        sources.update(file.name.encode() + file.read_bytes())
    return f"{_core.__version__}+{sources.hexdigest()[:16]}"


def engine_of(engine: Engine, scenario: Scenario) -> str:
    """Name an engine as the key of a result does, with the kernel on which the result depends.

    Raises:
        Refused: there is no program for `linux`.
    """
    if engine == "linux":
        from fairhaul.linux.run import identity

        return f"linux, {identity(scenario)}"
    return f"lab, Linux {os.uname().release}" if engine == "lab" else engine


def digest_of(scenario: Scenario) -> str:
    """Give the digest of a scenario without its title and its seed."""
    return hashlib.sha256(scenario.identity().encode()).hexdigest()[:32]


def key_of(scenario: str, seed: int, engine: str, of: str, by: str | None = None) -> str:
    """Give the key of a result.

    Args:
        scenario: the digest of the scenario.
        seed: the seed of the run.
        engine: the engine, as `engine_of` names it.
        of: what is computed from the record: `"figures"`, or a name of the caller's.
        by: the build that computes it; by default this one.
    """
    parts = (scenario, str(seed), engine, by or build(), of)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

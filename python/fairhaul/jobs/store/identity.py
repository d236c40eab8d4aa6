"""What a result is addressed by: the build of Fairhaul, the scenario, and the key of a result."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairhaul import _core
from fairhaul.files.files import PACKAGE
from fairhaul.jobs.store.sources import digest, file_of
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import Scenario

RECORDED_BY = (PACKAGE / "record" / "outcome.py",)


def build_of(compute: Callable[..., Any], *files: Path) -> str:
    """Name the build that computes values: the version, the engine's sources, and Python's.

    A version has many builds during development. Two builds of the same sources are the same, on
    whatever machine.

    Args:
        compute: computes a value from a record. Its module counts, what that imports of Fairhaul,
            and what makes a record of what an engine gives.
        files: other files on which the value depends, such as those of a user's paper.
    """
    return f"{engine_build()}.{digest([file_of(compute), *files, *RECORDED_BY])}"


def engine_build() -> str:
    """Give the version, and a hash of the sources of the engine."""
    return f"{_core.__version__}+{_core.__engine__[:16]}"


def engine_of(engine: Engine, scenario: Scenario) -> str:
    """Name an engine as the key of a result does, with the kernel on which the result depends.

    Raises:
        Refused: there is no program for `linux`.
    """
    if engine == "sim":
        return engine
    from fairhaul.host.programs import identity as of_programs

    programs = of_programs(scenario)
    if engine == "linux":
        from fairhaul.linux.run import identity

        return f"linux, {identity(scenario)}{programs}"
    return f"lab, Linux {os.uname().release}{programs}"


def digest_of(scenario: Scenario) -> str:
    """Give the digest of a scenario without its title and its seed."""
    return hashlib.sha256(scenario.identity().encode()).hexdigest()[:32]


def key_of(scenario: str, seed: int, engine: str, of: str, by: str) -> str:
    """Give the key of a result: of the digest of a scenario, and of an engine by `engine_of`.

    `of` names what is computed from the record, and `by` is the build that computes it.
    """
    parts = (scenario, str(seed), engine, by, of)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]

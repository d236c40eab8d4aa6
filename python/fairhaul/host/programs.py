"""The programs of a scenario's flows: where they are, what they are, and where their files go."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from fairhaul._core import Scenario

# Where `fairhaul-host` looks for a program that is named without a path.
SEARCHED = ("/usr/local/bin", "/usr/bin", "/bin")


def request(scenario: Scenario, kept: Path | None) -> dict[str, Any]:
    """Give what `fairhaul-host` has to know of the programs of a scenario, which is read already.

    `kept` is a directory for what they write, and for captures; it is made.
    """
    if not scenario.has_programs():
        return {}
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    at = None if kept is None else str(kept.absolute())
    return {"programs": {"folder": str(_folder(scenario)), "kept": at}}


def identity(scenario: Scenario) -> str:
    """Name the files of the programs of a scenario by their digests; empty if it has none."""
    if not scenario.has_programs():
        return ""
    pairs = [flow["program"] for flow in scenario.described["flows"] if "program" in flow]
    words = {line[0] for pair in pairs for line in (pair["sender"], pair["receiver"])}
    return "".join(f", {word} {_digest(_folder(scenario), word)}" for word in sorted(words))


def _folder(scenario: Scenario) -> Path:
    return Path(scenario.source()[1]).absolute().parent


def _digest(folder: Path, word: str) -> str:
    paths = [folder / word] if "/" in word else [Path(place, word) for place in SEARCHED]
    for path in paths:
        if path.is_file():
            return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    return "missing"

"""Scenarios from a file, from TOML text, or from a mapping."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from fairhaul import _core
from fairhaul._core import Scenario, ScenarioError

__all__ = [
    "Scenario",
    "ScenarioError",
    "Settings",
    "Source",
    "read",
    "read_as_typed",
    "read_one",
    "toml",
]

Source = str | PathLike[str] | Mapping[str, object]
Settings = Mapping[str, object]


def read(source: Source, set: Settings | None = None) -> list[Scenario]:  # noqa: A002
    """Read the scenarios of `source`: one, or one for every combination of its `[sweep]`.

    `source` is the path of a file, TOML text (anything with a line break), or a mapping. `set`
    changes keys, named as in `[sweep]`: `{"flow.F1.controller.c": 20}`.

    Raises:
        ScenarioError: `args` are all mistakes of the scenario, one line each, with file and line.
    """
    try:
        return read_as_typed(source, [(key, toml(value)) for key, value in (set or {}).items()])
    except ScenarioError as error:
        # The option is that of the command line; here it is an argument.
        told = (str(mistake).replace("--set ", "set ", 1) for mistake in error.args)
        raise ScenarioError(*told) from None


def read_as_typed(source: Source, overrides: Sequence[tuple[str, str]]) -> list[Scenario]:
    """Read `source` with keys and values as a person types them: TOML, or a text without quotes."""
    text, file = _text(source)
    return _core.read(text, file, overrides)


def read_one(source: Source, set: Settings | None = None) -> Scenario:  # noqa: A002
    """Read the one scenario of `source`, which must not have a `[sweep]`."""
    scenarios = read(source, set)
    if len(scenarios) != 1:
        raise ScenarioError(
            f"one scenario is wanted, and [sweep] makes {len(scenarios)} of it: "
            "run_many(read(...)) runs them all"
        )
    return scenarios[0]


def toml(value: object) -> str:
    """Write `value` as TOML, on one line; numbers and arrays of numpy as those of Python."""
    if hasattr(value, "tolist"):
        # A float of numpy is one of Python's, too, but prints with the name of its type.
        value = value.tolist()
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case Mapping():
            return "{" + ", ".join(f"{toml(str(k))} = {toml(v)}" for k, v in value.items()) + "}"
        case Sequence():
            return "[" + ", ".join(toml(item) for item in value) + "]"
    raise ScenarioError(f"{value!r} cannot stand in a scenario: {type(value).__name__}")


def _text(source: Source) -> tuple[str, str]:
    """The TOML text of `source`, and what to call it in messages."""
    if isinstance(source, Mapping):
        return "".join(f"{toml(str(k))} = {toml(v)}\n" for k, v in source.items()), "scenario"
    if isinstance(source, str) and "\n" in source:
        return source, "scenario"
    try:
        return Path(source).read_text(encoding="utf-8"), str(source)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ScenarioError(f"{source}:{line}: not UTF-8 at byte {error.start}") from None
    except OSError as error:
        raise ScenarioError(f"{source}: {(error.strerror or str(error)).lower()}") from None

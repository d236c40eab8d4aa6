"""The scenarios that every transport stack can be judged by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairhaul._core import ScenarioError
from fairhaul.scenario.read import toml
from fairhaul.scenario.transport import keyed

FOLDER = Path(__file__).parent / "stacks"
MINE = "mine"


def stack_cases(
    stack: str, files: Sequence[str], overrides: Sequence[tuple[str, str]]
) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """Give the files, by default those for stacks, and the overrides that put a stack in them."""
    return tuple(files) or (str(FOLDER),), [stack_setting(stack), *overrides]


def stack_setting(stack: str, flow: str = MINE) -> tuple[str, str]:
    """Give the override by which a flow gets a stack: a name or a library, perhaps with settings.

    Settings follow as in `quinn:controller=bbr`. A library is found from the folder of the caller,
    wherever the scenarios are.

    Raises:
        ScenarioError: the text is no stack; `args` are all mistakes.
    """
    table, mistakes = keyed(stack)
    if mistakes:
        raise ScenarioError(*(f"--stack {stack}: {mistake}" for mistake in mistakes))
    kind = str(table["kind"])
    if "/" in kind or Path(kind).suffix:
        table["kind"] = kind = str(Path(kind).resolve())
    return f"flow.{flow}.stack", toml(kind if len(table) == 1 else table)

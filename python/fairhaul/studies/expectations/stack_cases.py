"""The scenarios that every transport stack can be judged by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairhaul.scenario.read import toml
from fairhaul.scenario.transport import read_stack

FOLDER = Path(__file__).parent / "stacks"
MINE = "mine"


def stack_cases(
    stack: str, files: Sequence[str], overrides: Sequence[tuple[str, str]]
) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """Give the files, by default those for stacks, and the overrides that put a stack in them."""
    return tuple(files) or (str(FOLDER),), [stack_setting(stack), *overrides]


def stack_setting(stack: str, flow: str = MINE) -> tuple[str, str]:
    """Give the override by which a flow gets a stack.

    Raises:
        ScenarioError: the text is no stack; `args` are all mistakes.
    """
    return f"flow.{flow}.stack", toml(read_stack(stack).value)

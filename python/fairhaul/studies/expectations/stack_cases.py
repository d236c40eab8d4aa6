"""The scenarios that every transport stack can be judged by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent / "stacks"
KEY = "flow.mine.stack"


def stack_cases(
    stack: str, files: Sequence[str], overrides: Sequence[tuple[str, str]]
) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """Give the files, by default those for stacks, and the overrides that put a stack in them.

    A library is found from the folder of the caller, wherever the scenarios are.
    """
    is_file = "/" in stack or bool(Path(stack).suffix)
    named = str(Path(stack).resolve()) if is_file else stack
    return tuple(files) or (str(FOLDER),), [(KEY, named), *overrides]

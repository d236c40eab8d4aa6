"""Arguments that were renamed: the old name works for one more version, and warns."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def renamed(**names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function take arguments by their old names, too: `renamed(old="new")`.

    An old name gives a `DeprecationWarning`. Both names in one call are a `TypeError`, as an
    argument that is given twice always is.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def call(*args: Any, **arguments: Any) -> T:
            for old in names.keys() & arguments.keys():
                new = names[old]
                if new in arguments:
                    raise TypeError(
                        f"{function.__name__}() got both {new!r} and its old name {old!r}"
                    )
                warnings.warn(
                    f"{function.__name__}({old}=...) is deprecated; write {new}=...",
                    DeprecationWarning,
                    stacklevel=2,
                )
                arguments[new] = arguments.pop(old)
            return function(*args, **arguments)

        return call

    return decorate

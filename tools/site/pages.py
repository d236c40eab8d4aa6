"""What the site adds to the pages: navigation, the reference of commands and of Python."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import fairhaul

NAVIGATION = Path(__file__).with_name("navigation.toml")


def addition(root: Path, page: str) -> str:
    """Give the text, in MyST, that the site appends to a page; often none."""
    references: dict[str, Callable[[], str]] = {"docs/commands": commands, "docs/python": python}
    text = "".join(toctrees(root, page))
    if page in references:
        text += f"\n```{{eval-rst}}\n{references[page]()}\n```\n"
    return text


def toctrees(root: Path, page: str) -> Iterator[str]:
    """The navigation below a page; that of the front page has all groups."""
    navigation = tomllib.loads(NAVIGATION.read_text(encoding="utf-8"))
    if page == "docs/index":
        for group in navigation["group"]:
            yield _toctree(root, page, group["pages"], f":caption: {group['title']}\n")
    for parent, pattern in navigation["below"].items():
        if page == _name(parent):
            yield _toctree(root, page, [pattern], "")


def _toctree(root: Path, page: str, patterns: list[str], options: str) -> str:
    """A part of the navigation that the page itself does not show."""
    found: list[str] = []
    for pattern in patterns:
        files = sorted(root.glob(pattern)) if "*" in pattern else [root / pattern]
        found += [f"/{_name(file.relative_to(root).as_posix())}" for file in files]
    lines = "\n".join(name for name in found if name != f"/{page}")
    return f"\n\n```{{toctree}}\n:hidden:\n{options}\n{lines}\n```\n"


def _name(path: str) -> str:
    """The name of a page: its path without the ending."""
    return PurePosixPath(path).with_suffix("").as_posix()


def commands() -> str:
    """The reference of all commands, from their definitions."""
    return ".. click:: fairhaul.cli:fairhaul\n   :prog: fairhaul\n   :nested: full\n"


def python() -> str:
    """The reference of what the package exports, from its docstrings."""
    names = [name for name in fairhaul.__all__ if not name.startswith("_")]
    functions = [name for name in names if inspect.isfunction(getattr(fairhaul, name))]
    errors = [name for name in names if _is_error(name)]
    classes = [name for name in names if name not in {*functions, *errors}]
    entries = [
        *_section("Functions", "autofunction", functions),
        *_section("Classes", "autoclass", classes),
        *_section("Errors", "autoexception", errors),
    ]
    return "\n".join(entries)


def _is_error(name: str) -> bool:
    value = getattr(fairhaul, name)
    return inspect.isclass(value) and issubclass(value, BaseException)


def _section(title: str, directive: str, names: list[str]) -> Iterator[str]:
    yield f"{title}\n{'-' * len(title)}\n"
    for name in names:
        members = "   :members:\n" if directive == "autoclass" else ""
        yield f".. {directive}:: fairhaul.{name}\n{members}"

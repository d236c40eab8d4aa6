"""Every Rust file is compiled: one that no `mod` names is not, and its tests do not run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tools.tidy.tree import Tree

ROOTS = ("lib.rs", "main.rs", "mod.rs")


def modules(tree: Tree) -> Iterator[str]:
    """Each file is the root of a library or a program, or a module of the file above it."""
    linked = {name for _, text in tree.below("crates", ".rs") for name in _linked(text)}
    for path, _ in tree.below("crates", ".rs"):
        file = PurePosixPath(path)
        if _is_root(file) or file.name in linked:
            continue
        folder, name = file.parent, file.stem
        if name == "mod":
            folder, name = folder.parent, folder.name
        above = [f"{folder}.rs", *(str(folder / root) for root in ROOTS)]
        if folder.name in {"tests", "examples"}:
            above = [other for other, _ in tree.below(str(folder), ".rs")]
        if not any(name in _declared(tree.get(parent, "")) for parent in above):
            yield f"{path}:1: no file compiles this one: write `mod {name};` in the file above it"


def _is_root(file: PurePosixPath) -> bool:
    """Whether cargo compiles a file by itself."""
    _, _, kind, *inside = file.parts
    alone = len(inside) == 1 and (kind != "src" or file.name == "lib.rs")
    return file.name == "main.rs" or not inside or alone


def _declared(text: str) -> set[str]:
    return set(re.findall(r"^\s*(?:pub(?:\([^)]*\))? )?mod (\w+);", text, re.MULTILINE))


def _linked(text: str) -> list[str]:
    """The names of files that a source takes in by their paths."""
    return re.findall(r'#\[path = "(?:[^"]*/)?([^"/]+)"\]', text)

"""Import circles: modules of a crate that import each other, directly or through others.

What counts is `use crate::…` and `use super::…` at the top level of a module, outside tests. A name
that a module only re-exports belongs to the module that it comes from. A parent that uses its
children draws no circle: that is what a parent is for.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from tools.tidy.layers import code_of, is_test, line_of
from tools.tidy.tree import Tree

USE = re.compile(r"^(pub(?:\([^)]*\))? )?use ([^;]+);", re.MULTILINE)

GROUP = re.compile(r"([\w:]*)\{([^{}]*)\}")

ModulePath = tuple[str, ...]
"""Of a module, or of what is imported, from the root of the crate."""


class Import(NamedTuple):
    """One name that a module imports, and its file and line."""

    place: str
    public: bool
    path: ModulePath
    name: str


Modules = dict[ModulePath, list[Import]]


def circles(tree: Tree) -> Iterator[str]:
    """No modules import each other in a circle."""
    for modules in _crates(tree).values():
        graph = {path: _imported(modules, path) for path in modules}
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            circle: list[ModulePath] = error.args[1][::-1]
            chain = " -> ".join("/".join(path) or "lib" for path in circle)
            yield (
                f"{graph[circle[0]][circle[1]]}: modules import each other in a circle: {chain}:"
                " move what they share to a module that imports none of them"
            )


def _crates(tree: Tree) -> dict[str, Modules]:
    """The modules by crate."""
    crates: defaultdict[str, Modules] = defaultdict(dict)
    for file, text in tree.below("crates", ".rs"):
        _, crate, folder, *inside = file.removesuffix(".rs").split("/")
        if folder == "src" and not is_test(file):
            root = "lib" if f"crates/{crate}/src/lib.rs" in tree else "main"
            path = inside[:-1] if inside[-1] == "mod" or inside == [root] else inside
            crates[crate][tuple(path)] = list(_imports(file, code_of(file, text)))
    return crates


def _imports(file: str, code: str) -> Iterator[Import]:
    """What a module imports at its top level."""
    for use in USE.finditer(code):
        place = f"{file}:{line_of(code, use.start())}"
        names = " ".join(use[2].split())
        while "{" in names:
            names = GROUP.sub(_ungrouped, names)
        for name in filter(None, names.split(",")):
            path, _, alias = name.partition(" as ")
            parts = tuple(part for part in path.split("::") if part)
            parts = parts[:-1] if parts[-1] == "self" and len(parts) > 1 else parts
            yield Import(place, use[1] is not None, parts, alias or parts[-1])


def _ungrouped(group: re.Match[str]) -> str:
    """`a::b, a::c` from `a::{b, c}`."""
    members = filter(None, map(str.strip, group[2].split(",")))
    return ",".join(group[1] + member for member in members)


def _imported(modules: Modules, module: ModulePath) -> dict[ModulePath, str]:
    """The modules outside itself that a module imports, each with the place."""
    targets = (
        (_target(modules, module, path), place)
        for place, _, path, _ in modules[module]
        if path[0] in ("crate", "super")
    )
    return {path: place for path, place in targets if path is not None and path != module}


def _target(
    modules: Modules, module: ModulePath, path: ModulePath, steps: int = 8
) -> ModulePath | None:
    """The module that a path leads to, through a few re-exports; none outside the crate."""
    if path[0] in ("crate", "self", "super"):
        up = len(module) if path[0] == "crate" else path.count("super")
        if up > len(module):
            return None
        names = tuple(part for part in path if part not in ("crate", "self", "super"))
        path = module[: len(module) - up] + names
    elif (*module, path[0]) in modules:
        path = module + path
    else:
        return None
    inside = [path[:length] for length in range(len(path) + 1) if path[:length] in modules]
    if not inside:
        return None
    rest = path[len(inside[-1]) :]
    for _, public, target, name in modules[inside[-1]]:
        if public and rest[:1] == (name,) and steps:
            return _target(modules, inside[-1], target, steps - 1) or inside[-1]
    return inside[-1]

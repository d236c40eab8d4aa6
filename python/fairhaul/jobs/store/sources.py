"""The source files on which a function depends: its own, and all that these import of Fairhaul.

Imports inside functions count, and those for type checkers do not. A name that is imported from the
package itself counts as its module.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from fairhaul.files.files import PACKAGE
from fairhaul.files.names import imported as imported_names

ROOT = PACKAGE


def digest(files: Iterable[Path]) -> str:
    """Give a hash of files, and of what Python files among them import of Fairhaul."""
    everything = hashlib.sha256()
    for file in sorted(set().union(*map(sources, files))):
        name = file.relative_to(ROOT) if file.is_relative_to(ROOT) else Path(file.name)
        everything.update(str(name).encode() + b"\0" + file.read_bytes() + b"\0")
    return everything.hexdigest()[:16]


def file_of(function: Callable[..., Any]) -> Path:
    """Give the file of the module in which a function, or what a `partial` calls, is defined."""
    while isinstance(function, partial):
        function = function.func
    return Path(inspect.getfile(inspect.unwrap(function)))


@cache
def sources(file: Path) -> frozenset[Path]:
    """Give a file, and the files of Fairhaul that it imports, directly or through others."""
    found, left = {file}, [file]
    while left:
        for source in imported(left.pop()):
            if source not in found:
                found.add(source)
                left.append(source)
    return frozenset(found)


@cache
def imported(file: Path) -> frozenset[Path]:
    """Give the files of Fairhaul that a Python file imports itself."""
    if file.suffix != ".py":
        return frozenset()
    named = _modules(ast.parse(file.read_bytes(), str(file)))
    return frozenset(source for name in named if (source := _source(name)) is not None)


def _modules(node: ast.AST) -> Iterator[str]:
    """Name what is imported anywhere within a node: modules, or names from modules."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
            for other in child.orelse:
                yield from _modules(other)
            continue
        if isinstance(child, ast.Import):
            yield from (name.name for name in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            yield from (f"{child.module}.{name.name}" for name in child.names)
        elif isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name | ast.Attribute):
            yield ast.unparse(child)
        yield from _modules(child)


def _source(name: str) -> Path | None:
    """Give the file of a module of Fairhaul, or of the module that has a name."""
    package, *parts = name.split(".")
    if package != ROOT.name or not parts:
        return None
    parts[:1] = _public().get(parts[0], parts[0]).split(".")
    while parts:
        place = ROOT.joinpath(*parts)
        for file in (place / "__init__.py", place.with_suffix(".py")):
            if file.is_file():
                return file
        parts.pop()
    return None


@cache
def _public() -> dict[str, str]:
    """Give the modules of the names that the package itself has."""
    names = imported_names(ROOT / "__init__.py", ROOT.name)
    return {name: place.partition(".")[2] for name, place in names.items()}

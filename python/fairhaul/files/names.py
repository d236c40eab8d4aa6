"""The names that a Python file imports for type checkers alone, as a package lists its own."""

from __future__ import annotations

import ast
from pathlib import Path


def imported(file: Path, package: str) -> dict[str, str]:
    """Give the names that a Python file imports from a package, each with its place there.

    A place is the module and the name, such as `fairhaul.record.record.read_record`.
    """
    return {
        name.name: f"{node.module}.{name.name}"
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.If)
        for node in node.body
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == package
        for name in node.names
    }

"""The size of files and of functions; clippy counts the lines of Rust's functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from tools.tidy.layers import is_test, test_items
from tools.tidy.tree import Tree

MOST_FILE = 400
MOST_TEXT = 300_000
MOST_FUNCTION = 60


def openings(tree: Tree) -> Iterator[str]:
    """Every Rust source opens with `//!`."""
    for path, text in tree.below("crates", ".rs"):
        if "/src/" in path and not text.startswith("//!"):
            yield f"{path}:1: open with `//!`: what the file is, and the key of its source"


def lengths(tree: Tree) -> Iterator[str]:
    """Files are short, without their tests."""
    for path, text in chain(tree.below("crates", ".rs"), _python(tree)):
        if is_test(path):
            continue
        tests = test_items(path, text) if path.endswith(".rs") else []
        lines = len(text.splitlines()) - sum(text.count("\n", *item) + 1 for item in tests)
        if lines > MOST_FILE:
            yield f"{path}:1: {lines} lines without tests, {MOST_FILE} at most: split it by noun"


def results(tree: Tree) -> Iterator[str]:
    """No file is as long as the results of runs are, which do not belong here."""
    for path, text in tree.items():
        if len(text) > MOST_TEXT:
            place = f"{path}:1: {len(text)} characters"
            yield f"{place}, {MOST_TEXT} at most: results of runs are not kept here"


def functions(tree: Tree) -> Iterator[str]:
    """Functions of Python are short."""
    for path, text in _python(tree):
        for node in ast.walk(ast.parse(text, path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_FUNCTION:
                    place = f"{path}:{node.lineno}: `{node.name}` has {lines} lines"
                    yield f"{place}, {MOST_FUNCTION} at most: move steps of it to functions"


def _python(tree: Tree) -> Iterator[tuple[str, str]]:
    return chain(tree.below("python", ".py"), tree.below("tools", ".py"))

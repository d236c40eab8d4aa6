"""The outside: no clock, socket or file in the models.

No folder of a machine anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.tidy.layers import code_of, line_of
from tools.tidy.tree import Tree

PURE = ("units", "cc", "path")
"""Crates without a clock, a socket or a file, because both engines use the same code."""

OUTSIDE = re.compile(r"(?<!\w)(?:std::(?:fs|net|env|process|io)|Instant::now|SystemTime)")

MACHINE = re.compile(r"/(?:work|root)/")
"""Folders at the root of a machine."""


def pure(tree: Tree) -> Iterator[str]:
    """The crates of the models use no clock, socket or file."""
    for name in PURE:
        for path, text in tree.below(f"crates/{name}/src", ".rs"):
            code = code_of(path, text)
            for used in OUTSIDE.finditer(code):
                place = f"{path}:{line_of(code, used.start())}: `{used[0]}`"
                yield f"{place}: {name} has no clock, socket or file: let the caller pass it in"


def machine_paths(tree: Tree) -> Iterator[str]:
    """No file names a folder of the machine on which it was written."""
    for path, text in tree.items():
        for folder in MACHINE.finditer(text):
            # `a/work/b` is a folder of something else.
            if not re.match(r"[\w\-.})]", text[folder.start() - 1 : folder.start()]):
                place = f"{path}:{line_of(text, folder.start())}"
                yield f"{place}: `{folder[0]}`: name no folder of a machine"

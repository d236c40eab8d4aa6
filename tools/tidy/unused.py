"""Functions and classes of the package that nothing uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools.tidy.tree import Tree

PACKAGE = "python/fairhaul"
"""What is judged; what uses it is there, in `tools`, in `docs` and in the texts of papers."""

KINDS = frozenset({"class", "function", "method", "property"})

CALLED_BY_OTHERS = [
    *("__*__", "_repr_*_", "server_bind", "log_message", "observation_space", "format_commands"),
]
"""What Python, notebooks, and the libraries of servers, environments and the command line call."""


def unused(tree: Tree) -> Iterator[str]:
    """Every function has a caller in code, or a page or a paper names it."""
    from vulture import Vulture  # type: ignore[import-untyped]

    finder = Vulture(ignore_names=CALLED_BY_OTHERS, ignore_decorators=["@*.command*"])
    for folder in (PACKAGE, "tools", "docs"):
        for path, text in tree.below(folder, ".py"):
            finder.scan(text, Path(path))
    named = set()
    for path, text in tree.items():
        if path.endswith((".md", "paper.toml")):
            named.update(re.findall(r"\w+", text))
    for item in finder.get_unused_code():
        place = Path(item.filename).as_posix()
        if item.typ in KINDS and place.startswith(PACKAGE) and item.name not in named:
            yield f"{place}:{item.first_lineno}: the {item.typ} {item.name} is used nowhere"

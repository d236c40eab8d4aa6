"""Keys of sources: what is cited as `[RFC 3649, 5]` or `[FHSTCP, Table 1]` is in `docs/sources.md`.

A key is `RFC` and a number, or a word with two capitals in a row, with a year where it needs one.
It is listed where a line of the page begins with it, in a heading, a list or a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.tidy.layers import layer, line_of
from tools.tidy.tree import Tree

PAGE = "docs/sources.md"

BRACKETS = re.compile(r"""(?<![\w#!\]`"])\[([^\[\]]*)\]""")
"""Square brackets that neither index nor quote, and are no attribute."""

KEY = re.compile(r"RFC \d+|(?=\S*[A-Z]{2})[A-Za-z][A-Za-z0-9-]*( \d{4})?")

SOURCE = re.compile(r'const SOURCE: &[^"]*"([^",;]*)')


def keys(tree: Tree) -> Iterator[str]:
    """Every key in a comment, in a page and in a controller's `SOURCE` is listed."""
    listed: dict[str, bool] = {}
    for path, text in tree.items():
        for line, key in _cited(path, text):
            if key not in listed:
                entry = rf"^[|#*\[` -]*{re.escape(key)}(?![\w-])"
                listed[key] = bool(re.search(entry, tree.get(PAGE, ""), re.MULTILINE))
            if not listed[key]:
                yield f"{path}:{line}: [{key}] is not in {PAGE}: list it, or write the key as there"


def _cited(path: str, text: str) -> Iterator[tuple[int, str]]:
    """The keys of a file, with their lines."""
    if path.endswith((".rs", ".py", ".pyi", ".toml")):
        prose = layer(path, text, "comment")
    elif path.startswith("docs/") and path.endswith(".md") and path != PAGE:
        prose = text
    else:
        return
    for cited in BRACKETS.finditer(prose):
        parts = [part.strip() for part in re.split("[,;]", cited[1])]
        if KEY.fullmatch(parts[0]):
            line = line_of(prose, cited.start())
            yield from ((line, part) for part in parts if KEY.fullmatch(part))
    source = SOURCE.search(text) if path.endswith(".rs") else None
    if source and KEY.fullmatch(source[1].strip()):
        yield line_of(text, source.start()), source[1].strip()

"""Links between files: every relative link of a page leads to a file, and to a heading of it."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tools.tidy.tree import Tree

PAGE = ".md"


def links(tree: Tree) -> Iterator[str]:
    """Every relative link leads to a file, and its anchor to a heading."""
    for path, text in tree.items():
        if path.endswith(PAGE):
            for line, target in _targets(text):
                if wrong := _wrong(tree, path, target):
                    yield f"{path}:{line}: the link to {target}: {wrong}"


def _wrong(tree: Tree, page: str, target: str) -> str:
    """Say what is wrong with a link on a page; nothing of a link to elsewhere."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return ""
    folder = posixpath.dirname(page)
    file = posixpath.normpath(posixpath.join(folder, unquote(parts.path))) if parts.path else page
    if file not in tree and file not in tree.binary:
        below = any(path.startswith(f"{file}/") for path in tree)
        return f"{file} is a folder: name a file in it" if below else f"there is no file {file}"
    if parts.fragment and file.endswith(PAGE) and parts.fragment not in anchors(tree[file]):
        return f"{file} has no heading with the anchor {parts.fragment}"
    return ""


def _targets(text: str) -> Iterator[tuple[int, str]]:
    """The targets of links and images, each with its line; in a table, with that of its row."""
    first = 0
    for block in _parsed(text):
        # A cell has no lines of its own.
        first = line = block.map[0] + 1 if block.map else first
        for token in block.children or ():
            line += token.type in ("softbreak", "hardbreak")
            target = token.attrGet("src" if token.type == "image" else "href")
            if target is not None:
                yield line, str(target)


@cache
def anchors(text: str) -> frozenset[str]:
    """The anchors of a page: its headings as forges write them, with numbers if they repeat."""
    used: Counter[str] = Counter()
    found = set()
    tokens = _parsed(text)
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(token.content for token in inline.children or ())
            anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            found.add(f"{anchor}-{used[anchor]}" if used[anchor] else anchor)
            used[anchor] += 1
    return frozenset(found)


@cache
def _parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(text)

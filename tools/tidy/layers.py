"""Code, comments and strings of sources, apart: as much of each language as the rules need."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

Layer = Literal["code", "comment", "string"]

# A comment within a comment may not contain a third.
SLASHES = re.compile(
    r"""(?P<comment>//[^\n]*|/\*(?:(?!/\*|\*/).|/\*.*?\*/)*\*/)
    |(?P<string>(?<!\w)[bc]?r(?P<hashes>\#*)".*?"(?P=hashes)
      |"(?:\\.|[^"\\])*"
      |'(?:\\[^\n]+?|[^\\'\n])')""",
    re.DOTALL | re.VERBOSE,
)
"""Rust and C."""

HASHES = re.compile(
    r'''(?P<comment>\#[^\n]*)
    |(?P<string>(?:\b[rbfuRBFU]{1,2})?
      (?:"""(?:\\.|.)*?"""|\'\'\'(?:\\.|.)*?\'\'\'|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))''',
    re.DOTALL | re.VERBOSE,
)
"""Python and TOML."""

QUOTES = re.compile(r"""^\w*#*["']+|["']+#*$""")

TEST_ITEM = "#[cfg(test)]"


def blank(text: str) -> str:
    """Blanks instead of all characters but the ends of lines."""
    return re.sub(r"[^\n]+", lambda line: " " * len(line[0]), text)


def line_of(text: str, at: int) -> int:
    """The number of the line with the character `at`."""
    return text.count("\n", 0, at) + 1


@cache
def layer(path: str, text: str, kept: Layer) -> str:
    """One layer of a source, with blanks instead of the others.

    Strings lose their quotation marks, and bars stand between them instead of code.
    """
    pieces, end = [], 0
    for match in (SLASHES if path.endswith((".rs", ".c", ".h")) else HASHES).finditer(text):
        pieces.append(_code(text[end : match.start()], kept))
        piece = match[0] if kept == match.lastgroup else blank(match[0])
        pieces.append(QUOTES.sub("", piece) if kept == "string" else piece)
        end = match.end()
    return "".join([*pieces, _code(text[end:], kept)])


def _code(code: str, kept: Layer) -> str:
    if kept == "string":
        return re.sub(r"\S", "|", code)
    return code if kept == "code" else blank(code)


@cache
def test_items(path: str, text: str) -> list[tuple[int, int]]:
    """Where the items under `#[cfg(test)]` of a Rust source start and end."""
    code, items, end = layer(path, text, "code"), [], 0
    while (start := code.find(TEST_ITEM, end)) >= 0:
        end = _item_end(code, start + len(TEST_ITEM))
        items.append((start, end))
    return items


def untested(path: str, text: str) -> str:
    """A Rust source with blanks instead of its test items."""
    for start, end in test_items(path, text):
        text = text[:start] + blank(text[start:end]) + text[end:]
    return text


def code_of(path: str, text: str) -> str:
    """The code of a Rust source, without its tests."""
    return layer(path, untested(path, text), "code")


def is_test(path: str) -> bool:
    """Whether all of a Rust source is tests."""
    return "/tests/" in path or path.endswith("/tests.rs")


def _item_end(code: str, start: int) -> int:
    """The end of the item: its closing brace, or its semicolon if it has none."""
    depth = 0
    for match in re.compile(r"[][(){};]").finditer(code, start):
        depth += (match[0] in "([{") - (match[0] in ")]}")
        if depth == 0 and match[0] in "};":
            return match.end()
    return len(code)

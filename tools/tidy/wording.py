"""Words and phrases that a text for users may not contain: `wording.toml` lists them.

Of pages everything except for code is checked; of Rust sources the comments and the strings
outside tests, because the comments are documentation and the strings are printed; of Python
sources all strings, because docstrings are help texts; of scenarios the comments; of papers the
whole files.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from tools.tidy.layers import blank, is_test, layer, line_of, untested
from tools.tidy.tree import Tree

LIST = "tools/tidy/wording.toml"
_LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
COVERED: list[str] = _LISTS["covered"]
INSTEAD: dict[str, str] = _LISTS["instead"]

# Words are separated by blanks, and in Rust by a backslash at the end of a line.
_SPACES = r"(?:\s|\\\n)+"
BANNED = re.compile(
    r"(?<![^\W_])(?<!['-])"
    rf"(?:{'|'.join(phrase.replace(' ', _SPACES) for phrase in INSTEAD)})"
    r"(?![^\W_]|['-])"
)

FENCED = re.compile(r"^\s*```.*?(?:^\s*```[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*(?:`|$)", re.MULTILINE)
MARKS = re.compile(r"#|//[/!]?")
FIELD = re.compile(r"\{[^}\n]*\}")


def wording(tree: Tree) -> Iterator[str]:
    """Text for users is in plain technical English."""
    for path, text in tree.items():
        if path == LIST or not any(fnmatch(path, pattern) for pattern in COVERED):
            continue
        for prose in map(str.lower, _proses(path, text)):
            for found in BANNED.finditer(prose):
                phrase = " ".join(found[0].replace("\\", " ").split())
                line = line_of(prose, found.start())
                yield f'{path}:{line}: "{phrase}": write {INSTEAD[phrase]}'


def _proses(path: str, text: str) -> Iterator[str]:
    """What users and readers of the code read of a file. No phrase goes over the places of code."""
    match path.rpartition(".")[2]:
        case "md":
            yield _without_code(text)
        case "rs" if not is_test(path):
            shipped = untested(path, text)
            yield _printed(path, shipped)
            yield _comments(path, shipped)
        case "py":
            yield _printed(path, text)
        case "toml" if path.startswith("scenarios/"):
            yield _comments(path, text)
        case "toml":
            yield text


def _printed(path: str, text: str) -> str:
    """The strings of a source, without the fields of their formats."""
    return FIELD.sub("|", CODE.sub("|", layer(path, text, "string")))


def _comments(path: str, text: str) -> str:
    """The comments of a source, without their marks, and with bars between them instead of code."""
    comments, code = layer(path, text, "comment"), layer(path, text, "code")
    bars = re.sub(r"\S", "|", code)
    apart = "".join(map(max, comments, bars))
    return _without_code(MARKS.sub(lambda mark: blank(mark[0]), apart))


def _without_code(prose: str) -> str:
    return CODE.sub("|", FENCED.sub(lambda block: blank(block[0]), prose))

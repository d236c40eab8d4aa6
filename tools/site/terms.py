"""Which page defines a term: entries of the index, which the search shows before all else.

A page of a controller or of a queue defines its name, the reference of scenarios the keys in its
tables, and the page that the list of commands names for a command defines it. `terms.toml` has
the terms of the field.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes

from tools import ROOT

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FILE = Path(__file__).with_name("terms.toml")
NAMED_PAGE = re.compile(r"docs/(?:controllers|queues)/(?!index$)(.+)")
COMMAND = re.compile(r"^\| `([a-z-]+)` \| [^|]* \| \[[^\]]*\]\(([\w/-]+)\.md", re.MULTILINE)
KEYS = "docs/scenario"


def define(app: Sphinx, page: nodes.document) -> None:
    """Add the terms that a page defines to the index."""
    name = app.env.docname
    entries = [
        ("single", term, part, "main", None)
        for term, part in dict(reversed([*_terms(name), *_keys(name, page)])).items()
    ]
    page.insert(0, addnodes.index(entries=entries))


def _terms(page: str) -> Iterator[tuple[str, str]]:
    for term, place in listed().items():
        target, _, part = place.partition("#")
        if target == page:
            yield term, part
    if match := NAMED_PAGE.fullmatch(page):
        yield match[1], ""


def _keys(name: str, page: nodes.document) -> Iterator[tuple[str, str]]:
    """Give the keys of a scenario that nothing else defines, each with its section."""
    others = {
        *listed(),
        *(
            file.stem
            for kind in ("controllers", "queues")
            for file in (ROOT / "docs" / kind).glob("*.md")
        ),
    }
    for table in page.findall(nodes.table) if name == KEYS else ():
        section = table.parent
        for row in table.findall(nodes.row):
            key = next(row.findall(nodes.literal), None)
            if (
                key is not None
                and key.astext() not in others
                and isinstance(section, nodes.section)
            ):
                yield key.astext(), section["ids"][0]


@cache
def listed() -> Mapping[str, str]:
    """The terms whose pages are listed, and the commands."""
    commands = (ROOT / "docs/commands.md").read_text(encoding="utf-8").partition("\n## ")[0]
    named = {command: f"docs/{page}" for command, page in COMMAND.findall(commands)}
    return {**named, **tomllib.loads(FILE.read_text(encoding="utf-8"))}

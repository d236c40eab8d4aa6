"""The page of choices: every mark of "unclear in" and "differs from" in the sources."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest

from tools.tidy.layers import layer
from tools.tidy.tree import Tree

PAGE = "docs/choices.md"

MARK = re.compile(r"(?:Unclear in|Differs from) \[ *([^],]*?) *[],]")

COMMENT = re.compile(r"^\s*(?://[/!]?|#|/?\*+)")

# The words of a mark that the heading of its section says already.
REPEATED = re.compile(r"^(Unclear|Differs) (?:in|from) \[[^],]*(?:, ([^]]*))?\]")

OPENING = """\
# Choices

What the sources leave open ("unclear"), and where Fairhaul differs from them on purpose, by the [key](sources.md) of the source; the place in the source is in brackets.
`make choices` collects the page from the comments in the code.
"""  # noqa: E501


def choices(tree: Tree) -> Iterator[str]:
    """The page is what the code says today."""
    lines = zip_longest(tree.get(PAGE, "").splitlines(), page(tree).splitlines())
    for number, (present, wanted) in enumerate(lines, start=1):
        if present != wanted:
            yield f"{PAGE}:{number}: this is not what the code says: run `make choices`"
            return


def page(tree: Tree) -> str:
    """The text of the page."""
    by_key: defaultdict[str, list[str]] = defaultdict(list)
    for path, text in tree.items():
        if path.endswith((".rs", ".py", ".toml", ".c", ".h")):
            for key, choice in _marked(path, text):
                by_key[key].append(f"- {_below_its_key(choice)} ([{path}](../{path}))\n")
    sections = (f"\n## {key}\n\n{''.join(by_key[key])}" for key in sorted(by_key))
    return OPENING + "".join(sections)


def _below_its_key(choice: str) -> str:
    """A choice without its key: "Unclear in [BIC, 3]: the" becomes "Unclear (3): the"."""
    return REPEATED.sub(lambda mark: mark[1] + (f" ({mark[2]})" if mark[2] else ""), choice)


def _marked(path: str, text: str) -> Iterator[tuple[str, str]]:
    """The keys and texts of choices. A choice ends with its comment, or where another begins."""
    choices: list[list[str]] = []
    within = False
    for line in layer(path, text, "comment").splitlines():
        words = COMMENT.sub("", line).strip()
        if begins := MARK.match(words):
            choices.append([begins[1], words])
        elif within and words:
            choices[-1].append(words)
        within = bool(begins or (within and words))
    return ((key, " ".join(words)) for key, *words in choices)

"""Tests that pages cite: `test` or `tests`, followed by names that the code defines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.tidy.tree import Tree

CITED = re.compile(r"\btests? ((?:`\w+`(?:, and |, | and )?)+)")
DEFINED = re.compile(r"^\s*(?:fn|def) (\w+)\(", re.MULTILINE)
# The page whose tables have to name a test in every row, and the headings of their last columns.
THREATS = "docs/threat-model.md"
LAST_COLUMN = "shown by"


def cited_tests(tree: Tree) -> Iterator[str]:
    """Every test that a page names exists, and every step of the threat model names one."""
    code = (text for path, text in tree.items() if path.endswith((".rs", ".py")))
    defined = {name for text in code for name in DEFINED.findall(text)}
    for path, text in tree.items():
        if not path.endswith(".md"):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for cited in CITED.findall(line):
                for name in re.findall(r"`(\w+)`", cited):
                    if name not in defined:
                        yield f"{path}:{number}: there is no test {name}"
    yield from _steps_without_test(tree.get(THREATS, ""))


def _steps_without_test(text: str) -> Iterator[str]:
    """Rows of tables with a column of tests that name none."""
    within = False
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if not line.startswith("|"):
            within = False
        elif cells[-1] == LAST_COLUMN:
            within = True
        elif within and "---" not in line and not CITED.search(cells[-1]):
            yield f"{THREATS}:{number}: name a test that shows this, after the word `test`"

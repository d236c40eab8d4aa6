"""What the tests of a crate reach of it: lines and branches, and the places that nothing reaches.

A row of `tests/search/coverage.csv` is a file; a row of `tests/search/unreached.csv` is a run of
lines that no test reached, with its first line. The tests themselves do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools import ROOT

FOLDER = ROOT / "tests" / "search"
FILES, UNREACHED = FOLDER / "coverage.csv", FOLDER / "unreached.csv"
FILES_HEAD = ("file", "lines", "reached", "branches", "taken", "commit")
UNREACHED_HEAD = ("file", "line", "lines", "first")
TESTS = "#[cfg(test)]"
TEST_FILES = ("tests.rs", "test_support.rs")


@dataclass(kw_only=True)
class Reached:
    """How often each line ran, and each side of each branch was taken."""

    lines: dict[int, int] = field(default_factory=dict)
    branches: dict[tuple[int, str, str], int] = field(default_factory=lambda: defaultdict(int))

    def counts(self) -> tuple[int, int, int, int]:
        """The lines, those reached, the sides of branches, and those taken."""
        lines, branches = self.lines.values(), self.branches.values()
        return len(lines), sum(map(bool, lines)), len(branches), sum(map(bool, branches))

    def unreached(self) -> Iterator[tuple[int, int]]:
        """The runs of lines that were not reached: the first line, and how many of them count."""
        first, count = 0, 0
        for line, times in sorted(self.lines.items()):
            if times:
                if count:
                    yield first, count
                count = 0
                continue
            first, count = first if count else line, count + 1
        if count:
            yield first, count


def read_lcov(text: str, sources: Mapping[str, str]) -> dict[str, Reached]:
    """Read a report of `llvm-cov export -format=lcov` for sources by their paths.

    What comes after the first `#[cfg(test)]` at the beginning of a line is left aside.
    """
    found: dict[str, Reached] = {}
    name, end = "", 0
    for entry in text.splitlines():
        kind, _, rest = entry.partition(":")
        if kind == "SF":
            name = rest if rest in sources else ""
            end = first_line_of_tests(sources.get(name, ""))
        elif name and kind == "DA":
            line, times = map(int, rest.split(",")[:2])
            if line < end:
                reached = found.setdefault(name, Reached())
                reached.lines[line] = reached.lines.get(line, 0) + times
        elif name and kind == "BRDA":
            at, block, side, taken = rest.split(",")
            if int(at) < end:
                times = 0 if taken == "-" else int(taken)
                found.setdefault(name, Reached()).branches[int(at), block, side] += times
    return found


def first_line_of_tests(source: str) -> int:
    """Give the number of the first line of the tests of a file, or of the line after its last."""
    lines = source.splitlines()
    starts = (number for number, line in enumerate(lines, 1) if line.startswith(TESTS))
    return next(starts, len(lines) + 1)


def sources(crates: Sequence[str], root: Path = ROOT) -> dict[str, str]:
    """Give the sources of crates by their absolute paths, without files that only tests use."""
    files = (file for crate in crates for file in (root / "crates" / crate / "src").rglob("*.rs"))
    return {
        str(file): file.read_text(encoding="utf-8") for file in files if file.name not in TEST_FILES
    }

"""The page of requirements: what the RFCs require of a sender, and which test shows that it is followed.

A document is a file of `tests/requirements`, with its sections. A section has the number of the key
words of RFC 2119 in its text, and a statement in our own words for each of them; `words` is the
number of key words that one statement stands for. A comment `// Requirement: rfc6298-2-a, rfc6298-2-b`
directly above a test says that the test shows these requirements.
"""  # noqa: E501

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from tools.tidy.layers import layer
from tools.tidy.tree import Tree

PAGE = "docs/requirements.md"
FOLDER = "tests/requirements"

MUSTS = {"MUST", "MUST NOT", "SHALL", "SHALL NOT", "REQUIRED"}
SHOULDS = {"SHOULD", "SHOULD NOT", "RECOMMENDED", "NOT RECOMMENDED"}
VERDICTS = ("followed", "differs", "not applicable")
TOTALS = ("document", "MUST", "SHOULD", "of these outside", "statements", *VERDICTS)
COLUMNS = ("requirement", "level", "statement", "verdict")

TAG = re.compile(r"^\s*(?://|#) Requirement: (.*)$")
# What may stand between a tag and its test: other comments and attributes.
BETWEEN = re.compile(r"\s*(?:#|//|@)")
RUST_TEST = re.compile(r"\s*#\[test\]")
FUNCTION = re.compile(r"\s*(?:fn|def|async def) (\w+)\(")

OPENING = """\
# Requirements

What the standards require of a sender of bulk data, in our own words, by section: the number of MUST (with MUST NOT, SHALL and REQUIRED) and of SHOULD (with SHOULD NOT, RECOMMENDED and NOT RECOMMENDED) in the text of a section, and a statement for each of them. One statement may stand for several key words, which it says. Key words that only quote or explain another one are mentions and are counted separately; the sentence that explains the key words is not counted. Sections without a key word are absent. The row of a section has its number in bold; a section that does not concern a sender of bulk data is outside: its reason stands in that row, and it has no statements.

- **followed**: the named test shows it, with the defaults of a flow or with the key that the statement names.
- **differs**: the reason is stated. [choices.md](choices.md) has the marks in the code.
- **not applicable**: the simulator does not have the thing that the requirement is about.

The senders of `--engine linux` and of the lab are those of the kernel; this page is about the senders of the simulator.
`make choices` writes the page from the files of `tests/requirements` and from the tags of the tests, and `make check` fails if a requirement that is said to be followed has no test, if a tag stands on something else than a test, or if the statements of a section do not account for all of its key words.
"""  # noqa: E501


@dataclass(frozen=True, kw_only=True)
class Test:
    """A test that shows a requirement."""

    path: str
    name: str


@dataclass(kw_only=True)
class Tags:
    """The tests by requirement, where each requirement is tagged first, and what is wrong with the tags."""  # noqa: E501

    tests: defaultdict[str, list[Test]] = field(default_factory=lambda: defaultdict(list))
    places: dict[str, str] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


def requirements(tree: Tree) -> Iterator[str]:
    """Every requirement has its statement and its test, and the page is what both say today."""
    tags, documents = _tags(tree), _documents(tree)
    yield from tags.complaints
    verdicts: dict[str, str] = {}
    for path, document in documents.items():
        yield from _wrong_document(path, document, tags, verdicts)
    for requirement, place in tags.places.items():
        if requirement not in verdicts:
            yield f"{place}: {requirement} is not in {FOLDER}: write its statement, or correct the name"  # noqa: E501
        elif verdicts[requirement] == "not applicable":
            yield f"{place}: {requirement} is not applicable, so no test shows it"
    lines = zip_longest(tree.get(PAGE, "").splitlines(), page(tree).splitlines())
    for number, (present, wanted) in enumerate(lines, start=1):
        if present != wanted and documents:
            yield f"{PAGE}:{number}: this is not what the requirements say: run `make choices`"
            return


def page(tree: Tree) -> str:
    """The text of the page."""
    tags, documents = _tags(tree), _documents(tree)
    rows = [_total(document) for document in documents.values()]
    head = f"\n{_line(TOTALS)}{_line(['---'] * len(TOTALS))}"
    parts = (_document(document, tags) for document in documents.values())
    return OPENING + head + "".join(rows) + "".join(parts)


def _documents(tree: Tree) -> dict[str, dict[str, Any]]:
    return {path: tomllib.loads(text) for path, text in tree.below(FOLDER, ".toml")}


def _all_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    sections = document.get("section", [])
    return [each for section in sections for each in section.get("requirement", [])]


def _tags(tree: Tree) -> Tags:
    tags = Tags()
    for path, text in tree.items():
        if not path.endswith((".rs", ".py")) or not path.startswith(("crates/", "tests/")):
            continue
        if "Requirement: " not in text:
            continue
        comments, lines = layer(path, text, "comment").splitlines(), text.splitlines()
        for number, comment in enumerate(comments, start=1):
            if found := TAG.match(comment):
                place, name = f"{path}:{number}", _test_below(path, lines[number:])
                if name is None:
                    tags.complaints.append(
                        f"{place}: no test follows: a requirement is shown by a test"
                    )
                for requirement in found[1].split(","):
                    tags.places.setdefault(requirement.strip(), place)
                    if name is not None:
                        tags.tests[requirement.strip()].append(Test(path=path, name=name))
    return tags


def _test_below(path: str, lines: list[str]) -> str | None:
    """The name of the test that begins with these lines."""
    is_test = path.endswith(".py")
    for line in lines:
        if found := FUNCTION.match(line):
            named = path.endswith(".rs") or found[1].startswith("test_")
            return found[1] if is_test and named else None
        if RUST_TEST.match(line):
            is_test = True
        elif not BETWEEN.match(line) and not (path.endswith(".py") and _continues(line)):
            return None
    return None


def _continues(line: str) -> bool:
    """Whether a line of Python belongs to the decorator above it."""
    return line.startswith((" ", ")", "]"))


def _wrong_document(
    path: str, document: dict[str, Any], tags: Tags, verdicts: dict[str, str]
) -> Iterator[str]:
    for section in document.get("section", []):
        place = f"{path}: section {section['number']}"
        if "outside" in section:
            if section.get("requirement"):
                yield f"{place}: it is outside, so it has no statements"
            continue
        counted: Counter[str] = Counter()
        for requirement in section.get("requirement", []):
            level = requirement.get("level")
            counted["must" if level in MUSTS else "should"] += requirement.get("words", 1)
            wanted = f"{document['prefix']}-{section['number']}-"
            yield from _wrong(path, requirement, wanted, tags, verdicts)
        for kind in ("must", "should"):
            if counted[kind] != section[kind]:
                yield f"{place}: {section[kind]} {kind.upper()} in the text, {counted[kind]} in the statements"  # noqa: E501


def _wrong(
    path: str, requirement: dict[str, Any], wanted: str, tags: Tags, verdicts: dict[str, str]
) -> Iterator[str]:
    name, verdict = requirement["id"], requirement.get("verdict")
    place = f"{path}: {name}"
    if name in verdicts:
        yield f"{place}: another requirement has this name"
    verdicts[name] = str(verdict)
    if not name.startswith(wanted):
        yield f"{place}: its name has to begin with {wanted}"
    if requirement.get("level") not in MUSTS | SHOULDS:
        yield f"{place}: the level {requirement.get('level')} is not one of RFC 2119"
    if verdict not in VERDICTS:
        yield f"{place}: the verdict has to be one of: {', '.join(VERDICTS)}"
    if verdict == "followed" and not tags.tests[name]:
        yield f"{place}: no test shows it: write `// Requirement: {name}` above one"
    if verdict != "followed" and not requirement.get("why"):
        yield f"{place}: write the reason: why = ..."


def _total(document: dict[str, Any]) -> str:
    sections, all_of = document.get("section", []), _all_of(document)
    counted = [sum(section[kind] for section in sections) for kind in ("must", "should")]
    by_verdict = Counter(each.get("verdict") for each in all_of)
    outside = sum(s["must"] + s["should"] for s in sections if "outside" in s)
    cells = [*counted, outside, len(all_of), *(by_verdict[verdict] for verdict in VERDICTS)]
    anchor = document["key"].lower().replace(" ", "-")
    return _line([f"[{document['key']}](#{anchor})", *cells])


def _document(document: dict[str, Any], tags: Tags) -> str:
    parts = [f"\n## {document['key']}\n\n{document['about']} {document['counted']}\n"]
    if document.get("note"):
        parts.append(f"\n{document['note']}\n")
    if sections := document.get("section", []):
        parts.append(f"\n{_line(COLUMNS)}{_line(['---'] * len(COLUMNS))}")
    parts += (_section(section, tags) for section in sections)
    return "".join(parts)


def _section(section: dict[str, Any], tags: Tags) -> str:
    """The row of a section, and those of its requirements."""
    counted = f"{section['must']} MUST, {section['should']} SHOULD"
    if section.get("mentions"):
        counted += f", {section['mentions']} mentioned"
    about = f"{section['about']}: {counted}"
    begin = _line([f"**{section['number']}**", "", about, section.get("outside", "")])
    return begin + "".join(_row(each, tags) for each in section.get("requirement", []))


def _row(requirement: dict[str, Any], tags: Tags) -> str:
    tests = ", ".join(f"[`{test.name}`](../{test.path})" for test in tags.tests[requirement["id"]])
    verdict = requirement.get("verdict")
    cell = f"**{verdict}.**"
    if requirement.get("why"):
        cell += f" {requirement['why']}"
    if tests:
        cell += f" {'' if verdict == 'followed' else 'Tested by '}{tests}."
    words = requirement.get("words", 1)
    level = requirement["level"] + (f" ({words} words)" if words > 1 else "")
    return _line([f"`{requirement['id']}`", level, requirement["says"], cell])


def _line(cells: Iterable[object]) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |\n"

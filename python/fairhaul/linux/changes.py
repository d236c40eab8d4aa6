"""The changes to the kernel's sources: `kernel/changes.toml`, and how they are applied.

A change replaces text in one file of the kernel. It is found by its literal text or by a regular
expression, and is required to be there exactly once, unless the change says `every`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairhaul.host.process import Refused
from fairhaul.linux import ours

FILE = "changes.toml"

Number = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One change to a file of the kernel."""

    name: str
    """What is changed; several changes with one name belong together."""
    reason: str
    file: str
    """The path in the kernel's sources."""
    find: str = ""
    """The text that is replaced."""
    pattern: str = ""
    """Instead of `find`: a regular expression, in which ^ and $ match at every line."""
    line: str = ""
    """With a pattern: how an error names the line that is looked for."""
    put: str
    """The new text; after a pattern its groups are \\1, \\2 and so on."""
    every: bool = False
    """Whether the text may be there several times, and all are replaced."""
    since: str = ""
    """The first version that is changed."""
    before: str = ""
    """The first version that is no longer changed."""

    def concerns(self, version: str) -> bool:
        """Whether this version of the kernel is changed."""
        number = numbers(version)
        return not (
            (self.since and number < numbers(self.since))
            or (self.before and number >= numbers(self.before))
        )

    def apply(self, text: str) -> str | None:
        """The changed text, or nothing if what is to be replaced is not there as expected."""
        sought = re.compile(self.pattern or re.escape(self.find), re.MULTILINE)
        count = len(sought.findall(text))
        if count == 0 or (count > 1 and not self.every):
            return None
        if self.pattern:
            return sought.sub(self.put, text)
        return text.replace(self.find, self.put)


def numbers(version: str) -> Number:
    """The numbers of a version: "6.12.117" gives 6, 12, 117."""
    return tuple(int(digits) for digits in re.match(r"[\d.]*", version)[0].split(".") if digits)  # type: ignore[index]


def read(folder: Path = ours.FOLDER) -> list[Change]:
    """All changes, in their order."""
    content = tomllib.loads((folder / FILE).read_text(encoding="utf-8"))
    return [
        Change(name=group["name"], reason=group["reason"], **edit)
        for group in content["change"]
        for edit in group["edit"]
    ]


def changed(originals: Path, version: str, changes: Iterable[Change]) -> dict[str, str]:
    """The changed texts of the kernel's files, by their paths.

    `originals` has the unchanged sources of this version; changes for other versions are ignored.

    Raises:
        Refused: a text that is to be replaced is not there.
    """
    texts: dict[str, str] = {}
    for change in changes:
        if not change.concerns(version):
            continue
        text = texts.get(change.file)
        if text is None:
            text = _read(originals, version, change)
        result = change.apply(text)
        if result is None:
            raise Refused(_not_found(version, change))
        texts[change.file] = result
    return texts


def _read(originals: Path, version: str, change: Change) -> str:
    try:
        return (originals / change.file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Refused(
            f"Linux {version} has no file {change.file}, in which {change.name} is changed{ADVICE}"
        ) from None


def _not_found(version: str, change: Change) -> str:
    line = change.line or change.find.strip().splitlines()[0]
    return (
        f"{change.file} of Linux {version} has no line `{line}` as expected, with which "
        f"{change.name} is changed{ADVICE}"
    )


ADVICE = "; this version cannot be built: build another one, such as Debian's: fairhaul linux build"


def table(changes: Sequence[Change]) -> list[str]:
    """What is changed, in which files, and why: one row of a table in Markdown per name."""
    rows = []
    for name in dict.fromkeys(change.name for change in changes):
        edits = [change for change in changes if change.name == name]
        files = ", ".join(f"`{file}`" for file in dict.fromkeys(edit.file for edit in edits))
        rows.append(f"| {name} | {files} | {edits[0].reason} |")
    return rows

"""The files of the repository, by path from its root."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

BUILT = {"target", "out", "not-met", "dist", "build", "node_modules", "__pycache__"}
"""Folders of what was built, not written."""

DOTTED = {".ci", ".github"}
"""Folders with a leading dot that belong to the project."""


class Tree(dict[str, str]):
    """Texts by path, in the order of paths; the paths of executable files, and of binary ones."""

    def __init__(
        self,
        files: Mapping[str, str],
        executable: frozenset[str] = frozenset(),
        binary: frozenset[str] = frozenset(),
    ) -> None:
        """Take the files, from a test or from `read`."""
        super().__init__(sorted(files.items()))
        self.executable = executable
        self.binary = binary

    def below(self, folder: str, end: str) -> Iterator[tuple[str, str]]:
        """The files inside `folder` whose name ends with `end`."""
        inside = f"{folder}/"
        return (
            (path, text)
            for path, text in self.items()
            if path.startswith(inside) and path.endswith(end)
        )


def read(root: Path) -> Tree:
    """Read every text file below `root`."""
    files, executable, binary = {}, set(), set()
    for file in _written(root):
        path = file.relative_to(root).as_posix()
        try:
            files[path] = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            binary.add(path)
            continue
        if os.access(file, os.X_OK):
            executable.add(path)
    return Tree(files, frozenset(executable), frozenset(binary))


def _written(folder: Path) -> Iterator[Path]:
    """The files that people write: not built, not hidden, not of a virtual environment."""
    for entry in folder.iterdir():
        hidden = entry.name.startswith(".")
        if entry.is_symlink() or entry.name in BUILT:
            continue
        if entry.is_dir():
            if (not hidden or entry.name in DOTTED) and not (entry / "pyvenv.cfg").exists():
                yield from _written(entry)
        elif not hidden:
            yield entry

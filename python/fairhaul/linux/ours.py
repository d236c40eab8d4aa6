"""What goes into the program besides the kernel: the files of the folder `kernel`."""

from __future__ import annotations

import hashlib
from pathlib import Path

FOLDER = Path(__file__).parent / "kernel"

DIGITS = 12
"""Hexadecimal digits of a digest in names and texts."""


def files(folder: Path = FOLDER) -> list[Path]:
    """The files of the folder, in the order of their names."""
    return sorted(file for file in folder.iterdir() if file.is_file() and file.name[0] != ".")


def digest(folder: Path = FOLDER) -> str:
    """The digest of all files of the folder, with their names."""
    return digest_of([(file.name, file.read_bytes()) for file in files(folder)])


def digest_of(parts: list[tuple[str, bytes]]) -> str:
    """The digest of named contents, as a short text."""
    state = hashlib.sha256()
    for name, content in parts:
        state.update(f"{name}\n{len(content)}\n".encode())
        state.update(content)
    return state.hexdigest()[:DIGITS]

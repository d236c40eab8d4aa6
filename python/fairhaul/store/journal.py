"""A journal: the file to which one process appends its results, one line each."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fairhaul.store.rows import Row, line_of


class Journal:
    """A journal that is open for writing, and locked for as long.

    The lock ends with its process. A journal without one was left by a process that was killed.
    """

    def __init__(self, folder: Path) -> None:
        """Create a journal in `folder`."""
        self.path = folder / f"{secrets.token_hex(8)}.jsonl"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL
        self._file = os.open(self.path, flags, 0o666)
        with suppress(OSError):  # a file system without locks: others leave the journal alone
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.size = 0

    def append(self, table: str, row: Row) -> None:
        """Append a row; if that fails, the journal is as it was before.

        Raises:
            OSError: it could not be written.
        """
        line = line_of(table, row)
        try:
            written = os.write(self._file, line)
            if written < len(line):
                raise OSError(28, "No space left on device", str(self.path))
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self.size)
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        self.size += len(line)

    def close(self) -> None:
        """Close the file; the lock ends with it."""
        os.close(self._file)


def orphans(folder: Path) -> Iterator[Path]:
    """Give the journals whose processes have ended; each is locked until the next is given."""
    for path in sorted(folder.glob("*.jsonl")):
        try:
            file = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue  # another process has just made parts of it
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists():
                yield path
        except OSError:
            continue  # it is being written, or the file system has no locks
        finally:
            os.close(file)

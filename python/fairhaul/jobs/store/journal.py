"""A journal: the file to which one process appends its results, one line each."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fairhaul.jobs.store.rows import Row, line_of

# A journal has the first ending until it is locked. What was left there so long ago has no writer.
NEW, SUFFIX = ".new", ".jsonl"
LEFT_S = 3600.0
# What a file system without locks says.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


class Journal:
    """A journal that is open for writing, and locked for as long.

    The lock ends with its process. A journal without one was left by a process that was killed.
    Others see a journal only after it is locked: until then it has another name.
    """

    def __init__(self, folder: Path) -> None:
        """Create a journal in `folder`.

        Raises:
            OSError: it could not be created, or not be locked.
        """
        self.path = folder / f"{secrets.token_hex(8)}{SUFFIX}"
        new = self.path.with_suffix(NEW)
        self._file = os.open(new, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            _lock(self._file)
            new.rename(self.path)
        except OSError:
            os.close(self._file)
            new.unlink(missing_ok=True)
            raise
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


def _lock(file: int) -> None:
    """Lock a file that no other process has; without locks other processes leave it alone."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise


def orphans(folder: Path) -> Iterator[Path]:
    """Give the journals whose processes have ended, each under a new name.

    Each is locked until the next is given, and by its name only one process has it.
    """
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            # A pipe would wait for its writer.
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue  # another process has just made parts of it, or it is no file
        try:
            if taken := _taken(file, path):
                yield taken
        finally:
            os.close(file)
    _remove_left(folder)


def _taken(file: int, path: Path) -> Path | None:
    """Take a journal over, unless a process is writing it or has taken it."""
    if not stat.S_ISREG(os.fstat(file).st_mode):
        return None
    mine = path.with_name(f"{secrets.token_hex(8)}{SUFFIX}")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.rename(mine)
    except OSError:
        return None  # it is being written or has just been taken, or there are no locks
    return mine


def _remove_left(folder: Path) -> None:
    """Remove what processes left that were killed before they had locked their journal."""
    for path in folder.glob(f"*{NEW}"):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - LEFT_S:
                path.unlink()

"""Files that are written completely, or not at all; and files that others may have made."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from shlex import quote

from fairhaul import _core

PACKAGE = Path(_core.__file__).parent
"""The directory of this package."""


def in_package(path: Path) -> str:
    """Say how to get a file of the documentation that the package has; empty for another file."""
    if path.parts[:1] != ("scenarios",) or not (PACKAGE / path).exists():
        return ""
    return f"; the package has it: cp -r {quote(str((PACKAGE / 'scenarios').resolve()))} ."


class NotAFile(OSError):
    """A pipe, a device or another thing that is no regular file; or one that is far too large."""


def read(file: Path, most: int) -> bytes:
    """Read a regular file of at most `most` bytes, which others may have made.

    Raises:
        NotAFile: it is none, or larger.
        OSError: it cannot be read.
    """
    # Opening a pipe would wait for its writer.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotAFile(0, "is no regular file", str(file))
        content = opened.read(most + 1)
    if len(content) > most:
        raise NotAFile(0, f"has more than {most // 1_000_000} MB", str(file))
    return content


def replace(file: Path, content: bytes) -> None:
    """Replace `file` by `content`, completely or not at all."""
    # Not the number of the process: in containers these repeat, over one directory.
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}.draft")
    try:
        draft.write_bytes(content)
        draft.replace(file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from None
    finally:
        draft.unlink(missing_ok=True)


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Write rows as CSV, of which each ends with a line feed."""
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()

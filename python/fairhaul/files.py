"""Files that are written completely, or not at all."""

from __future__ import annotations

import secrets
from pathlib import Path


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

"""Directories that are written completely or not at all, whatever happens meanwhile.

A draft is created when the work begins, so that obstacles are found before the work and not after
it. Its name is always the same for a directory, so that two runs cannot write to one directory. It
is locked, so that the draft of a killed process can be distinguished from one that is being
written, wherever that process ran and whatever its number was.

- If the directory does not exist, its draft lies beside it and is renamed at the end. Creating the
  draft has proved that this is possible.
- If it exists and is empty, it stays the same directory: it may be a mount point, the target of a
  link, or the working directory of a shell. The draft lies within it, and its content is moved up
  at the end, `meta.json` and `report.html` last.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

INNER = ".fairhaul.draft"
# Without these files a directory is not recognised as that of a record or a report.
LAST = ("meta.json", "report.html")


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """A directory that is to be written, its draft, and the open descriptor that holds the lock."""

    directory: Path
    draft: Path
    lock: int

    @property
    def is_inner(self) -> bool:
        """Whether the draft lies within the directory."""
        return self.draft.parent == self.directory


def is_free(directory: Path) -> bool:
    """Whether `directory` may be written: it does not exist, or contains at most a draft."""
    if not directory.exists():
        return True
    return directory.is_dir() and all(entry.name == INNER for entry in directory.iterdir())


@contextmanager
def new_directory(directory: str | Path, *, resume: bool = False) -> Iterator[Path]:
    """Give a draft directory that takes the place of `directory` once it is complete.

    If it fails, only records that are complete are left: they are kept where the
    error or its note says. An interrupt leaves nothing.

    Args:
        directory: the directory, which must be new or empty.
        resume: give the draft of a process that was killed or interrupted as it is, and leave the
            complete records of this one in the draft if it is interrupted.

    Raises:
        FileExistsError: `directory` is not empty, or another run writes to it.
        OSError: it cannot be written.
    """
    claim = _claim(_resolved(Path(directory)), resume)
    kept = False
    try:
        try:
            yield claim.draft
        except (KeyboardInterrupt, GeneratorExit):
            kept = resume and _has_complete(claim.draft)
            raise
        except OSError as error:
            where = _keep(claim) if _has_complete(claim.draft) else None
            kept = where is not None
            raise _located(error, claim, where) from None
        except Exception as error:
            if _has_complete(claim.draft):
                where, kept = _keep(claim), True
                error.add_note(f"the complete records are in {where}")
            raise
        try:
            _finish(claim)
            kept = True
        except OSError as error:
            where, kept = _keep(claim), True
            raise _located(error, claim, where) from None
    finally:
        if not kept:
            shutil.rmtree(claim.draft, ignore_errors=True)
        os.close(claim.lock)


def _resolved(directory: Path) -> Path:
    """Follow links, so that what is written is the directory and not a link to it."""
    try:
        return directory.resolve()
    except RuntimeError:
        raise OSError(errno.ELOOP, "is a link to itself", str(directory)) from None


def _claim(directory: Path, resume: bool) -> _Claim:
    """Make the draft of `directory` and lock it, or report what prevents it."""
    inner = directory.is_dir()
    draft = directory / INNER if inner else directory.with_name(f".{directory.name}.draft")
    _refuse_used(directory)
    _make_parents(draft.parent)
    try:
        lock = _locked(draft, directory)
    except OSError as error:
        if error.filename != str(draft):
            raise
        raise OSError(error.errno, error.strerror, str(directory)) from None
    try:
        # Another run may have been writing to it a moment ago.
        _refuse_used(directory)
        if not resume:
            remove_all(draft.iterdir())  # of a run that was killed
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        os.close(lock)
        raise
    return _Claim(directory=directory, draft=draft, lock=lock)


def remove_all(entries: Iterable[Path]) -> None:
    """Remove files and directories; of a link, the link."""
    for entry in list(entries):
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def _refuse_used(directory: Path) -> None:
    if not is_free(directory):
        what = "exists and is not empty" if directory.is_dir() else "is a file"
        raise FileExistsError(errno.EEXIST, what, str(directory))


def _make_parents(parent: Path) -> None:
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        file = next(p for p in (parent, *parent.parents) if os.path.lexists(p) and not p.is_dir())
        raise OSError(errno.ENOTDIR, "is a file, not a directory", str(file)) from None


def _locked(draft: Path, directory: Path) -> int:
    """Give the descriptor of `draft`, created if necessary, with a lock that no other run has.

    The lock ends with its process, so a draft without one was left by a run that was killed.
    """
    while True:
        is_new = _is_made(draft)
        try:
            lock = os.open(draft, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue  # another run has just finished with it
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise FileExistsError(
                errno.EEXIST, "is being written by another run", str(directory)
            ) from None
        except OSError:
            # No locks on this file system: an existing draft may be that of a running process.
            if not is_new:
                os.close(lock)
                what = f"has a draft, {draft.name}; remove it if no other run is writing to it"
                raise FileExistsError(errno.EEXIST, what, str(directory)) from None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), draft.stat()):
                return lock
        os.close(lock)


def _is_made(draft: Path) -> bool:
    """Make the directory `draft`; return whether it did not exist."""
    try:
        draft.mkdir()
    except FileExistsError:
        return False
    return True


def _finish(claim: _Claim) -> None:
    """Put the draft in its place."""
    if not claim.is_inner:
        claim.draft.rename(claim.directory)
        return
    for entry in sorted(claim.draft.iterdir(), key=lambda entry: entry.name in LAST):
        entry.rename(claim.directory / entry.name)
    claim.draft.rmdir()


def records_in(folder: Path) -> list[Path]:
    """Give the complete records: the folder itself, or the folders one or two levels below it."""
    places = ("", "*/", "*/*/")
    return sorted(file.parent for place in places for file in folder.glob(f"{place}{LAST[0]}"))


def _has_complete(draft: Path) -> bool:
    """Whether a record in `draft` is complete; incomplete records beside it are removed."""
    complete = records_in(draft)
    kept = {place for record in complete for place in (record, record.parent)}
    if complete and draft not in complete:
        for entry in [*draft.glob("*/"), *draft.glob("*/*/")]:
            if entry.is_dir() and entry not in kept and entry.parent not in complete:
                shutil.rmtree(entry, ignore_errors=True)
    return bool(complete)


def _keep(claim: _Claim) -> Path:
    """Give the draft a free name that the next run does not mistake for its own."""
    where = claim.draft.parent
    names = (where / f"{claim.directory.name}-{number}" for number in count(2))
    kept = next(place for place in names if not os.path.lexists(place))
    try:
        claim.draft.rename(kept)
    except OSError:
        return claim.draft
    return kept


def _located(error: OSError, claim: _Claim, kept: Path | None) -> OSError:
    """Say of `error` which file of the directory it is about, and where complete records are."""
    what = error.strerror or str(error)
    if kept is not None:
        what = f"{what}; the complete records are in {kept}"
    draft = str(claim.draft)
    name = error.filename if isinstance(error.filename, str) else str(claim.directory)
    if name.startswith(draft):
        name = str(claim.directory) + name.removeprefix(draft)
    return OSError(error.errno, what, name)

"""The build of Linux as a program, from its source to its folder in the user's cache.

A source is copied once, and stays with its objects below `builds`, so that an interrupted build
goes on where it ended, and a changed file of ours is compiled in seconds.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairhaul._core import RunError
from fairhaul.host.process import Refused
from fairhaul.linux import cache, changes, compiling, debian, ours, requirements, sources
from fairhaul.linux.cache import Program
from fairhaul.linux.progress import OnProgress, Steps

PLACE = "arch/um/drivers"
"""The folder of the kernel's sources that gets our files."""

COPIED = (".c", ".h", ".mk")

NAMES_OF_CONTROLLERS = {"hstcp": "highspeed"}


def build(source: str | Path | None = None, on_progress: OnProgress = lambda _: None) -> Program:
    """Build Linux as a program.

    Args:
        source: a tree or an archive of Linux 6.1 or later, or the name of a package of Debian such
            as "linux-source-6.1"; by default Debian's package of Linux 6.12, which apt fetches.
        on_progress: called with the progress.

    Raises:
        Refused: it cannot be built from this source or on this machine; the text contains what to
            do about it.
        RunError: the build failed.
    """
    folder = cache.folder()
    requirements.check_machine()
    requirements.check_folder(folder)
    steps = Steps(on_progress)
    name = _absolute(str(source or debian.DEFAULT))
    with _only_one(folder, name):
        try:
            return _build(name, folder, steps)
        except OSError as error:
            if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
                raise
            raise Refused(requirements.no_space(folder)) from None


def _build(source: str, folder: Path, steps: Steps) -> Program:
    # Files of ours that are changed during the build belong to the next one.
    files = ours.digest()
    place = sources.copied(source, folder / "builds", steps)
    tree, objects = place / "source", place / "objects"
    version = sources.version_of(tree, source)
    requirements.check_compiler(tree, version)
    apply(tree, place / "originals", version)
    compiling.configure(tree, objects, ours.FOLDER / "config", steps)
    compiling.compile_all(tree, objects, steps)
    facts = facts_of(compiling.facts(tree, objects), objects / ".config", version)
    compiler = requirements.compiler()
    described = {
        "version": version,
        "digest": ours.digest_of([("files", files.encode()), ("compiler", compiler.encode())]),
        "files": files,
        "source": "" if source == debian.DEFAULT else source,
        "compiler": compiler,
        "facts": facts,
    }
    return _install(folder, objects / "linux", described)


def _absolute(source: str) -> str:
    """The source by a name that does not depend on the current folder."""
    if debian.PACKAGE.fullmatch(source):
        return source
    return str(Path(source).expanduser().absolute())


@contextmanager
def _only_one(folder: Path, source: str) -> Iterator[None]:
    """Let one build of a source at a time use the folder."""
    builds = folder / "builds"
    builds.mkdir(exist_ok=True)
    file = builds / f".{ours.digest_of([('source', source.encode())])}.lock"
    with file.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another build that has just ended may have removed the file meanwhile.
            free = file.exists() and os.path.samestat(file.stat(), os.fstat(lock.fileno()))
        except BlockingIOError:
            free = False
        if not free:
            raise Refused(
                f"another build of {source} uses {folder}; wait until it ends, or choose another "
                "folder: XDG_CACHE_HOME=FOLDER fairhaul linux build"
            )
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def apply(tree: Path, originals: Path, version: str, folder: Path = ours.FOLDER) -> None:
    """Apply all changes to a copied tree, and copy our files into it.

    Files that already have their content keep their time, so that they are not compiled again.
    `originals` keeps the unchanged texts of changed files; `folder` has our files.
    """
    rules = [change for change in changes.read(folder) if change.concerns(version)]
    for name in dict.fromkeys(rule.file for rule in rules):
        kept = originals / name
        if not kept.is_file() and (tree / name).is_file():
            kept.parent.mkdir(parents=True, exist_ok=True)
            draft = kept.with_name(f"{kept.name}.draft")
            shutil.copy2(tree / name, draft)
            draft.rename(kept)
    texts = changes.changed(originals, version, rules)
    for kept in (path for path in originals.rglob("*") if path.is_file()):
        name = str(kept.relative_to(originals))
        _write(tree / name, texts.get(name, kept.read_text(encoding="utf-8")))
    copied = [file for file in ours.files(folder) if file.suffix in COPIED]
    names = {file.name for file in copied}
    for old in (tree / PLACE).glob("fairhaul*"):
        if old.suffix in COPIED and old.name not in names:
            old.unlink()
    for file in copied:
        _write(tree / PLACE / file.name, file.read_text(encoding="utf-8"))


def _write(file: Path, text: str) -> None:
    """Write a text, unless the file has it."""
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return
    # The file may be a link to another one.
    file.unlink(missing_ok=True)
    file.write_text(text, encoding="utf-8")


def facts_of(values: dict[str, int], config: Path, version: str) -> dict[str, Any]:
    """What decides how TCP computes in a program: values that were compiled, and `config`."""
    enabled = set(re.findall(r"^CONFIG_(\w+)=y$", config.read_text(encoding="utf-8"), re.M))
    controllers = sorted(
        NAMES_OF_CONTROLLERS.get(name, name)
        for symbol in enabled
        if symbol.startswith("TCP_CONG_") and symbol != "TCP_CONG_ADVANCED"
        for name in [symbol.removeprefix("TCP_CONG_").lower()]
    )
    qdiscs = sorted(
        symbol.removeprefix("NET_SCH_").lower()
        for symbol in enabled
        if symbol.startswith("NET_SCH_") and symbol not in {"NET_SCH_FIFO", "NET_SCH_INGRESS"}
    )
    return {
        **values,
        "struct_ops": {"BPF_JIT", "DEBUG_INFO_BTF"} <= enabled,
        "accecn": changes.numbers(version) >= (6, 18),
        "controllers": sorted([*controllers, "reno"]),
        "qdiscs": sorted([*qdiscs, "pfifo_fast", "pfifo", "bfifo"]),
    }


def _install(folder: Path, linux: Path, described: dict[str, Any]) -> Program:
    """Put the program and its description into their folder of the cache."""
    place = folder / f"{described['version']}-{described['digest']}"
    draft = folder / f".{place.name}.{secrets.token_hex(4)}.draft"
    draft.mkdir()
    try:
        program = draft / cache.NAME
        compiling.strip(linux, program)
        content = program.read_bytes()
        description = {**described, "sha256": hashlib.sha256(content).hexdigest()}
        text = json.dumps(description, indent=2) + "\n"
        (draft / cache.DESCRIPTION).write_text(text, encoding="utf-8")
        if place.exists():
            # A folder cannot be replaced by another one; a program that runs keeps its file.
            old = draft.with_suffix(".old")
            place.rename(old)
            draft.rename(place)
            shutil.rmtree(old)
        else:
            draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    built = cache.read(place)
    if built is None:
        raise RunError(f"{place} was removed while it was written")
    return built

"""The programs in the user's cache: one folder each, by version and digest.

A folder contains the program `linux` and `program.json`, which describes it. It is renamed to its
name when it is complete, so that every folder with such a name can be used.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from fairhaul.host.process import Refused
from fairhaul.linux import ours

DESCRIPTION = "program.json"
VARIABLE = "FAIRHAUL_KERNEL"
NAME = "linux"
FOLDER_NAME = re.compile(rf"\d+\.\d+(\.\d+)?\S*-[0-9a-f]{{{ours.DIGITS}}}")


@dataclass(frozen=True, kw_only=True)
class Program:
    """Linux as a program of the cache."""

    path: Path
    """The program itself."""
    version: str
    """The version of the kernel, such as "6.12.117"."""
    digest: str
    """The digest of what went into the program besides the kernel, and of the compiler: with the
    version the name of its folder."""
    files: str
    """The digest of Fairhaul's files alone."""
    sha256: str
    """The digest of the program: equal programs give equal records."""
    source: str
    """What it was built from, as an argument of `fairhaul linux build`."""
    compiler: str
    facts: Mapping[str, Any]
    """What decides how TCP computes there: `hz`, `max_tcp_header`, `max_skb_frags`,
    `send_buffer_per_packet` (bytes), `struct_ops` and `accecn` (whether the program has them),
    `controllers` and `qdiscs` (names)."""

    @property
    def current(self) -> bool:
        """Whether it was built from the files that this installation has."""
        return self.files == ours.digest()

    @property
    def command(self) -> str:
        """The command that builds it again."""
        return f"fairhaul linux build {self.source}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """The program as a JSON object."""
        return asdict(self) | {
            "path": str(self.path),
            "facts": dict(self.facts),
            "current": self.current,
        }


def folder() -> Path:
    """The folder of all programs and builds."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "fairhaul" / "linux"


def programs() -> list[Program]:
    """All programs of the cache, the newest version first, and current ones before others."""
    kept = folder()
    if not kept.is_dir():
        return []
    paths = [path for path in sorted(kept.iterdir()) if FOLDER_NAME.fullmatch(path.name)]
    found = [program for path in paths if (program := read(path))]
    return sorted(found, key=lambda each: (_number(each.version), each.current), reverse=True)


def read(place: Path) -> Program | None:
    """The program of a folder of the cache, or nothing if the folder has none that is readable."""
    names = {field.name for field in fields(Program)} - {"path"}
    try:
        content = json.loads((place / DESCRIPTION).read_text(encoding="utf-8"))
        path = place / NAME
        if not isinstance(content, dict) or names - content.keys() or not path.is_file():
            return None
    except (OSError, ValueError):
        return None
    return Program(path=path, **{name: content[name] for name in names})


def program(version: str | None = None) -> Program:
    """The program to run: the newest of this version that was built from the present files.

    Args:
        version: the version, or its first numbers, such as "6.12"; by default that of the
            environment variable FAIRHAUL_KERNEL, and without it any.

    Raises:
        Refused: there is none; the text contains the command that builds it.
    """
    version = version or os.environ.get(VARIABLE) or None
    matching = [each for each in programs() if version is None or _begins(each.version, version)]
    current = [each for each in matching if each.current]
    if current:
        return current[0]
    if matching:
        older = matching[0]
        raise Refused(
            f"the program of Linux {older.version} was built from other files of Fairhaul than "
            f"those of this installation; build it again: {older.command}"
        )
    wanted = "" if version is None else f" {version}"
    raise Refused(f"there is no program of Linux{wanted}; build it: {_build(version)}")


def remove(version: str | None = None, *, builds_only: bool = False) -> list[Path]:
    """Remove programs and what their builds have left, and give the folders.

    Args:
        version: the version, or its first numbers; by default everything that is in the cache.
        builds_only: whether the programs are kept.
    """
    kept = folder()
    if not kept.is_dir():
        return []
    places = [path for path in kept.iterdir() if FOLDER_NAME.fullmatch(path.name)]
    builds = [*(kept / "builds").glob("*-*")]
    chosen = [
        place
        for place in sorted([*builds] if builds_only else [*places, *builds])
        if version is None or _begins(place.name.rsplit("-", 1)[0], version)
    ]
    for place in chosen:
        shutil.rmtree(place)
    if version is None:
        # What interrupted commands have left.
        for rest in ("builds", "downloads") if builds_only else ("",):
            shutil.rmtree(kept / rest, ignore_errors=True)
    return chosen


def _build(version: str | None) -> str:
    """The command that builds a version: from Debian if only its first two numbers are given."""
    if version is None or _begins("6.12", version):
        return "fairhaul linux build"
    return "fairhaul linux build SOURCE, with a tree or an archive of that version as SOURCE"


def _begins(version: str, wanted: str) -> bool:
    """Whether the numbers of a version begin with the numbers wanted."""
    return (version + ".").startswith(wanted.rstrip(".") + ".")


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(digits) for digits in re.findall(r"\d+", version))

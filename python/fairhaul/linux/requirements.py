"""What a build needs of the machine: its system, tools, space, and a folder for programs."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from fairhaul.host.process import Refused
from fairhaul.linux.changes import numbers

TOOLS = {
    "gcc": "gcc",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "pahole": "pahole",
    "perl": "perl",
    "ld": "binutils",
    "tar": "tar",
    "xz": "xz-utils",
}
"""The packages of Debian that contain the tools."""

HEADERS = {"stdio.h": "libc6-dev", "libelf.h": "libelf-dev", "zlib.h": "zlib1g-dev"}
"""The packages of Debian that contain the headers."""

GIBIBYTE = 2**30

NEEDED_BYTES = 2 * GIBIBYTE
"""The space for a build, with its source and its objects."""

NEEDED_AGAIN_BYTES = GIBIBYTE // 4
"""The space where a source and its objects are."""


def check_machine() -> None:
    """Refuse a system for which no program can be built, and name all tools that are missing.

    Raises:
        Refused: with the command that installs them.
    """
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        raise Refused(
            f"Linux is built as a program only on Linux on x86-64, and this is {system} on "
            f"{machine}; use another engine: --engine sim"
        )
    missing = [package for tool, package in TOOLS.items() if shutil.which(tool) is None]
    if "gcc" not in missing:
        missing += [package for header, package in HEADERS.items() if not _has(header)]
    else:
        missing += HEADERS.values()
    if missing:
        raise Refused(
            f"a build of Linux needs packages that are missing: sudo apt-get install "
            f"{' '.join(dict.fromkeys(missing))}"
        )


def check_folder(folder: Path) -> None:
    """Refuse a folder without enough space, or in which no program can run."""
    folder.mkdir(parents=True, exist_ok=True)
    built = any((folder / "builds").glob("[0-9]*"))
    if shutil.disk_usage(folder).free < (NEEDED_AGAIN_BYTES if built else NEEDED_BYTES):
        raise Refused(no_space(folder))
    probe = folder / f".probe-{os.getpid()}"
    try:
        probe.write_text("#!/bin/sh\n", encoding="utf-8")
        probe.chmod(0o700)
        subprocess.run([probe], check=True)
    except PermissionError:
        raise Refused(
            f"{folder} is mounted noexec, so that no program can run there; choose another folder: "
            "XDG_CACHE_HOME=FOLDER fairhaul linux build"
        ) from None
    finally:
        probe.unlink(missing_ok=True)


def no_space(folder: Path) -> str:
    """Say that the space of a folder does not suffice."""
    free = shutil.disk_usage(folder).free
    return (
        f"a build of Linux needs {NEEDED_BYTES / GIBIBYTE:.0f} GiB, and {folder} has "
        f"{free / GIBIBYTE:.1f} GiB left; free some, for example by fairhaul linux remove, or "
        "choose another folder: XDG_CACHE_HOME=FOLDER fairhaul linux build"
    )


def compiler() -> str:
    """The compiler and its version, as it names itself."""
    return _first_line(["gcc", "--version"])


def check_compiler(tree: Path, version: str) -> None:
    """Refuse a compiler, or a pahole, that is older than a tree of Linux requires."""
    script = tree / "scripts/min-tool-version.sh"
    for name, ask in (("gcc", ["gcc", "-dumpfullversion"]), ("pahole", ["pahole", "--version"])):
        oldest = _first_line(["sh", str(script), name]) if script.is_file() else ""
        oldest = oldest or ("1.22" if name == "pahole" else "")
        present = _first_line(ask).removeprefix("v")
        if numbers(present) < numbers(oldest):
            raise Refused(
                f"Linux {version} requires {name} {oldest} or later, and this is {name} {present}; "
                f"install a later one: sudo apt-get install {name}"
            )


def answer_of(
    command: list[str], folder: Path | None = None, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a tool in a folder, with a text as its input, and give its answer in English."""
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "LC_ALL": "C"},
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


def _has(header: str) -> bool:
    """Whether the compiler finds a header."""
    return answer_of(["gcc", "-E", "-"], given=f"#include <{header}>\n").returncode == 0


def _first_line(command: list[str]) -> str:
    answer = answer_of(command)
    lines = re.findall(r".+", answer.stdout)
    return lines[0] if answer.returncode == 0 and lines else ""

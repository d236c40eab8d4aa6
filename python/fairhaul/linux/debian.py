"""Debian's packages of the kernel's source, which apt fetches without root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from fairhaul._core import RunError
from fairhaul.host.process import Refused
from fairhaul.linux.progress import Steps
from fairhaul.linux.requirements import answer_of

DEFAULT = "linux-source-6.12"
PACKAGE = re.compile(r"linux-source-\d+\.\d+")


def candidate(package: str, private: Path) -> tuple[str, list[str]]:
    """The name of the package's file, and the options of apt with which it is found.

    `private` is a folder for lists of packages, if those of the system do not have the package.
    """
    if shutil.which("apt-get") is None:
        raise Refused(
            f"this system has no apt-get, which fetches Debian's {package}; give a tree or an "
            "archive of Linux 6.1 or later: fairhaul linux build SOURCE"
        )
    if name := _file_name(package, []):
        return name, []
    options = _private(private)
    _apt([*options, "update"], private)
    if name := _file_name(package, options):
        return name, options
    raise Refused(
        f"apt knows no package {package}; give a tree or an archive of Linux 6.1 or later: "
        "fairhaul linux build SOURCE"
    )


def fetch(package: str, options: list[str], folder: Path, steps: Steps) -> Path:
    """Download the package into the folder, and give its file."""
    steps.begin(f"downloading {package}")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{package}_*.deb"):
        old.unlink()
    private = folder / "apt"
    try:
        _apt([*options, "download", package], folder)
    except RunError:
        if options:
            raise
        # The lists of the system may be so old that the file is no longer offered.
        options = _private(private)
        _apt([*options, "update"], folder)
        _apt([*options, "download", package], folder)
    files = sorted(folder.glob(f"{package}_*.deb"))
    if not files:
        raise RunError(f"apt-get downloaded no file of {package}")
    return files[-1]


def _file_name(package: str, options: list[str]) -> str:
    """The name of the file that apt would download, or nothing."""
    answer = _run([*options, "--print-uris", "download", package], Path("/"))
    found = re.search(rf"^'\S+' ({re.escape(package)}_\S+\.deb) \d+", answer.stdout, re.MULTILINE)
    return found[1] if found else ""


def _private(folder: Path) -> list[str]:
    """Lists of packages in the user's own folder, from the sources of the system."""
    lists, archives = folder / "lists", folder / "archives"
    for path in (lists / "partial", archives / "partial"):
        path.mkdir(parents=True, exist_ok=True)
    return ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={folder}"]


def _apt(arguments: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    answer = _run(arguments, folder)
    if answer.returncode != 0:
        errors = re.findall(r"^[EW]: (.+)", answer.stderr, re.MULTILINE)
        reason = errors[0] if errors else f"status {answer.returncode}"
        raise RunError(f"apt-get {arguments[-2]} {arguments[-1]} failed: {reason}")


def _run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    # As root, apt would use a user of its own for downloads, who may not write into the folder.
    user = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    return answer_of(["apt-get", *user, "-qq", *arguments], folder)

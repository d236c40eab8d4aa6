"""The private environment: Fairhaul and its locked dependencies, apart from other Python packages."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import ROOT
from tools.dist import DEBIAN_PYTHON, Architecture, call

EXTRAS = "attack"
"""Small extras that are installed, because users cannot add packages to the environment."""

PLATFORMS = (
    "manylinux_2_28",
    "manylinux_2_27",
    "manylinux_2_24",
    "manylinux_2_17",
    "manylinux2014",
)


def make(folder: Path, wheel: Path, architecture: Architecture | None) -> None:
    """Install a wheel and what it needs into an empty folder.

    Args:
        folder: the new `site-packages`.
        wheel: the wheel of Fairhaul.
        architecture: the architecture of a Debian package; nothing for this Python.
    """
    shutil.rmtree(folder, ignore_errors=True)
    options: list[str | Path] = ["--only-binary", ":all:", "--no-compile", "--target", folder]
    options += ["-c", ROOT / "requirements.lock", *_foreign(architecture)]
    install = (sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    call([*install, *options, f"fairhaul[{EXTRAS}] @ {wheel.resolve().as_uri()}"], ROOT)
    # The programs of other packages, which nothing calls, and whose first line names this machine.
    shutil.rmtree(folder / "bin", ignore_errors=True)


def seal(folder: Path) -> None:
    """Remove what pip knows of the origin of its packages: they are no longer managed by pip."""
    for name in ("RECORD", "direct_url.json", "REQUESTED", "INSTALLER"):
        for file in folder.glob(f"*.dist-info/{name}"):
            file.unlink()


def _foreign(architecture: Architecture | None) -> Sequence[str]:
    """The options that make pip choose packages for another machine than this."""
    if architecture is None:
        return ()
    platforms = [f"--platform={one}_{architecture.machine}" for one in PLATFORMS]
    return ("--python-version", DEBIAN_PYTHON, "--implementation", "cp", *platforms)

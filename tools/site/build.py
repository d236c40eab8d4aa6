"""Builds the site with Sphinx."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from sphinx.cmd.build import main as sphinx

from fairhaul.studio import write
from tools.site.pages import STUDIO

SETTINGS = Path(__file__).parent


def build(root: Path, out: Path) -> int:
    """Build the site of the pages below `root` in `out`; every warning is an error.

    Raises:
        FileNotFoundError: the engine for the lessons has not been built.
    """
    with TemporaryDirectory() as parsed:
        options = ["-q", "-W", "--keep-going", "-b", "html", "-d", parsed, "-c", str(SETTINGS)]
        status = sphinx([*options, str(root), str(out)])
    if status == 0:
        write(out / STUDIO)
    return status

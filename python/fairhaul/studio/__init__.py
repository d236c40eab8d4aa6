"""The studio: the simulator in one HTML page, which needs no server and no network."""

from __future__ import annotations

import base64
import json
import zlib
from typing import TYPE_CHECKING

from fairhaul.scenario import toml

if TYPE_CHECKING:
    from pathlib import Path

    from fairhaul.scenario import Scenario

__all__ = ["link", "write"]


def link(scenario: Scenario) -> str:
    """Give the fragment of an address with which the studio opens `scenario`.

    The scenario has to be one that its text and its settings describe: files beside it, such as
    capacity traces, and controllers of one's own are not part of the fragment.
    """
    text, file, overrides = scenario.source()
    seed = [("seed", toml(scenario.seed))]
    settings = [*overrides, *scenario.variant, *seed]
    return fragment({"texts": [text], "files": [file], "settings": [settings]})


def fragment(state: object) -> str:
    """Pack the state of a page as the page itself does."""
    packed = zlib.compress(json.dumps(state).encode(), 9)
    return "#s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def write(file: Path, scenario: Scenario | None = None) -> Path:
    """Write the page, which opens with `scenario` or with the first lesson.

    Raises:
        FileNotFoundError: the engine for pages has not been built.
    """
    from fairhaul.files import replace
    from fairhaul.studio.page import page

    replace(file, page(scenario).encode())
    return file

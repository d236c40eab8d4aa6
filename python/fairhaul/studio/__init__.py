"""The studio: the simulator in one HTML page, which needs no server and no network."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul.scenario import source_of

if TYPE_CHECKING:
    from fairhaul.scenario import Scenario

__all__ = ["link", "link_to", "write"]


def link(scenario: Scenario) -> str:
    """Give the fragment of an address with which the studio opens `scenario`.

    The scenario has to be one that its text and its settings describe: files beside it, such as
    capacity traces, and controllers of one's own are not part of the fragment.
    """
    return link_to(source_of(scenario))


def link_to(source: Mapping[str, Any]) -> str:
    """Give the fragment for what `source_of` gave."""
    return fragment({f"{key}s" if key != "settings" else key: [of] for key, of in source.items()})


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

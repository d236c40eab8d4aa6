"""The studio's address of a scenario."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul.scenario.listings import catalogue
from fairhaul.scenario.read import toml

if TYPE_CHECKING:
    from fairhaul._core import Scenario


def link(scenario: Scenario) -> str:
    """Give the fragment of an address with which the studio opens `scenario`; it may be empty.

    The scenario has to be one that its text and its settings describe: files beside it, such as
    capacity traces, are not part of the fragment.
    """
    return link_to(source_of(scenario), scenario.described["flows"])


def link_to(source: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> str:
    """Give the fragment for what `source_of` gave; it is empty with a controller of one's own."""
    if {flow["controller"] for flow in flows} - {of["name"] for of in catalogue()["controllers"]}:
        return ""
    return fragment({f"{key}s" if key != "settings" else key: [of] for key, of in source.items()})


def fragment(state: object) -> str:
    """Pack the state of a page as the page itself does."""
    packed = zlib.compress(json.dumps(state).encode(), 9)
    return "#s=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def source_of(scenario: Scenario) -> dict[str, Any]:
    """Give what the studio opens a scenario by: its text, the text's name, and settings."""
    text, file, overrides = scenario.source()
    settings = [*overrides, *scenario.variant, ("seed", toml(scenario.seed))]
    return {"text": text, "file": Path(file).name, "settings": [list(pair) for pair in settings]}

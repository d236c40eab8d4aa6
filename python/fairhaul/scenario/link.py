"""The studio's address of a scenario."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul._core import ScenarioError
from fairhaul.scenario.read import toml
from fairhaul.text.phrases import listed

if TYPE_CHECKING:
    from fairhaul._core import Scenario


def link(scenario: Scenario) -> str:
    """Give the fragment of an address with which the studio opens `scenario`.

    The scenario has to be one that its text and its settings describe: files beside it, such as
    capacity traces, are not part of the fragment.

    Raises:
        ScenarioError: a controller of one's own is in it, which the studio cannot run.
    """
    refuse_own(scenario)
    return link_to(source_of(scenario))


def refuse_own(scenario: Scenario) -> None:
    """Refuse a scenario with controllers of one's own.

    Raises:
        ScenarioError: it names them.
    """
    if names := sorted(scenario.own()):
        raise ScenarioError(
            f"{scenario.title}: the studio cannot run controllers of your own: {listed(names)}"
        )


def link_to(source: Mapping[str, Any]) -> str:
    """Give the fragment for what `source_of` gave."""
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

"""The studio's address of a scenario."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul._core import ScenarioError
from fairhaul.scenario.listings import catalogue
from fairhaul.scenario.read import toml
from fairhaul.text.phrases import listed

if TYPE_CHECKING:
    from fairhaul._core import Scenario


def link(scenario: Scenario) -> str:
    """Give the fragment of the studio's address that opens `scenario`.

    The scenario has to be one that its text and its settings describe: files beside it, such as
    capacity traces, are not part of the fragment.

    Raises:
        ScenarioError: a controller is in it that the studio cannot run, such as one of one's own.
    """
    refuse_unknown(scenario)
    return link_to(source_of(scenario), scenario.described["flows"])


def refuse_unknown(scenario: Scenario) -> None:
    """Refuse a scenario whose controllers the studio cannot run.

    Raises:
        ScenarioError: it names them.
    """
    if names := _not_in_studio(scenario.described["flows"]):
        raise ScenarioError(
            f"{scenario.title}: the studio has only the controllers of the catalogue, and not "
            f"{listed(names)}"
        )


def _not_in_studio(flows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Give the names of the controllers of one's own and of controllers that only kernels have."""
    known = {entry["name"] for entry in catalogue()["controllers"]}
    # Datagrams have no controller.
    return sorted({flow["controller"] for flow in flows} - known - {"none"})


def link_to(source: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> str:
    """Give the fragment for what `source_of` gave; it is empty where the studio cannot run it."""
    if _not_in_studio(flows):
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

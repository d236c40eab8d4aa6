"""The studio's address of a scenario."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul import _core
from fairhaul._core import ScenarioError
from fairhaul.scenario.listings import catalogue
from fairhaul.scenario.read import toml
from fairhaul.text.phrases import listed

if TYPE_CHECKING:
    from fairhaul._core import Scenario

# A scenario of this name has no files beside it.
_NOWHERE = "/dev/null/scenario"


def link(scenario: Scenario) -> str:
    """Give the fragment of the studio's address that opens `scenario`.

    Raises:
        ScenarioError: the studio cannot run it: a controller is one of one's own, or it has files
            beside it.
    """
    refuse(scenario)
    return _fragment_of(source_of(scenario))


def refuse(scenario: Scenario) -> None:
    """Refuse a scenario that the studio cannot run.

    Raises:
        ScenarioError: it names the controllers that the studio does not have, or the scenario whose
            files beside it a page cannot read.
    """
    if names := _not_in_studio(scenario.described["flows"]):
        raise ScenarioError(
            f"{scenario.title}: the studio has only the controllers of the catalogue, and not "
            f"{listed(names)}"
        )
    if not _stands_alone(source_of(scenario)):
        raise ScenarioError(
            f"{scenario.title}: the studio cannot read files beside the scenario, such as traces; "
            "`fairhaul run` can"
        )


def _not_in_studio(flows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Give the names of the controllers of one's own and of controllers that only kernels have."""
    known = {entry["name"] for entry in catalogue()["controllers"]}
    # Datagrams have no controller.
    return sorted({flow["controller"] for flow in flows} - known - {"none"})


def _stands_alone(source: Mapping[str, Any]) -> bool:
    """Whether a scenario can be read from its text and its settings alone."""
    settings = [(key, value) for key, value in source.get("settings", ())]
    try:
        _core.read(source["text"], _NOWHERE, settings, {})
    except ScenarioError:
        return False
    return True


def link_to(source: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> str:
    """Give the fragment for what `source_of` gave; it is empty where the studio cannot run it."""
    if _not_in_studio(flows) or not _stands_alone(source):
        return ""
    return _fragment_of(source)


def _fragment_of(source: Mapping[str, Any]) -> str:
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

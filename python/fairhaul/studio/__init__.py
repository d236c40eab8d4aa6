"""The studio: the simulator in one HTML page, which needs no server and no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairhaul.scenario.link import link

if TYPE_CHECKING:
    from fairhaul.scenario.read import Scenario

__all__ = ["link", "write"]


def write(file: Path, scenario: Scenario | None = None) -> Path:
    """Write the page, which opens with `scenario` or with the first lesson.

    Raises:
        FileNotFoundError: the engine for pages has not been built.
        ScenarioError: the studio cannot run the scenario.
    """
    from fairhaul.files.files import replace
    from fairhaul.studio.page import page

    replace(file, page(scenario).encode())
    return file

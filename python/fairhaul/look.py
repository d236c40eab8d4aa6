"""What there is to choose from: controllers, queues, kinds of traffic, and the schema of a file."""

from __future__ import annotations

import json
from typing import Any, cast

from fairhaul import _core


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Give the controllers, queues, ways to recover and kinds of traffic, each with its keys.

    Returns:
        Lists under `controllers`, `queues`, `recoveries` and `traffic`. An entry has `name`,
        `title`, `source` (the key of its source, or nothing), `queue` (what a controller needs
        on its way, or nothing) and `keys`: what may stand beside it, each with `name`, `wanted`,
        `default` and `help`.
    """
    return _core.catalogue()


def schema() -> dict[str, Any]:
    """Give the JSON Schema of scenario files, with which editors complete and check them."""
    return cast("dict[str, Any]", json.loads(_core.schema()))


def needed_queue(controller: str) -> str:
    """Name the queue that `controller` needs on its way; nothing where any will do."""
    entries = {entry["name"]: entry for entry in catalogue()["controllers"]}
    return str(entries[controller]["queue"])

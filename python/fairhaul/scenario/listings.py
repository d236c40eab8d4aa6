"""The catalogue of controllers, queues and traffic models, and the schema of scenario files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from fairhaul import _core

if TYPE_CHECKING:
    from fairhaul.measures.types import Catalogue


def catalogue() -> Catalogue:
    """Give controllers, queues, flow counters, loss recoveries and traffic models, with their keys.

    `fairhaul.measures.types.Catalogue` says what each entry holds.
    """
    return cast("Catalogue", json.loads(_core.catalogue()))


def schema() -> dict[str, Any]:
    """Give the JSON Schema of scenario files, with which editors complete and check them."""
    return cast("dict[str, Any]", json.loads(_core.schema()))


def needed_queue(controller: str) -> str:
    """Name the queue that `controller` requires on its path; nothing if it runs with any queue."""
    entries = {entry["name"]: entry for entry in catalogue()["controllers"]}
    return str(entries[controller]["queue"]) if controller in entries else ""

"""What there is to choose from: controllers, queues, kinds of traffic, and the schema of a file."""

from __future__ import annotations

import json
from typing import Any, cast

from fairhaul import _core


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Give the controllers, queues, ways to recover and kinds of traffic, each with its keys."""
    return _core.catalogue()


def schema() -> dict[str, Any]:
    """Give the JSON Schema of scenario files."""
    return cast("dict[str, Any]", json.loads(_core.schema()))

"""Programs for those who work on Fairhaul: they need a checkout, and are not in the wheel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def names(kind: str = "controllers") -> list[str]:
    """Name the controllers, or the queues, in the order of the catalogue."""
    from fairhaul.scenario.listings import catalogue

    lists: Mapping[str, Any] = catalogue()
    return [entry["name"] for entry in lists[kind]]

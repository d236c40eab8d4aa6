"""The large libraries: polars writes and reads Parquet files, and vl-convert draws.

The Debian package `fairhaul` has neither. What reads and writes no such file works without them.
"""

from __future__ import annotations

from importlib.util import find_spec

from fairhaul.scenario.read import ScenarioError

LIBRARIES = ("polars", "vl_convert")
MISSING = (
    "records, stores of results, figures and pages require polars and vl-convert, which are in the "
    "Debian package fairhaul-figures"
)


def require_libraries() -> None:
    """Refuse what writes records or figures, before anything is computed for them.

    Raises:
        ScenarioError: one of the libraries is not installed.
    """
    if not all(find_spec(name) for name in LIBRARIES):
        raise ScenarioError(f"fairhaul: {MISSING}")

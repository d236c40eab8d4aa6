"""Runs with `--out` that go on where the same command was interrupted or killed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairhaul.engines import Engine
    from fairhaul.results import RunFigures
    from fairhaul.scenario import Scenario

# What is stored is the whole record.
OF = "record"


def keys_of(plan: Sequence[Scenario], engine: Engine) -> list[str]:
    """Give the key of each run of a plan: the same for the same result."""
    from fairhaul.store import digest_of, engine_of, key_of

    return [key_of(digest_of(run), run.seed, engine_of(engine, run), OF) for run in plan]


def resumed(
    draft: Path, places: Sequence[str], keys: Sequence[str], trace: str | None
) -> dict[int, RunFigures]:
    """Give the figures of the runs that a draft holds, by their index; remove all else from it.

    A record counts if it is complete, undamaged and has the key of its run, and if its trace is
    there where one is wanted.
    """
    from fairhaul.drafts import remove_all
    from fairhaul.measures import measure
    from fairhaul.record import read

    found: dict[int, RunFigures] = {}
    for index, (place, key) in enumerate(zip(places, keys, strict=True)):
        if place == "." or (trace is not None and not (draft / place / trace).is_file()):
            continue
        try:
            record = read(draft / place)
        except (OSError, ValueError):
            continue
        if record.meta.get("key") == key:
            found[index] = measure(record)
    kept = {places[index] for index in found}
    remove_all(entry for entry in draft.iterdir() if entry.name not in kept)
    return found

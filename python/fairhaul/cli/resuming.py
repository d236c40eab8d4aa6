"""Runs with `--out` that go on where the same command was interrupted or killed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairhaul.cli.records import PlannedRun
    from fairhaul.record.record import Record

# What is stored is the whole record.
OF = "record"


def keys_of(plan: Sequence[PlannedRun]) -> list[str]:
    """Give the key of each run of a plan: the same for the same result."""
    from fairhaul.jobs.store import build_of, jobs_of
    from fairhaul.record.outcome import record_of

    by = build_of(record_of)
    return [jobs_of(run.scenario, 1, run.engine, OF, by)[0].key for run in plan]


def resumed(
    draft: Path, places: Sequence[str], keys: Sequence[str], trace: str | None
) -> Iterator[tuple[int, Record]]:
    """Give the records that a draft holds, with their index; then remove all else from it.

    A record counts if it is complete, undamaged and has the key of its run, and if its trace is
    there where one is wanted.
    """
    from fairhaul.files.drafts import remove_all
    from fairhaul.record.record import read_record

    kept: set[Path] = set()
    for index, (place, key) in enumerate(zip(places, keys, strict=True)):
        if place == "." or (trace is not None and not (draft / place / trace).is_file()):
            continue
        try:
            record = read_record(draft / place)
        except (OSError, ValueError):
            continue
        if record.meta.get("key") == key:
            kept.add(Path(place))
            yield index, record
    # Of several engines, each has its runs in a folder.
    folders = {place.parent for place in kept} - {Path()}
    for folder in (draft, *(draft / name for name in folders)):
        own = (entry.relative_to(draft) for entry in folder.iterdir())
        remove_all(draft / entry for entry in own if entry not in kept | folders)

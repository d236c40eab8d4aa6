"""Digests of what runs give: `python -m tests.digests` records them anew.

Every scenario of the repository, six seconds of its variants, three of each at most. A change of a
rule moves digests, and the new ones go into the same commit; a change of form moves none.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import Scenario, ScenarioError, read

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.record.record import Record

ROOT = Path(__file__).parent.parent
RECORDED = Path(__file__).with_name("digests.json")
VARIANTS = 3
# Long enough for losses on most paths, and the same for all scenarios that are longer.
SHORT_S = 6
SHORT: Mapping[str, object] = {"duration": f"{SHORT_S} s", "warmup": "1 s"}


def scenarios() -> dict[str, Scenario]:
    """Give what is run, by the name of its file and the number of its variant."""
    found = {}
    for path in sorted((ROOT / "scenarios").rglob("*.toml")):
        variants = read(path)
        if variants[0].duration_s > SHORT_S:
            with suppress(ScenarioError):  # something in it starts later
                variants = read(path, SHORT)
        # The simulator refuses what only kernels can do.
        variants = [scenario for scenario in variants if not scenario.kernel_requests()]
        for number, scenario in enumerate(variants[:VARIANTS]):
            found[f"{path.relative_to(ROOT / 'scenarios')} {number}"] = scenario
    return found


def of_column(column: pl.Series) -> bytes:
    """Give the content of a column, whatever its name is."""
    if column.dtype.is_numeric():
        return column.to_numpy().tobytes()  # null is not a number there
    return "\n".join(map(str, column.to_list())).encode()


def of_record(record: Record) -> str:
    """Give the digest of all values of all tables."""
    sums = hashlib.sha256()
    for table in record.tables().values():
        for column in table:
            sums.update(hashlib.sha256(of_column(column)).digest())
    return sums.hexdigest()[:16]


def now() -> dict[str, str]:
    """Run all, and give the digest of each."""
    plan = scenarios()
    digests = for_each(list(plan.values()), lambda _, record: of_record(record))
    return dict(zip(plan, digests, strict=True))


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(now(), indent=1) + "\n", encoding="utf-8")
    sys.stderr.write(f"{RECORDED} is written\n")

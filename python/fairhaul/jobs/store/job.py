"""A job: a run whose result is kept, or is to be kept, in a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.jobs.store.identity import digest_of, engine_of, key_of
from fairhaul.jobs.store.rows import Result
from fairhaul.measures.types import SCHEMA
from fairhaul.scenario.read import Scenario, variant, with_seeds

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run: its scenario with its seed, and what addresses its result.

    `digest` is that of the scenario without its seed, `made_by` the engine as keys name it, `of`
    names what is computed from the record, and `by` is the build that computes it. `settings`
    distinguish the scenario for a reader; by default they are what a sweep has set.
    """

    scenario: Scenario
    digest: str
    made_by: str
    of: str
    by: str
    key: str
    settings: Mapping[str, Any] | None = None

    def result(self, made: Mapping[str, Any], value: Any, session: str) -> Result:
        """Give the result of the job: `value`, which JSON can hold.

        `made` has `engine`, `cpu_s` and `packets` of the run, and `session` is that of the writer.
        """
        settings = variant(self.scenario) if self.settings is None else self.settings
        return Result(
            key=self.key,
            scenario=self.digest,
            seed=str(self.scenario.seed),
            engine=made["engine"],
            build=self.by,
            of=self.of,
            session=session,
            title=self.scenario.title,
            variant=json.dumps(settings, ensure_ascii=False),
            cpu_s=made["cpu_s"],
            packets=int(made["packets"]),
            schema=SCHEMA,
            value=json.dumps(value, ensure_ascii=False, allow_nan=False),
        )


def jobs_of(
    scenario: Scenario,
    seeds: int,
    engine: Engine,
    of: str,
    by: str,
    settings: Mapping[str, Any] | None = None,
) -> list[Job]:
    """Give the jobs of a scenario with `seeds` seeds, counted up from its own.

    `of` names what is computed from the record, and `by` is the build that computes it, as
    `build_of` names it; `settings` distinguish the scenario for a reader.

    Raises:
        ScenarioError: a seed would exceed 2^64 - 1.
        Refused: there is no program for the engine `linux`.
    """
    digest, made_by = digest_of(scenario), engine_of(engine, scenario)
    return [
        Job(
            scenario=seeded,
            digest=digest,
            made_by=made_by,
            of=of,
            by=by,
            key=key_of(digest, seeded.seed, made_by, of, by),
            settings=settings,
        )
        for seeded in with_seeds(scenario, seeds)
    ]

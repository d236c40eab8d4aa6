"""The plan of a sweep: its points, their seeds, and the list of its runs, which is written down.

A *point* is one scenario of the sweep. Each point is run with one or more seeds, and each run has
the key under which the store keeps its result. The plan is stored before the first run, so
that a table can be made of the results later, without the scenario's file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from fairhaul.files import files
from fairhaul.jobs.store import Job, Store, StoreError, build_of, jobs_of, key_of
from fairhaul.measures.measures import figures
from fairhaul.results.table import Point, Row
from fairhaul.scenario.read import Scenario, variant

if TYPE_CHECKING:
    from fairhaul.measures.types import RunFigures
    from fairhaul.scenario.engines import Engine

SCHEMA = 1
FILE = "sweep.json"
# What the results of a sweep are.
OF = "figures"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The points of a sweep, the engine, and the build that runs them."""

    points: Sequence[Point]
    engine: Engine
    build: str

    def keys(self, point: Point) -> list[str]:
        """Give the keys of the results of a point, in the order of the seeds."""
        return [
            key_of(point.digest, point.seed + i, point.made_by, OF, self.build)
            for i in range(point.seeds)
        ]

    def store(self, directory: Path) -> None:
        """Write the plan into the directory of a store.

        Raises:
            OSError: it cannot be written.
        """
        content = {
            "schema": SCHEMA,
            "engine": self.engine,
            "build": self.build,
            "points": [
                {
                    "title": point.title,
                    "variant": point.variant,
                    "scenario": point.digest,
                    "made_by": point.made_by,
                    # A text, because a seed may exceed what other readers of JSON can hold.
                    "seed": str(point.seed),
                    "seeds": point.seeds,
                }
                for point in self.points
            ],
        }
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        files.replace(directory / FILE, text.encode())


def read_plan(directory: Path) -> Plan:
    """Read the plan of the sweep in a directory.

    Raises:
        StoreError: there is none, or it is damaged.
    """
    file = directory / FILE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["schema"] != SCHEMA:
            raise StoreError(f"{file} has schema {content['schema']!r}, not {SCHEMA}")
        points = [
            Point(
                title=point["title"],
                variant=point["variant"],
                digest=point["scenario"],
                made_by=point.get("made_by", content["engine"]),
                seed=int(point["seed"]),
                seeds=point["seeds"],
            )
            for point in content["points"]
        ]
        return Plan(points=points, engine=content["engine"], build=content["build"])
    except FileNotFoundError:
        raise StoreError(f"{directory} is not the directory of a sweep: no {FILE}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{file} is damaged") from None


def planned(
    scenarios: Sequence[Scenario], seeds: Sequence[int], engine: Engine
) -> tuple[Plan, list[Job]]:
    """Plan the runs of scenarios, each with its number of seeds, counted up from its own.

    The first seed of all scenarios comes before the second of any, so that a part of the runs gives
    a coarse picture of the whole.

    Raises:
        ScenarioError: a seed would exceed 2^64 - 1.
    """
    points: list[Point] = []
    each: list[list[Job]] = []
    by = build_of(figures)
    for scenario, count in zip(scenarios, seeds, strict=True):
        own = jobs_of(scenario, count, engine, OF, by)
        each.append(own)
        points.append(
            Point(
                title=scenario.title,
                variant=variant(scenario),
                digest=own[0].digest,
                made_by=own[0].made_by,
                seed=scenario.seed,
                seeds=count,
            )
        )
    by_seed = [job for some in zip_longest(*each) for job in some if job is not None]
    return Plan(points=points, engine=engine, build=by), by_seed


def rows(plan: Plan, store: Store) -> list[Row]:
    """Give the points of a plan in their order, each with its runs in the order of the seeds."""
    wanted = {key for point in plan.points for key in plan.keys(point)}
    found = {result.key: result.decoded() for result in store.results(wanted)}

    def runs(point: Point) -> list[RunFigures]:
        own = {"title": point.title, "variant": dict(point.variant)}
        # Another sweep may have stored the same scenario under another title.
        return [found[key] | own for key in plan.keys(point) if key in found]

    return [Row(point=point, runs=runs(point)) for point in plan.points]

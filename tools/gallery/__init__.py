"""The gallery: what each controller, queue and example does, drawn for the pages under `docs`.

Every controller and queue of the catalogue and every example scenario is in it, so a new one joins
by itself. A part of the gallery gives the runs that it needs, reads their records, and draws; all
runs are made in one go. It reads
the snapshots of the controllers' tests, and scenarios of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul.runs.runs import for_each
from fairhaul.scenario.listings import needed_queue
from tools import ROOT, names

if TYPE_CHECKING:
    from fairhaul.runs.runs import OnProgress
    from fairhaul.scenario.read import Scenario

FOLDER = Path("docs/images/gallery")

# What a run is for: the part of the gallery, the controller or queue, and whatever sets it apart.
Key = tuple[str, ...]
Spec = Mapping[str, Any]

# The figures of all controllers; each controller has one of its own name besides.
OF_ALL = ("staircases", "round-trips", "friendliness")
PARTS = (*OF_ALL, "windows", "queues", "counting", "examples", "sharing")


def write(
    root: Path = ROOT,
    *,
    only: Collection[str] = PARTS,
    quick: bool = False,
    jobs: int | None = None,
    on_progress: OnProgress | None = None,
) -> list[Path]:
    """Run everything and write the figures below `root`; give their paths.

    `only` names the parts that are drawn; `quick` has shorter runs, for a preview; `jobs` is
    how many run at a time.
    """
    from fairhaul.figures.look import on_any_page, svg

    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, chart in _figures(only, quick, jobs, on_progress).items():
        path = folder / f"{name}.svg"
        path.write_text(on_any_page(svg(chart)) + "\n", encoding="utf-8")
        written.append(path)
    return written


def _figures(
    only: Collection[str], quick: bool, jobs: int | None, on_progress: OnProgress | None
) -> dict[str, Spec]:
    from tools.gallery import (
        counting,
        examples,
        friendliness,
        queues,
        round_trips,
        sharing,
        staircases,
        windows,
    )

    all_parts: Mapping[str, Any] = {
        "windows": windows,
        "round-trips": round_trips,
        "friendliness": friendliness,
        "queues": queues,
        "examples": examples,
        "sharing": sharing,
    }
    subjects = {"queues": names("queues"), "examples": examples.names(), "sharing": sharing.names()}
    parts = {part: module for part, module in all_parts.items() if part in only}
    known = {part: subjects.get(part, names()) for part in parts}
    plan: dict[Key, Scenario] = {
        (part, *key): scenario
        for part, module in parts.items()
        for key, scenario in module.plan(known[part], quick).items()
    }
    keys = list(plan)
    read = for_each(
        list(plan.values()),
        lambda index, record: parts[keys[index][0]].read(record),
        jobs=jobs,
        on_progress=on_progress,
    )
    results = dict(zip(keys, read, strict=True))
    drawn: dict[str, Spec] = {}
    if "staircases" in only:
        drawn["staircases"] = staircases.draw(names())
    if "counting" in only:
        drawn[counting.FIGURE] = counting.draw(quick)
    for part, module in parts.items():
        own = {key[1:]: result for key, result in results.items() if key[0] == part}
        drawn |= module.draw(known[part], own)
    return drawn


def of_controller(name: str, flows: str = "F") -> dict[str, object]:
    """Give the settings of flows with a controller.

    BBR is used with RACK-TLP and nowhere without; others have the sender of their papers.
    """
    profile = "linux-tcp" if name in {"bbr", "bbr3"} else "plain"
    return {f"flow.{flows}.controller": name, f"flow.{flows}.profile": profile}


def scenario(file: str, settings: Sequence[Mapping[str, object]]) -> Scenario:
    """Read a scenario of the gallery under `settings`, the last of which weigh most.

    Its queue is DropTail, but where a setting or a controller wants another.
    """
    from fairhaul.scenario.read import read_one

    merged = {name: value for keys in settings for name, value in keys.items()}
    chosen = [str(value) for name, value in merged.items() if name.endswith(".controller")]
    for queue in filter(None, map(needed_queue, chosen)):
        merged.setdefault("bottleneck.queue.kind", queue)
    return read_one(ROOT / "scenarios" / "gallery" / file, merged)

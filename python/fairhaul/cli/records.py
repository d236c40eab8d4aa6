"""The runs of the command `run`: on each engine, with their records in `--out`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairhaul.cli.click_ext import explained
from fairhaul.cli.progress import progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairhaul.answers.cases import Case
    from fairhaul.record.record import Record
    from fairhaul.scenario.engines import Engine
    from fairhaul.scenario.read import Scenario

    # What is done with the record of a run of a plan.
    Then = Callable[[int, Record], None]


# What programs write in a run is in this directory of its own.
PROGRAMS = "programs"
# What is stored is the whole record.
OF = "record"


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A run: its engine, its scenario with its seed, and its directory within `--out`.

    `first`: it is the first of its scenario and engine, and the others are those of more seeds.
    """

    engine: Engine
    scenario: Scenario
    place: str
    first: bool


@dataclass(frozen=True, kw_only=True)
class Ways:
    """How runs are carried out: the number at a time, and whether a run is watched.

    `traced` is the flow whose packets are traced, and the format of the trace. `drawn`: the records
    of the first runs are kept for figures.
    """

    jobs: int | None
    traced: tuple[str, str] | None = None
    watch: bool = False
    drawn: bool = False

    def case(self, run: PlannedRun, record: Record) -> Case:
        """Give what is kept of a record: a case of one run."""
        from fairhaul.answers.cases import Case
        from fairhaul.measures.measures import measure

        kept = record if self.drawn and run.first else None
        return Case(meta=record.meta, runs=[measure(record)], record=kept)


def planned(
    scenarios: Sequence[Scenario], engines: Sequence[Engine], seeds: int | None
) -> list[PlannedRun]:
    """Plan the runs of scenarios; those of each of several engines are in a folder of its name."""
    from fairhaul.scenario.engines import repeats
    from fairhaul.scenario.read import refuse_too_many, with_seeds

    for engine in engines:
        refuse_too_many(scenarios, repeats(engine, seeds))
    plan: list[PlannedRun] = []
    for engine in engines:
        each = repeats(engine, seeds)
        own = [run for scenario in scenarios for run in with_seeds(scenario, each)]
        for index, scenario in enumerate(own):
            within = place(own, index)
            if len(engines) > 1:
                within = engine if within == "." else f"{engine}/{within}"
            first = index % each == 0
            run = PlannedRun(engine=engine, scenario=scenario, place=within, first=first)
            plan.append(run)
    return plan


def place(plan: Sequence[Scenario], index: int) -> str:
    """Name the directory of a run within `--out` by what was swept, or else by the title.

    A single run has no directory of its own.
    """
    from fairhaul.scenario.read import variant

    if len(plan) == 1:
        return "."
    swept = [f"{key.rpartition('.')[2]} {value}" for key, value in variant(plan[index]).items()]
    words = " ".join(swept) or plan[index].title
    name = re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-.")[:60]
    return f"{index + 1:03}-{name}-seed-{plan[index].seed}"


def free_place(wanted: Path) -> Path:
    """Give `wanted`, or the first of `wanted-2`, `wanted-3` … that is new or empty."""
    from itertools import count

    from fairhaul.files.drafts import is_free

    places = (wanted.with_name(f"{wanted.name}-{number}") for number in count(2))
    return wanted if is_free(wanted) else next(place for place in places if is_free(place))


def measure_all(
    plan: Sequence[PlannedRun], out: Path | None, ways: Ways
) -> tuple[list[Case], OSError | None]:
    """Run the whole plan; write the records and a flow's trace into `out`, if given.

    If all runs are complete, they are given even if something could not be written, and with them
    the error.
    """
    _announce(plan, ways)
    _refuse_if_impossible(plan)
    done: dict[int, Case] = {}
    failure: OSError | None = None
    try:
        if out is None:
            _run(plan, lambda i, record: done.__setitem__(i, ways.case(plan[i], record)), ways)
        else:
            _write_all(plan, out, done, ways)
    except OSError as error:
        if len(done) < len(plan):
            raise
        failure = error
    cases: list[Case] = []
    for index, run in enumerate(plan):
        if run.first:
            cases.append(done[index])
        else:
            cases[-1] = replace(cases[-1], runs=[*cases[-1].runs, *done[index].runs])
    return cases, failure


def _by_engine(plan: Sequence[PlannedRun]) -> dict[Engine, list[int]]:
    """Give the places in a plan of the runs of each engine."""
    engines: dict[Engine, list[int]] = {}
    for index, run in enumerate(plan):
        engines.setdefault(run.engine, []).append(index)
    return engines


def _announce(plan: Sequence[PlannedRun], ways: Ways) -> None:
    """Say before they begin what runs will cost that take long."""
    from fairhaul.runs.cost import announced
    from fairhaul.runs.runs import at_once

    for engine, own in _by_engine(plan).items():
        scenarios = [plan[index].scenario for index in own]
        if long := announced(scenarios, at_once(ways.jobs, engine), engine):
            click.echo(f"fairhaul: {long}", err=True)


def _refuse_if_impossible(plan: Sequence[PlannedRun]) -> None:
    """Refuse what an engine cannot run before another runs; one alone refuses by itself."""
    from fairhaul.runs.runs import refuse_if_impossible

    engines = _by_engine(plan)
    if len(engines) == 1:
        return
    for engine, own in engines.items():
        refuse_if_impossible(engine, [plan[index].scenario for index in own])


def _run(plan: Sequence[PlannedRun], then: Then, ways: Ways, kept: Sequence[Path] = ()) -> None:
    """Run a plan, one engine after the other; `kept`: for each run, where files of programs go."""
    from fairhaul.cli.watch import watched
    from fairhaul.runs.runs import for_each

    if ways.watch:
        for index, run in enumerate(plan):
            then(index, watched(run.scenario))
        return
    for engine, own in _by_engine(plan).items():

        def of_engine(number: int, record: Record, own: Sequence[int] = own) -> None:
            then(own[number], record)

        with progress() as on_progress:
            for_each(
                [plan[index].scenario for index in own],
                of_engine,
                jobs=ways.jobs,
                on_progress=on_progress,
                trace=ways.traced and ways.traced[0],
                engine=engine,
                kept=[kept[index] for index in own] if kept else (),
            )


def _write_all(plan: Sequence[PlannedRun], out: Path, done: dict[int, Case], ways: Ways) -> None:
    """Run the plan; write each record as it comes to `out`, and put what is kept into `done`.

    Runs that the same command completed before it was interrupted or killed are not run again.
    """
    from fairhaul.record.record import write_files
    from fairhaul.record.trace import write as write_trace

    keys = _keys_of(plan)
    places = [run.place for run in plan]
    trace = None if ways.traced is None else f"{ways.traced[0]}.{ways.traced[1]}"
    left: list[int] = []

    def keep(number: int, record: Record) -> None:
        index = left[number]
        done[index] = ways.case(plan[index], record)
        directory = draft / places[index]
        directory.mkdir(exist_ok=True, parents=True)
        if ways.traced is not None and trace is not None:
            write_trace(record, *ways.traced, directory / trace)
        write_files(record, directory, keys[index])

    with _claimed(out, resume=len(plan) > 1) as draft:
        for index, record in _resumed(draft, places, keys, trace):
            done[index] = ways.case(plan[index], record)
        if done:
            click.echo(f"fairhaul: {len(done)} of {len(plan)} runs are complete already", err=True)
        left += [index for index in range(len(plan)) if index not in done]
        kept = [draft / places[index] / PROGRAMS for index in left]
        _run([plan[index] for index in left], keep, ways, kept)


def _keys_of(plan: Sequence[PlannedRun]) -> list[str]:
    """Give the key of each run of a plan: the same for the same result."""
    from fairhaul.jobs.store import build_of, jobs_of
    from fairhaul.record.outcome import record_of

    by = build_of(record_of)
    return [jobs_of(run.scenario, 1, run.engine, OF, by)[0].key for run in plan]


def _resumed(
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


@contextmanager
def _claimed(out: Path, *, resume: bool) -> Iterator[Path]:
    """Give the draft of `out`; whether it can be written is checked before anything runs."""
    from fairhaul.files.drafts import new_directory, records_in

    made = new_directory(out, resume=resume)
    try:
        draft = made.__enter__()
    except OSError as error:
        raise click.BadParameter(explained(error), param_hint="--out") from None
    with ExitStack() as stack:
        stack.push(made)
        try:
            yield draft
        except KeyboardInterrupt:
            if resume and records_in(draft):
                click.echo("fairhaul: finished runs are kept; the same command goes on", err=True)
            raise

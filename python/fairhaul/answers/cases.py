"""Cases: the runs of one scenario by one engine, from an answer, a command or records on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul.files import drafts
from fairhaul.measures.measures import measure
from fairhaul.measures.types import is_valid
from fairhaul.record.record import Record, read_record
from fairhaul.results.summary import summary
from fairhaul.scenario.read import ScenarioError, titled
from fairhaul.text.phrases import value_text

if TYPE_CHECKING:
    from fairhaul.measures.types import RunFigures


@dataclass(frozen=True, kw_only=True)
class Case:
    """The runs of one scenario by one engine, an entry of `runs` for each seed.

    `meta` is that of the record of the first run, and `record` this record, if figures are drawn.
    """

    meta: Mapping[str, Any]
    runs: Sequence[RunFigures]
    record: Record | None = None

    @property
    def engine(self) -> str:
        """The engine that ran them."""
        return str(self.meta["engine"])

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The scenario, all of whose defaults are resolved."""
        scenario: Mapping[str, Any] = self.meta["scenario"]
        return scenario

    @property
    def valid(self) -> Sequence[RunFigures]:
        """The runs that count: the valid ones, or all if none is valid."""
        return [run for run in self.runs if is_valid(run)] or self.runs

    @property
    def figures(self) -> Mapping[str, Any]:
        """The figures of the one run that counts, or the means over several."""
        first: Mapping[str, Any] = self.valid[0]
        if len(self.valid) == 1:
            return first
        # Warnings of one run count for all.
        warnings = list(
            dict.fromkeys(text for run in self.valid for text in run.get("warnings", ()))
        )
        more = {"warnings": warnings} if warnings else {}
        return {**summary(self.valid), "title": first["title"], **more}


def by_scenario(cases: Sequence[Case]) -> list[dict[int, Case]]:
    """Group cases of the same scenario by different engines, each with its place in `cases`."""
    groups: list[tuple[object, dict[int, Case]]] = []
    for place, case in enumerate(cases):
        flows = [flow["name"] for flow in case.runs[0]["flows"]]
        of = (case.scenario["title"], case.meta["variant"], flows)
        for key, group in groups:
            if key == of and all(other.engine != case.engine for other in group.values()):
                group[place] = case
                break
        else:
            groups.append((of, {place: case}))
    return [group for _, group in groups]


def labels_of(cases: Sequence[Case], *, with_engines: bool = True) -> list[str]:
    """Name each case in a few words; no two names are the same."""
    titles = {case.scenario["title"] for case in cases}
    engines = {case.engine for case in cases if with_engines}
    labels: list[str] = []
    for case in cases:
        variant = case.meta["variant"]
        short = {key.rpartition(".")[2]: value for key, value in variant.items()}
        label = ", ".join(
            value_text(value) if key == "controller" else f"{key} = {value_text(value)}"
            for key, value in short.items()
        )
        if len(titles) > 1 or not label or len(short) < len(variant):
            label = titled(case.scenario["title"], variant)
        if len(engines) > 1:
            alone = len(titles) == 1 and not short
            label = case.engine if alone else f"{label}, {case.engine}"
        again = sum(other == label or other.startswith(f"{label} (") for other in labels)
        labels.append(f"{label} ({again + 1})" if again else label)
    return labels


def read_cases(directories: Sequence[Path]) -> list[Case]:
    """Read the records in directories, or one or two levels below; group those of other seeds.

    Raises:
        ScenarioError: a directory has no record, or a damaged one, or two records are of one run.
    """
    cases: dict[str, tuple[Record, list[RunFigures]]] = {}
    earlier: dict[tuple[str, int], Path] = {}
    for place in [place for directory in directories for place in _records_in(directory)]:
        record = _read(place)
        meta = record.meta
        scenario = {key: value for key, value in meta["scenario"].items() if key != "seed"}
        key = json.dumps([meta["engine"], meta["version"], meta["variant"], scenario])
        first = earlier.setdefault((key, meta["seed"]), place)
        if first is not place:
            raise ScenarioError(f"{place}: the same run as {first}")
        cases.setdefault(key, (record, []))[1].append(measure(record))
    return [Case(meta=first.meta, runs=runs, record=first) for first, runs in cases.values()]


def _records_in(directory: Path) -> list[Path]:
    if (directory / "meta.json").is_file():
        return [directory]
    if not directory.is_dir():
        what = "a file, not a directory" if directory.exists() else "no such directory"
        raise ScenarioError(f"{directory}: {what}; `fairhaul run FILE --out DIR` writes a record")
    if not (records := drafts.records_in(directory)):
        raise ScenarioError(
            f"{directory}: not the directory of a record: neither it nor a directory in it has a "
            "meta.json; `fairhaul run FILE --out DIR` writes a record"
        )
    return records


def _read(place: Path) -> Record:
    try:
        return read_record(place)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        file = Path(error.filename).name if error.filename else "it"
        raise ScenarioError(f"{place}: cannot read the record: {file}: {why}") from None
    except ValueError as error:
        raise ScenarioError(f"{place}: cannot read the record: {error}") from None

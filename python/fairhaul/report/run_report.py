"""The report of runs: reads records, groups them by scenario, and writes question and answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul.figures import figures as draw
from fairhaul.figures import words
from fairhaul.figures.distributions import of_flows, of_scenarios, of_seeds
from fairhaul.figures.fairness import jain
from fairhaul.figures.figure import Figure
from fairhaul.figures.relations import flows_against_delay, phase, scenarios_against_delay
from fairhaul.figures.slide import Style
from fairhaul.figures.steps import windows
from fairhaul.files import drafts
from fairhaul.measures import grain
from fairhaul.measures.measures import measure
from fairhaul.record.record import Record, read_record
from fairhaul.report.outcome import Outcome, Section
from fairhaul.report.page import MOST_ROWS
from fairhaul.report.page import write as write_page
from fairhaul.report.renderer import Renderer
from fairhaul.results.figure_rows import mean
from fairhaul.results.summary import summary
from fairhaul.scenario.link import link_to
from fairhaul.scenario.read import ScenarioError, titled
from fairhaul.statistics.estimate import legend
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.measures.types import RunFigures

PAGE = "report.html"

# Figures over a swept number that are not folded.
FIRST_SWEPT = 2

# More scenarios than this are compared, but not each drawn in full.
MOST_IN_FULL = 8


@dataclass(kw_only=True)
class ScenarioRuns:
    """The runs of one scenario: the record of the first, and the figures of all, one per seed."""

    record: Record
    runs: list[RunFigures] = field(default_factory=list)

    @property
    def figures(self) -> Mapping[str, Any]:
        """The figures of the one run, or the means over several."""
        if len(self.runs) == 1:
            return self.runs[0]
        # The title and the warnings are the same in all runs.
        first: Mapping[str, Any] = self.runs[0]
        same: dict[str, Any] = {k: first[k] for k in ("title", "warnings") if k in first}
        return {**summary(self.runs), **same}


def write(directories: Sequence[Path], out: Path | None, renderer: Renderer, style: Style) -> Path:
    """Write the report of the records in `directories`, its figures drawn by `renderer`."""
    if not directories:
        raise ScenarioError("a directory with a record is required")
    if out is None and len(directories) > 1:
        raise ScenarioError("several directories require --out DIR, the directory for the report")
    if out is not None and out.exists() and not out.is_dir():
        raise ScenarioError(f"{out}: exists and is not a directory")
    places = [place for directory in directories for place in records_in(directory)]
    return _write(gather(places), (out or directories[0]) / PAGE, renderer, style)


def _write(studies: Sequence[ScenarioRuns], path: Path, renderer: Renderer, style: Style) -> Path:
    measures = [study.figures for study in studies]
    labels = labels_of(studies)
    title = studies[0].record.meta["scenario"]["title"]
    scenario = studies[0].record.meta["scenario"]
    if len(studies) == 1:
        question, answer = words.question(scenario, []), words.answer(measures[0])
        sections = _one(studies[0])
    else:
        question = words.question(scenario, labels)
        answer = words.comparison(labels, measures)
        sections = _several(studies, labels, measures)
        titles = list(dict.fromkeys(study.record.meta["scenario"]["title"] for study in studies))
        if len(titles) > 1:
            question = "How do these scenarios compare?"
            title = "; ".join(titles[:3]) + ("; …" if len(titles) > 3 else "")
    outcome = Outcome(
        study="run",
        title=title,
        question=question,
        answer=answer,
        evidence=lambda: sections,
        values=dict,
    )
    return write_page(path, outcome, renderer, style)


def records_in(directory: Path) -> list[Path]:
    """Find the record in `directory`, or the records one or two levels below."""
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


def gather(places: Sequence[Path]) -> list[ScenarioRuns]:
    """Read all records, and group records that differ only in their seed."""
    studies: dict[str, ScenarioRuns] = {}
    earlier: dict[tuple[str, int], Path] = {}
    for place in places:
        record = _read(place)
        meta = record.meta
        scenario = {key: value for key, value in meta["scenario"].items() if key != "seed"}
        key = json.dumps([meta["engine"], meta["version"], meta["variant"], scenario])
        first = earlier.setdefault((key, meta["seed"]), place)
        if first is not place:
            raise ScenarioError(f"{place}: the same run as {first}")
        studies.setdefault(key, ScenarioRuns(record=record)).runs.append(measure(record))
    return list(studies.values())


def _read(place: Path) -> Record:
    try:
        return read_record(place)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        file = Path(error.filename).name if error.filename else "it"
        raise ScenarioError(f"{place}: cannot read the record: {file}: {why}") from None
    except ValueError as error:
        raise ScenarioError(f"{place}: cannot read the record: {error}") from None


def labels_of(studies: Sequence[ScenarioRuns]) -> list[str]:
    """Name each scenario in a few words; no two names are the same."""
    titles = {study.record.meta["scenario"]["title"] for study in studies}
    engines = {study.record.meta["engine"] for study in studies}
    labels: list[str] = []
    for study in studies:
        meta = study.record.meta
        short = {key.rpartition(".")[2]: value for key, value in meta["variant"].items()}
        label = ", ".join(
            str(value) if key == "controller" else f"{key} = {value}"
            for key, value in short.items()
        )
        if len(titles) > 1 or not label or len(short) < len(meta["variant"]):
            label = titled(meta["scenario"]["title"], meta["variant"])
        if len(engines) > 1:
            alone = len(titles) == 1 and not short
            label = meta["engine"] if alone else f"{label}, {meta['engine']}"
        again = sum(other == label or other.startswith(f"{label} (") for other in labels)
        labels.append(f"{label} ({again + 1})" if again else label)
    return labels


def _one(study: ScenarioRuns) -> list[Section]:
    figures = {figure.name: figure for figure in draw.of_run(study.record, "")}
    found = jain([""], [study.figures], "jain", len(study.runs))
    links = [figures[name] for name in ("queue", "gauges") if name in figures]
    senders = [figures[name] for name in ("cwnd", "controllers", "losses") if name in figures]
    pair, delay = phase(study.record), flows_against_delay(study.runs)
    related = [*([pair] if pair else []), *([delay] if delay else [])]
    spread = [*of_seeds(study.runs), *of_flows(study.runs[0])]
    sections = [
        Section(
            heading="Results", text=[_how(study)], tables=_tables(study), studio=_studio(study)
        ),
        Section(heading="Shares", figures=[figures["shares"]]),
        Section(heading="Senders", figures=senders),
        Section(heading="Links", figures=links),
        Section(heading="Throughput, delay and windows", figures=related),
        Section(heading="Distributions", figures=spread),
        Section(heading="Fairness over time scales", figures=[found] if found else []),
    ]
    return [section for section in sections if section.tables or section.drawn()]


def _several(
    studies: Sequence[ScenarioRuns], labels: Sequence[str], measures: Sequence[Mapping[str, Any]]
) -> list[Section]:
    seeds = max(len(study.runs) for study in studies)
    found = jain(labels[:MOST_IN_FULL], measures[:MOST_IN_FULL], "jain", seeds)
    runs = [study.runs for study in studies]
    delay = scenarios_against_delay(labels, runs)
    spread = of_scenarios(labels, runs)
    text = [_how(studies[0])]
    if len(studies) > MOST_IN_FULL:
        text.append(f"Only the first {MOST_IN_FULL} of {len(studies)} scenarios are drawn in full.")
    many = len(studies) > MOST_IN_FULL
    goodput = draw.shares(labels[:MOST_ROWS], measures[:MOST_ROWS], "goodput")
    swept = _swept(studies)
    slider = windows(labels, [study.record for study in studies])
    together = [
        *swept[:FIRST_SWEPT],
        *([] if many else [goodput]),
        *([delay] if delay else []),
        *([slider] if slider else []),
    ]
    after = [
        Section(heading="More over the swept keys", figures=swept[FIRST_SWEPT:], folded=True),
        Section(heading="Goodput of each flow", figures=[goodput] if many else [], folded=True),
        Section(heading="Distributions over the seeds", figures=spread, folded=many),
        Section(heading="Fairness over time scales", figures=[found] if found else [], folded=many),
    ]
    sections = [
        Section(
            heading="Side by side",
            text=text,
            tables=[_overview(labels, measures)],
            figures=together,
        ),
        *(section for section in after if section.figures),
    ]
    for i, (study, label) in enumerate(zip(studies, labels, strict=True)):
        full = i < MOST_IN_FULL
        figures = draw.of_run(study.record, f"{i + 1}-") if full else []
        text = [words.answer(measures[i])]
        sections.append(
            Section(
                heading=label,
                text=text,
                tables=_tables(study),
                figures=figures,
                folded=True,
                studio=_studio(study),
            )
        )
    return sections


def _swept(studies: Sequence[ScenarioRuns]) -> list[Figure]:
    """Draw the runs over a number that was swept, if there is one."""
    from fairhaul.figures.axes import axes
    from fairhaul.figures.swept import figures
    from fairhaul.results.table import rows_of

    keys = {tuple(study.record.meta["variant"]) for study in studies}
    titles = {study.record.meta["scenario"]["title"] for study in studies}
    if len(keys) > 1 or len(titles) > 1 or keys == {()}:
        return []
    table = rows_of([study.runs for study in studies])
    numbers = [axis for axis in axes(table) if axis.numbers is not None and len(axis.values) > 1]
    drawn = figures(table) if numbers else []
    return [replace(figure, name=f"swept-{figure.name}") for figure in drawn]


def _studio(study: ScenarioRuns) -> str:
    """Give the fragment that opens the scenario; older records do not have its text."""
    source = study.record.meta.get("source")
    return link_to(source) if source else ""


def _how(study: ScenarioRuns) -> str:
    """Describe the duration and the seeds of the runs."""
    scenario = study.record.meta["scenario"]
    seeds = [run["seed"] for run in study.runs]
    measured = f"{scenario['duration_s']:g} s of simulated time"
    if study.record.meta["engine"] != "sim":
        measured = f"{scenario['duration_s']:g} s"
    if scenario["warmup_s"]:
        measured += f", of which the first {scenario['warmup_s']:g} s are not measured"
    trains = grain.of_scenario(scenario)
    of_trains = f" {grain.line(trains, len(scenario['flows']))}" if trains else ""
    if len(seeds) == 1:
        return f"{measured}; seed {seeds[0]}.{of_trains}"
    return (
        f"{measured}; {len(seeds)} seeds. {legend(len(seeds))} Figures over time show seed "
        f"{seeds[0]}.{of_trains}"
    )


def _tables(study: ScenarioRuns) -> list[Table]:
    from fairhaul.results import figure_rows

    figures = study.figures
    columns, rows = figure_rows.flow_rows(figures["flows"])
    looks = draw.looks_of(study.record.meta["scenario"]["flows"])
    shares = [mean(flow["link_share"]) for flow in figures["flows"]]
    tables = [
        Table(
            title="Flows",
            columns=columns,
            rows=rows,
            words=2,
            colours=[look.colour for look in looks],
            bars=[min(1.0, share) for share in shares],
        )
    ]
    if len(rows) > figure_rows.MOST_FLOWS:
        columns, rows = figure_rows.quantile_rows(figures["flows"])
        title = f"Quantiles of all {len(figures['flows'])} flows"
        tables.insert(0, Table(title=title, columns=columns, rows=rows))
    columns, rows = figure_rows.link_rows(figures["links"])
    tables.append(Table(title="Links", columns=columns, rows=rows))
    columns, rows = figure_rows.fairness_rows([figures])
    fairness = [["measured flows", *row] for row in rows]
    return [*tables, Table(title="Fairness", columns=["among", *columns], rows=fairness)]


def _overview(labels: Sequence[str], measures: Sequence[Mapping[str, Any]]) -> Table:
    from fairhaul.results import figure_rows

    columns, rows = figure_rows.fairness_rows(measures)
    busy = [
        max(figures["links"], key=lambda link: mean(link["utilization"])) for figures in measures
    ]
    form = figure_rows.LINK_COLUMNS["utilization"][1]
    shown = [figure_rows.cell(link["utilization"], form) for link in busy]
    return Table(
        columns=["", *columns, "busiest link %"],
        rows=[[label, *row, link] for label, row, link in zip(labels, rows, shown, strict=True)],
    )

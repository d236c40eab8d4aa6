"""An experiment of a paper, as `paper.toml` declares it: its cases, numbers, claims and figures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from fairhaul.figures.figure import Figure
from fairhaul.measures.formula import Formula, FormulaError, read_formula
from fairhaul.record.record import Record
from fairhaul.scenario.described import Described, DescribedLink
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import Scenario, ScenarioError
from fairhaul.statistics.estimate import Bounds
from fairhaul.studies.papers.axes import Axes, Case, Plan, Rule, read_axes
from fairhaul.studies.papers.claims import Statement, claims
from fairhaul.studies.papers.drawing import Drawing, Engines, OwnDrawing
from fairhaul.studies.papers.layout import Layout, Sheet, Star
from fairhaul.studies.papers.lengths import Lengths
from fairhaul.studies.papers.measured import Coincidence
from fairhaul.studies.papers.quoted import read_printed
from fairhaul.studies.papers.results import Claim, Numbers, Results, Settings
from fairhaul.studies.papers.section import Section
from fairhaul.studies.papers.table import Table
from fairhaul.text.phrases import listed, quantity

# A quantity of the scenarios that are run, in a text: the same experiment may run at several rates.
_PLACEHOLDER = re.compile(r"\{(\w+)\}")

# What the file of a paper names: `shares.phases`.
Function = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class OnHosts:
    """How an experiment is run on hosts with a kernel, and by the simulator that predicts them.

    `full` and `quick` are settings of its scenarios: they remove what such hosts cannot do and, for
    the lab, where a run is in real time, set the length of a run; `seeds` are runs of the kernel
    for each case. `why` gives known reasons of differences between the engines.
    """

    full: Settings
    quick: Settings
    quick_seeds: int
    seeds: int = 5
    why: Sequence[str] = ()

    def settings(self, quick: bool) -> Settings:
        """Give the settings of the short form, or of the full one."""
        return {**self.full, **self.quick} if quick else self.full

    def runs(self, quick: bool, seeds: int | None) -> int:
        """Give the number of runs of the kernel for each case: `seeds` if it is given."""
        return seeds or (self.quick_seeds if quick else self.seeds)


@dataclass(frozen=True, kw_only=True)
class Measuring:
    """What is computed of a run: by a function of the paper, by formulas, and losses in common.

    `names` are those of the numbers, None where the function gives further ones.
    """

    function: Function | None
    formulas: Mapping[str, Formula]
    coincidence: Coincidence | None
    names: Sequence[str] | None

    def numbers(self, record: Record) -> Numbers:
        """Compute the numbers of a run."""
        from fairhaul.measures.measures import measure

        figures = measure(record)
        return {
            **(self.function(record, figures) if self.function else {}),
            **{name: formula.of(figures) for name, formula in self.formulas.items()},
            **(self.coincidence.numbers(figures) if self.coincidence else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment of a paper.

    `about` says under `heading` what is run; `assumptions` are made where the paper is silent.
    `keep` takes what a figure needs of the record of each case's first seed. `lab` says how it runs
    on real hosts, if it can, and `linux` how it runs in simulated time, if that is different.
    `open` has the settings that the paper leaves open, with ranges as in `[sweep]`.
    """

    heading: str
    about: str
    seeds: int
    quick_seeds: int
    plan: Plan
    measuring: Measuring
    layout: Layout
    sheets: Sequence[Sheet]
    own_tables: Callable[[Results], Sequence[Table]] | None
    statements: Sequence[Statement]
    drawings: Sequence[Drawing | OwnDrawing]
    keep: Function | None
    lab: OnHosts | None
    linux: OnHosts | None
    bounds: Mapping[str, Bounds]
    assumptions: Sequence[str] = ()
    open: Mapping[str, Any]

    def cases(self, quick: bool, overrides: Settings) -> list[Case]:
        """Read the scenarios of the full or the short form."""
        return self.plan.cases(quick, overrides)

    @property
    def numbers(self) -> Callable[[Record], Numbers]:
        """The function that computes the numbers of a run."""
        return self.measuring.numbers

    def on(self, engines: Sequence[Engine]) -> OnHosts | None:
        """Say how it is run on engines with a kernel, which all run the same scenarios."""
        return self.lab if "lab" in engines else self.linux or self.lab

    def tables(self, results: Results) -> list[Table]:
        """Lay out the results."""
        own = self.own_tables(results) if self.own_tables else ()
        return [*own, *(sheet.table(self.layout, results) for sheet in self.sheets)]

    def claims(self, results: Results) -> list[Claim]:
        """Judge the claims of the paper."""
        return claims(self.statements, self.layout, results)

    def figures(self, results: Results) -> list[Figure]:
        """Draw the results of an engine."""
        drawings = [drawing for drawing in self.drawings if not drawing.lab]
        return self._drawn(drawings, {"simulator": results})

    def overlay(self, engines: Engines) -> list[Figure] | None:
        """Draw engines, by their names, over each other; None without figures that do so."""
        several = [drawing for drawing in self.drawings if drawing.of_engines]
        return self._drawn(several, engines) if several else None

    def _drawn(self, drawings: Sequence[Drawing | OwnDrawing], engines: Engines) -> list[Figure]:
        return [figure for each in drawings for figure in each.figures(self.layout, engines)]

    def quoting(self, scenarios: Sequence[Scenario]) -> Experiment:
        """Give the experiment with the quantities of the scenarios that are run in its texts."""
        return replace(
            self,
            heading=_filled(self.heading, scenarios),
            about=_filled(self.about, scenarios),
            assumptions=[_filled(text, scenarios) for text in self.assumptions],
            sheets=[replace(sheet, title=_filled(sheet.title, scenarios)) for sheet in self.sheets],
        )


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the parts of a paper are: its file, its scenarios, and the functions it names."""

    file: Path
    scenarios: Path
    argument: str
    module: Callable[[str], ModuleType]

    def function(self, section: Section, key: str) -> Function:
        """Find a function by the name of its file and its own."""
        module, _, name = section.text(key).rpartition(".")
        try:
            loaded = getattr(self.module(module), name)
        except (ImportError, AttributeError, SyntaxError, ValueError) as error:
            section.wrong(key, f"FILE.FUNCTION is required, a function of a Python file: {error}")
            loaded = dict
        function: Function = loaded
        return function

    def optional(self, section: Section, key: str) -> Function | None:
        """Find a function whose key may be missing."""
        return self.function(section, key) if key in section.content else None


def read_experiment(section: Section, shared: Section, place: Place) -> Experiment:
    """Read all keys of an experiment; `shared` has the axes that experiments share."""
    axes = read_axes(section.section("axes"), shared)
    quick = section.section("quick")
    plan = _plan(section, quick, axes, place)
    sheets = [Sheet.read(table, axes) for table in section.sections("table")]
    losses = section.section("losses")
    coincidence = losses.read(Coincidence) if losses.content else None
    if coincidence is not None:
        sheets.append(coincidence.sheet(axes))
    star = section.section("star")
    measuring = _measuring(section, coincidence, place)
    experiment = section.read(
        Experiment,
        seeds=section.count("seeds", 1),
        quick_seeds=quick.count("seeds", section.count("seeds", 1)),
        plan=plan,
        measuring=measuring,
        layout=Layout(
            axes=axes,
            printed=read_printed(section, axes, place.file.parent, measuring.names),
            star=star.read(Star) if star.content else None,
            forms={
                number: column.form
                for sheet in reversed(sheets)
                for column in sheet.columns
                for number in column.numbers
            },
        ),
        sheets=sheets,
        own_tables=place.optional(section, "tables"),
        statements=[
            Statement.read(table, axes, place.function) for table in section.sections("claim")
        ],
        drawings=[_drawing(table, section, axes, place) for table in section.sections("figure")],
        keep=_keep(section, place),
        lab=_on_hosts(section, "lab"),
        linux=_on_hosts(section, "linux"),
        bounds=_bounds(section, measuring.formulas),
    )
    quick.close()
    _check(section, experiment)
    return experiment


def _plan(section: Section, quick: Section, axes: Axes, place: Place) -> Plan:
    each_has_one = any(
        all("scenario" in table for table in labels.values()) for labels in axes.settings.values()
    )
    return Plan(
        folder=place.scenarios,
        scenario=section.text("scenario", "" if each_has_one else None),
        axes=axes,
        settings=section.mapping("set"),
        quick=quick.mapping("set"),
        rules=[Rule.read(table, axes) for table in section.sections("when")],
        lengths=Lengths.read(section, quick, axes).of,
        computed=place.optional(section, "settings"),
    )


def _measuring(section: Section, coincidence: Coincidence | None, place: Place) -> Measuring:
    inner, formulas = section.section("numbers"), {}
    for name in inner.content:
        try:
            formulas[name] = read_formula(inner.text(name))
        except FormulaError as error:
            inner.wrong(name, str(error))
    function = place.optional(section, "measures")
    if not (formulas or function or coincidence):
        section.wrong("numbers", "at least one number is required")
    names = [*inner.content, *(coincidence.names if coincidence else [])]
    return Measuring(
        function=function,
        formulas=formulas,
        coincidence=coincidence,
        names=None if function else names,
    )


def _bounds(section: Section, formulas: Mapping[str, Formula]) -> dict[str, Bounds]:
    """Give what the numbers can be: of formulas it is known, of others it may be declared."""
    inner = section.section("bounds")
    bounds = {name: formula.bounds for name, formula in formulas.items()}
    for name in inner.content:
        low, high = inner.numbers(name, 2) or (-math.inf, math.inf)
        bounds[name] = Bounds(low=low, high=high)
    return bounds


def _keep(section: Section, place: Place) -> Function | None:
    flows = section.texts("windows")
    if not flows:
        return place.optional(section, "keep")

    def keep(record: Record) -> Any:
        from fairhaul.studies.papers.figures import windows

        return flows, *windows(record, flows)

    return keep


def _on_hosts(section: Section, engine: str) -> OnHosts | None:
    inner = section.section(engine)
    quick = inner.section("quick")
    hosts = inner.read(
        OnHosts,
        full=inner.mapping("set"),
        quick=quick.mapping("set"),
        quick_seeds=quick.count("seeds", 1),
    )
    quick.close()
    return hosts if inner.content else None


def _drawing(
    section: Section, experiment: Section, axes: Axes, place: Place
) -> Drawing | OwnDrawing:
    if "function" in section.content:
        return section.read(
            OwnDrawing,
            draw=place.function(section, "function"),
            of_engines=section.flag("engines"),
        )
    drawing = Drawing.read(section, axes)
    if drawing.kind == "windows" and not experiment.content.get("windows"):
        section.wrong("kind", "the experiment needs the key `windows`, a list of flows")
    return drawing


def _check(section: Section, of: Experiment) -> None:
    """Note mistakes that no single key has: unknown quantities, numbers, settings and flows."""
    texts = {"heading": [of.heading], "about": [of.about], "assumptions": of.assumptions}
    for key, each in {**texts, "table": [sheet.title for sheet in of.sheets]}.items():
        for name in _PLACEHOLDER.findall(" ".join(each)):
            section.one_of(key, name, list(QUANTITIES), "quantity")
    measuring = of.measuring
    uses = {
        "printed": [name for quoted in of.layout.printed for name in quoted.numbers],
        "table": [n for sheet in of.sheets for column in sheet.columns for n in column.numbers],
        "claim": [name for statement in of.statements for name in statement.numbers],
        "figure": [
            number
            for drawing in of.drawings
            if isinstance(drawing, Drawing)
            for number in drawing.numbers.values()
        ],
        "star": [of.layout.star.number] if of.layout.star else [],
    }
    for key, names in uses.items():
        for name in dict.fromkeys(names) if measuring.names is not None else ():
            section.one_of(key, name, measuring.names or (), "number")
    if not section.mistakes:
        _check_cases(section, of.plan, measuring.formulas)


def _check_cases(section: Section, plan: Plan, formulas: Mapping[str, Formula]) -> None:
    """Read every scenario, and check that it has the flows and links of the formulas."""
    try:
        cases = [case for quick in (True, False) for case in plan.cases(quick, {})]
    except ScenarioError as error:
        wrong = (str(reason).removeprefix("overrides: ") for reason in error.args)
        section.mistakes.extend(f"{section.place}: {reason}" for reason in wrong)
        return
    unknown = {}
    for case in cases if formulas else ():
        described = case.scenario.described
        for name, formula in formulas.items():
            try:
                formula.check(described)
            except FormulaError as error:
                unknown[name] = str(error)
    for name, message in unknown.items():
        section.wrong(f"numbers.{name}", message)


def _filled(text: str, scenarios: Sequence[Scenario]) -> str:
    """Give a text with its quantities: `20 Mbit/s and 200 Mbit/s` where the scenarios differ."""

    def of_all(found: re.Match[str]) -> str:
        written = (QUANTITIES[found[1]](scenario.described) for scenario in scenarios)
        return listed(list(dict.fromkeys(written)))

    return _PLACEHOLDER.sub(of_all, text)


def _slowest(scenario: Described) -> DescribedLink:
    return min(scenario["links"], key=lambda link: link["rate_bps"])


def _buffer(scenario: Described) -> str:
    packets = _slowest(scenario)["capacity_packets"]
    return "no limit" if packets is None else f"{packets} packets"


def _packet(scenario: Described) -> str:
    sizes = sorted({flow["packet_bytes"] for flow in scenario["flows"]})
    return listed([f"{size} bytes" for size in sizes])


# How each is written for a scenario as it is described; rate and buffer are those of the
# slowest link.
QUANTITIES: Mapping[str, Callable[[Described], str]] = {
    "rate": lambda scenario: quantity(_slowest(scenario)["rate_bps"], "bit/s"),
    "buffer": _buffer,
    "packet": _packet,
}

"""One experiment of a `paper.toml`: its cases, numbers, tables, claims and figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from fairhaul.measures.formula import Formula, FormulaError, read_formula
from fairhaul.scenario.read import ScenarioError
from fairhaul.statistics.estimate import Bounds
from fairhaul.studies.papers import losses
from fairhaul.studies.papers.axes import Plan, Rule, read_axes
from fairhaul.studies.papers.claims import Statement, claims
from fairhaul.studies.papers.drawing import Drawing, Engines
from fairhaul.studies.papers.experiment import Experiment, Numbers, OnHosts, Results
from fairhaul.studies.papers.layout import Layout, Sheet, Star, read_printed
from fairhaul.studies.papers.quoted import check_quantities
from fairhaul.studies.papers.section import Section


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the parts of a paper are: its file, its scenarios, and the functions it names."""

    file: Path
    scenarios: Path
    argument: str
    module: Callable[[str], ModuleType]


class ExperimentReader:
    """Reads one experiment."""

    def __init__(self, section: Section, shared: Section, place: Place) -> None:
        """Take the table of the experiment, and the axes that experiments share."""
        self.section = section
        self.place = place
        self.axes = read_axes(section.section("axes"), shared)

    def experiment(self) -> Experiment:
        """Read all keys of the experiment."""
        section = self.section
        quick = section.section("quick")
        plan = self._plan(quick)
        sheets = [Sheet.read(table, self.axes) for table in section.sections("table")]
        grouped = section.section("losses")
        coincidence = losses.Coincidence.read(grouped) if grouped.content else None
        if coincidence is not None:
            sheets.append(coincidence.sheet(self.axes))
        layout = self._layout(sheets)
        seeds = section.count("seeds", 1)
        statements = [
            Statement.read(table, self.axes, self._function) for table in section.sections("claim")
        ]
        drawings = [self._drawing(table) for table in section.sections("figure")]
        formulas = self._formulas()
        experiment = Experiment(
            heading=section.text("heading"),
            about=section.text("about"),
            seeds=seeds,
            quick_seeds=quick.count("seeds", seeds),
            cases=plan.cases,
            numbers=self._numbers(formulas, coincidence),
            tables=self._tables(layout, sheets),
            figures=lambda results: [
                table
                for drawing in drawings
                if not drawing.lab
                for table in drawing.draw(layout, {"simulator": results})
            ],
            claims=lambda results: claims(statements, layout, results),
            keep=self._keep(),
            chosen=section.texts("assumptions"),
            lab=self._on_hosts("lab"),
            linux=self._on_hosts("linux"),
            overlay=_overlay(layout, drawings),
            bounds=self._bounds(formulas),
            open=section.mapping("open"),
        )
        self._check_texts(experiment, sheets)
        quick.close()
        section.close()
        known = [*section.mapping("numbers"), *(coincidence.names if coincidence else ())]
        uses = {
            "printed": [name for _, numbers in layout.printed for name in numbers],
            "table": [
                name for sheet in sheets for table in sheet.columns for name in table.numbers
            ],
            "claim": [name for table in statements for name in table.numbers],
            "figure": [name for drawing in drawings for name in drawing.numbers],
            "star": [layout.star.number] if layout.star else [],
        }
        if "measures" not in section.content:
            for key, names in uses.items():
                for name in dict.fromkeys(names):
                    section.one_of(key, name, known, "number")
        if not section.mistakes:
            self._check_cases(plan, formulas)
        return experiment

    def _check_texts(self, experiment: Experiment, sheets: Sequence[Sheet]) -> None:
        texts = {
            "heading": [experiment.heading],
            "about": [experiment.about],
            "assumptions": experiment.chosen,
            "table": [sheet.title for sheet in sheets],
        }
        check_quantities(self.section, texts)

    def _check_cases(self, plan: Plan, formulas: Mapping[str, Formula]) -> None:
        """Read every scenario, and check that it has the flows and links of the formulas."""
        try:
            cases = [case for quick in (True, False) for case in plan.cases(quick, {})]
        except ScenarioError as error:
            wrong = (str(reason).removeprefix("overrides: ") for reason in error.args)
            self.section.mistakes.extend(f"{self.section.place}: {reason}" for reason in wrong)
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
            self.section.wrong(f"numbers.{name}", message)

    def _plan(self, quick: Section) -> Plan:
        section = self.section
        return Plan(
            folder=self.place.scenarios,
            scenario=section.text("scenario", "" if self._has_scenarios() else None),
            axes=self.axes,
            settings=section.mapping("set"),
            quick=quick.mapping("set"),
            rules=[Rule.read(table, self.axes) for table in section.sections("when")],
            computed=self._optional("settings"),
        )

    def _has_scenarios(self) -> bool:
        """Whether an axis names a scenario for each of its labels."""
        return any(
            all("scenario" in table for table in labels.values())
            for labels in self.axes.settings.values()
        )

    def _layout(self, sheets: Sequence[Sheet]) -> Layout:
        star = self.section.section("star")
        known = Star(number=star.text("number", ""), below=star.number("below", 0))
        star.close()
        return Layout(
            axes=self.axes,
            printed=read_printed(self.section, self.axes),
            star=known if star.content else None,
            forms={
                number: column.form
                for sheet in reversed(sheets)
                for column in sheet.columns
                for number in column.numbers
            },
        )

    def _tables(self, layout: Layout, sheets: Sequence[Sheet]) -> Callable[[Results], Any]:
        others = self._optional("tables")
        return lambda results: [
            *(others(results) if others else ()),
            *(sheet.table(layout, results) for sheet in sheets),
        ]

    def _numbers(
        self, formulas: Mapping[str, Formula], coincidence: losses.Coincidence | None
    ) -> Callable[[Any], Numbers]:
        measured = self._optional("measures")
        if not (formulas or measured or coincidence):
            self.section.wrong("numbers", "at least one number is required")

        def numbers(record: Any) -> Numbers:
            from fairhaul.measures.measures import measure

            figures = measure(record)
            return {
                **(measured(record, figures) if measured else {}),
                **{name: formula.of(figures) for name, formula in formulas.items()},
                **(coincidence.numbers(figures) if coincidence else {}),
            }

        return numbers

    def _formulas(self) -> dict[str, Formula]:
        section, formulas = self.section.section("numbers"), {}
        for name in section.content:
            try:
                formulas[name] = read_formula(section.text(name))
            except FormulaError as error:
                section.wrong(name, str(error))
        return formulas

    def _bounds(self, formulas: Mapping[str, Formula]) -> dict[str, Bounds]:
        """Give what the numbers can be: of formulas it is known, of others it may be declared."""
        section = self.section.section("bounds")
        bounds = {name: formula.bounds for name, formula in formulas.items()}
        for name in section.content:
            low, high = section.numbers(name, 2) or (-math.inf, math.inf)
            bounds[name] = Bounds(low=low, high=high)
        return bounds

    def _keep(self) -> Callable[[Any], Any] | None:
        flows = self.section.texts("windows")
        if not flows:
            return self._optional("keep")

        def keep(record: Any) -> Any:
            from fairhaul.studies.papers.figures import windows

            return flows, *windows(record, flows)

        return keep

    def _on_hosts(self, engine: str) -> OnHosts | None:
        section = self.section.section(engine)
        quick = section.section("quick")
        hosts = OnHosts(
            full=section.mapping("set"),
            quick=quick.mapping("set"),
            seeds=section.count("seeds", 5),
            quick_seeds=quick.count("seeds", 1),
            why=section.texts("why"),
        )
        quick.close()
        section.close()
        return hosts if section.content else None

    def _drawing(self, section: Section) -> _Drawn:
        lab = section.flag("lab")
        if "function" in section.content:
            function = self._function(section, "function")
            several = section.flag("engines")
            section.close()
            return _Drawn(draw=lambda _, engines: function(engines), lab=lab, engines=several)
        drawing = Drawing.read(section, self.axes)
        if drawing.kind == "windows" and not self.section.content.get("windows"):
            section.wrong("kind", "the experiment needs the key `windows`, a list of flows")
        several = drawing.kind == "engines"
        numbers = list(drawing.numbers.values())
        return _Drawn(draw=drawing.figures, lab=lab, engines=several, numbers=numbers)

    def _optional(self, key: str) -> Callable[..., Any] | None:
        return self._function(self.section, key) if key in self.section.content else None

    def _function(self, section: Section, key: str) -> Callable[..., Any]:
        """Find a function by the name of its file and its own: `shares.phases`."""
        module, _, name = section.text(key).rpartition(".")
        try:
            loaded = getattr(self.place.module(module), name)
        except (ImportError, AttributeError, SyntaxError, ValueError) as error:
            section.wrong(key, f"FILE.FUNCTION is required, a function of a Python file: {error}")
            loaded = dict
        function: Callable[..., Any] = loaded
        return function


@dataclass(frozen=True, kw_only=True)
class _Drawn:
    """How figures are drawn; `lab` ones only beside real hosts, `engines` ones of all engines."""

    draw: Callable[[Layout, Engines], Any]
    lab: bool
    engines: bool
    numbers: Sequence[str] = ()


def _overlay(layout: Layout, drawings: Sequence[_Drawn]) -> Callable[[Engines], Any] | None:
    several = [drawing for drawing in drawings if drawing.engines]
    if not several:
        return None
    return lambda engines: [
        figure for drawing in several for figure in drawing.draw(layout, engines)
    ]

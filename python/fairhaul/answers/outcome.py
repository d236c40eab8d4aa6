"""Runs in words, tables and figures: of one scenario in full, of several side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from fairhaul.answers.cases import Case, by_scenario, labels_of
from fairhaul.figures import words
from fairhaul.figures.fairness import is_flat
from fairhaul.figures.look import colours_of
from fairhaul.figures.view import DEFAULT, View
from fairhaul.measures import grain
from fairhaul.report.outcome import Outcome, Section
from fairhaul.results.figure_rows import overview, tables_of
from fairhaul.results.summary import scenario_result
from fairhaul.results.table import rows_of
from fairhaul.scenario import profiles
from fairhaul.scenario.engines import FACTS
from fairhaul.scenario.link import link_to
from fairhaul.scenario.read import ScenarioError
from fairhaul.statistics.estimate import legend

if TYPE_CHECKING:
    from fairhaul.figures.figure import Figure
    from fairhaul.measures.types import RunFigures

    Figures = Callable[[], list[Figure]]

# More cases than this are compared, but not each drawn in full.
MOST_IN_FULL = 8
# Of more cases, the goodput of each flow is a long figure.
MOST_ROWS = 24


def outcome_of(cases: Sequence[Case], view: View = DEFAULT) -> Outcome:
    """Put runs into words and tables, and into figures those whose records are there.

    Raises:
        ScenarioError: there are no runs, or the view has a key that was not swept.
    """
    if not cases:
        raise ScenarioError("a directory with a record is required")
    if view != DEFAULT:
        view.check(rows_of([case.runs for case in cases]))
    figures, labels, first = [case.figures for case in cases], labels_of(cases), cases[0].scenario
    titles = list(dict.fromkeys(case.scenario["title"] for case in cases))
    if len(cases) == 1:
        question, answer = words.question(first, []), words.answer(figures[0])
    else:
        question = "How do these scenarios compare?"
        if len(titles) == 1:
            question = words.question(first, labels)
        answer = words.comparison(labels, figures)
    return Outcome(
        study="run",
        title="; ".join(titles[:3]) + ("; …" if len(titles) > 3 else ""),
        question=question,
        answer=answer,
        evidence=lambda: _one(cases[0]) if len(cases) == 1 else _several(cases, labels, view),
        values=lambda: {"scenarios": [scenario_result(case.runs) for case in cases]},
    )


def _one(case: Case) -> list[Section]:
    of_run = cache(lambda: {figure.name: figure for figure in _of_run(case, "")})

    def named(*names: str) -> Figures:
        return lambda: [of_run()[name] for name in names if name in of_run()]

    return [
        _results([case], "Results"),
        Section(heading="Goodput", figures=named("shares")),
        Section(heading="Senders", figures=named("cwnd", "controllers", "losses")),
        Section(heading="Links", figures=named("queue", "gauges", "drops")),
        Section(heading="Throughput, delay and windows", figures=lambda: _related(case)),
        Section(heading="Distributions", figures=lambda: _spread(case)),
        Section(
            heading="Fairness over time scales",
            figures=lambda: _fairness([case], [""]),
            folded=is_flat([case.figures]),
        ),
    ]


def _several(cases: Sequence[Case], labels: Sequence[str], view: View) -> list[Section]:
    many = len(cases) > MOST_IN_FULL
    swept = cache(lambda: _swept(cases, view))
    goodput = cache(lambda: _goodput(cases[:MOST_ROWS], labels))
    most = max(len(case.valid) for case in cases)
    text = [legend(most)] if most > 1 else []
    if many and cases[0].record is not None:
        text.append(f"Only the first {MOST_IN_FULL} of {len(cases)} scenarios are drawn in full.")
    scenarios = by_scenario(cases)
    names = labels_of([next(iter(own.values())) for own in scenarios], with_engines=False)
    return [
        Section(
            heading="Side by side",
            text=text,
            tables=[overview(labels, [case.figures for case in cases])],
            figures=lambda: [
                *swept()[0],
                *([] if many else [*goodput(), *_over_time(cases, labels)]),
                *_together(cases, labels),
            ],
        ),
        Section(
            heading="More over the swept keys",
            figures=lambda: swept()[1],
            folded=True,
        ),
        Section(
            heading="Goodput of each flow",
            figures=lambda: goodput() if many else [],
            folded=True,
        ),
        Section(
            heading="Distributions over the seeds",
            figures=lambda: _spread_of_scenarios(cases, labels),
            folded=many,
        ),
        Section(
            heading="Fairness over time scales",
            figures=lambda: _fairness(cases[:MOST_IN_FULL], labels),
            folded=many or is_flat([case.figures for case in cases]),
        ),
        *(_in_full(own, name) for own, name in zip(scenarios, names, strict=True)),
    ]


def _in_full(own: Mapping[int, Case], name: str) -> Section:
    """Lay out one of several scenarios, by all engines; figures have the places of the cases."""
    return replace(
        _results(list(own.values()), name, with_answer=True),
        figures=lambda: [
            figure
            for place, case in own.items()
            if place < MOST_IN_FULL
            for figure in _of_run(case, f"{place + 1}-")
        ],
        folded=True,
    )


def _results(own: Sequence[Case], heading: str, *, with_answer: bool = False) -> Section:
    """Lay out one scenario in words and tables, the results of several engines below each other."""
    text: list[str] = []
    for case in own:
        lead = f"{case.engine}: " if len(own) > 1 else ""
        answer = [words.answer(case.figures)] if with_answer else []
        text += [f"{lead}{line}" for line in (*answer, *_how(case), *_trust(case.runs))]
    source = own[0].meta.get("source")
    colours = colours_of(own[0].scenario["flows"])
    return Section(
        heading=heading,
        text=text,
        tables=tables_of({case.engine: case.figures for case in own}, colours),
        # Older records do not have the text of their scenario.
        studio=link_to(source, own[0].scenario["flows"]) if source else "",
    )


def _how(case: Case) -> Iterator[str]:
    """Describe the duration and the seeds of the runs, and their grain and senders."""
    scenario, seeds = case.scenario, [run["seed"] for run in case.valid]
    measured = f"{scenario['duration_s']:g} s{' of simulated time' if case.engine == 'sim' else ''}"
    if scenario["warmup_s"]:
        measured += f", of which the first {scenario['warmup_s']:g} s are not measured"
    if len(seeds) == 1:
        yield f"{measured}; seed {seeds[0]}."
    else:
        yield (
            f"{measured}; seeds {seeds[0]} to {seeds[-1]}. {legend(len(seeds))}"
            f"{f' Figures over time show seed {seeds[0]}.' if case.record else ''}"
        )
    if single := grain.of_scenario(scenario):
        yield grain.line(single)
    if not FACTS[case.runs[0]["engine"]].kernel:
        flows = (flow for flow in case.runs[0]["flows"] if flow["controller"])
        if used := [flow["profile"] for flow in flows]:
            yield profiles.line(used)


def _trust(runs: Sequence[RunFigures]) -> Iterator[str]:
    """Say which kernel ran, which runs are valid and, in real time, how late packets were."""
    trusts = [run["trust"] for run in runs if "trust" in run]
    if not trusts:
        return
    valid = [trust for trust in trusts if trust["valid"]]
    if "lag" in trusts[0]:
        late = max(trust["lag"]["p99_s"] for trust in valid or trusts)
        load = max(trust["router_load"] for trust in valid or trusts)
        yield (
            f"Linux {runs[0]['kernel']}, packet mode {trusts[0]['mode']}; 99 % of the packets were "
            f"at most {1000 * late:.2f} ms late, and the router was busy for {load:.0%} of the "
            f"time. {len(valid)} of {len(runs)} runs are valid."
        )
    else:
        yield (
            f"Linux {runs[0]['kernel']} in simulated time, program {runs[0]['program']}, "
            f"{runs[0]['memory_mb']} MB of memory."
        )
    yield from sorted({f"Invalid: {reason}" for trust in trusts for reason in trust["reasons"]})
    warnings = {warning for trust in trusts for warning in trust.get("warnings", ())}
    yield from (f"Warning: {warning}" for warning in sorted(warnings))


def _of_run(case: Case, prefix: str) -> list[Figure]:
    from fairhaul.figures.figures import of_run

    return of_run(case.record, prefix) if case.record is not None else []


def _related(case: Case) -> list[Figure]:
    from fairhaul.figures.relations import flows_against_delay, phase

    pair = phase(case.record) if case.record is not None else None
    return [figure for figure in (pair, flows_against_delay(case.runs)) if figure is not None]


def _spread(case: Case) -> list[Figure]:
    from fairhaul.figures.distributions import of_flows, of_seeds

    return [*of_seeds(case.runs), *of_flows(case.runs[0])]


def _spread_of_scenarios(cases: Sequence[Case], labels: Sequence[str]) -> list[Figure]:
    from fairhaul.figures.distributions import of_scenarios

    return of_scenarios(labels, [case.runs for case in cases])


def _fairness(cases: Sequence[Case], labels: Sequence[str]) -> list[Figure]:
    from fairhaul.figures.fairness import jain

    seeds = max(len(case.runs) for case in cases)
    drawn = jain(labels[: len(cases)], [case.figures for case in cases], "jain", seeds)
    return [drawn] if drawn is not None else []


def _goodput(cases: Sequence[Case], labels: Sequence[str]) -> list[Figure]:
    from fairhaul.figures.goodputs import shares

    figures, scenarios = [case.figures for case in cases], [case.scenario for case in cases]
    return [shares(labels[: len(cases)], figures, scenarios, "goodput")]


def _over_time(cases: Sequence[Case], labels: Sequence[str]) -> list[Figure]:
    from fairhaul.figures.goodputs import over_time

    records = [case.record for case in cases if case.record is not None]
    drawn = over_time(labels, records) if 1 < len(records) == len(cases) else None
    return [] if drawn is None else [drawn]


def _together(cases: Sequence[Case], labels: Sequence[str]) -> list[Figure]:
    """Draw all cases against the delay, and their windows one by one."""
    from fairhaul.figures.relations import scenarios_against_delay
    from fairhaul.figures.steps import windows

    records = [case.record for case in cases if case.record is not None]
    delay = scenarios_against_delay(labels, [case.runs for case in cases])
    slider = windows(labels, records) if len(records) == len(cases) else None
    return [figure for figure in (delay, slider) if figure is not None]


def _swept(cases: Sequence[Case], view: View) -> tuple[list[Figure], list[Figure]]:
    """Draw the runs over a number that was swept, if there is one: what answers, and more."""
    from fairhaul.figures.axes import axes
    from fairhaul.figures.swept import answering, figures

    keys = {tuple(case.meta["variant"]) for case in cases}
    titles = {case.scenario["title"] for case in cases}
    if len(keys) > 1 or len(titles) > 1 or keys == {()}:
        return [], []
    table = rows_of([case.runs for case in cases])
    numbers = [axis for axis in axes(table) if axis.numbers is not None and len(axis.values) > 1]
    drawn = figures(table, view) if numbers else []
    named = [replace(figure, name=f"swept-{figure.name}") for figure in drawn]
    first = len(answering(drawn))
    return named[:first], named[first:]

"""A comparison in words: its answer, its tables, and how its runs were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhaul.figures.figure import Figure
from fairhaul.figures.side_by_side import side_by_side
from fairhaul.report.outcome import Outcome, Section
from fairhaul.results.figure_rows import linux_sender_line
from fairhaul.scenario.engines import FACTS
from fairhaul.statistics.estimate import legend
from fairhaul.studies.comparison import Comparison
from fairhaul.studies.comparison.answer import others_text
from fairhaul.studies.comparison.question import Question
from fairhaul.studies.comparison.tables import paced_line, tables_of
from fairhaul.text.durations import duration_text
from fairhaul.text.phrases import listed, quantity


def outcome_of(done: Comparison) -> Outcome:
    """Put a comparison into words and tables."""
    question = done.question
    rtts = listed([f"{1000 * rtt:g} ms" for rtt in question.rtts_s])
    path = f"{quantity(question.rate_bps, 'bit/s')}, {rtts}, a buffer of {question.buffer}"
    beside = "" if question.others is None else f" beside {others_text(question)}"
    names = listed(list(question.controllers))
    return Outcome(
        study="compare",
        title=f"{names} over {path}",
        question=f"How do {names} compare over {path}{beside}?",
        answer=done.answer,
        evidence=lambda: _sections(done),
        values=done.values,
    )


def _sections(done: Comparison) -> list[Section]:
    return [
        Section(heading="", tables=tables_of(done), figures=lambda: _figures(done)),
        Section(heading="How it was measured", text=_how(done)),
        Section(heading="Deployment", text=[_deployable(done.question)]),
    ]


def _how(done: Comparison) -> list[str]:
    question = done.question
    seeds = "one seed" if done.seeds == 1 else f"{done.seeds} seeds"
    engine = "" if done.engine == "sim" else f", in {FACTS[done.engine].title}"
    length, warmup = duration_text(done.duration_s), duration_text(done.warmup_s)
    lines = [
        f"Each run lasts {length}; the first {warmup} are not measured; {seeds}{engine}. The share "
        "of a flow is its part of the goodput of all flows of its controller."
        + ("" if done.seeds == 1 else f" {legend(done.seeds)}")
    ]
    transports = list(question.controllers.values())
    if question.others is not None:
        transports.append(question.others.transport)
    kinds = (str(transport.controller["kind"]) for transport in transports)
    if not FACTS[done.engine].kernel and (line := linux_sender_line(kinds)):
        lines.append(line)
    lines += [
        paced_line(question),
        "A completion time is the size over the measured goodput, without slow start; a time "
        "longer than the run is extrapolated.",
    ]
    if question.others is not None:
        lines.append(f"harm = {done.values()['harm_is']} [WARE 2019, with another reference].")
    return lines


def _deployable(question: Question) -> str:
    """Say which of the controllers the kernel of this host has, or can be given, and how."""
    from fairhaul.host.deployable import Way, has_kernel, install_command, pacing_command, ways
    from fairhaul.host.process import Refused
    from fairhaul.scenario.transport import controller_of

    if not has_kernel():
        return "This host has no Linux kernel, so none of the controllers can be deployed here."
    found, each = ways(), {}
    for text, transport in question.controllers.items():
        controller, name = transport.controller, controller_of(text)
        way = found.get(str(controller["kind"]), Way.NONE)
        if way is Way.PORT:
            try:
                each[name] = (
                    f"can be installed by `{install_command(controller, question.profile)}`"
                )
            except Refused as refused:
                each[name] = f"cannot be installed as simulated ({refused})"
        else:
            has_keys = way is Way.KERNEL and len(controller) > 1
            each[name] = way.value + ", with its own parameters" * has_keys
    host = f"On this host: {', '.join(f'{name} {what}' for name, what in each.items())}."
    if question.pacing is None:
        return host
    try:
        return f"{host} `{pacing_command(question.pacing)}` makes its senders pace as simulated."
    except Refused as refused:
        return f"{host} Its senders cannot pace as simulated ({refused})."


def _figures(done: Comparison) -> list[Figure]:
    """Draw the figures of each controller with their intervals."""
    rows: Sequence[Mapping[str, Any]] = done.rows

    def values(case: str, key: str) -> list[Any]:
        return [row[case][key] for row in rows]

    measures: dict[str, tuple[list[Any], float]] = {
        "Link used (%)": (values("alone", "utilization"), 100.0)
    }
    if len(done.question.rtts_s) > 1:
        measures["Jain's index"] = (values("alone", "jain"), 1.0)
    if done.question.others is not None:
        measures["Harm to the competing flows"] = (values("beside", "harm"), 1.0)
    intervals = ", with 95 % intervals of the mean" if done.seeds > 1 else ""
    return [
        side_by_side(
            "controllers",
            "The controllers side by side",
            f"Means over the seeds{intervals}.",
            [row["controller"] for row in rows],
            measures,
        )
    ]

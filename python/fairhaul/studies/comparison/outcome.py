"""A comparison in words: its answer, its tables, and how its runs were made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairhaul.figures.figure import Figure
from fairhaul.figures.side_by_side import side_by_side
from fairhaul.figures.words import reach
from fairhaul.report.outcome import Outcome, Section
from fairhaul.results.figure_rows import cell, plain
from fairhaul.scenario.engines import FACTS
from fairhaul.scenario.profiles import line as profile_line
from fairhaul.scenario.transport import STANDARD
from fairhaul.statistics.estimate import LEAST_RUNS, legend
from fairhaul.studies.comparison.answer import is_not_known, is_short, others_text, what
from fairhaul.studies.comparison.question import Question
from fairhaul.text.digits import Form
from fairhaul.text.durations import DURATION, duration_text
from fairhaul.text.phrases import count_of, listed, quantity, size_text
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.comparison import Comparison

Columns = dict[str, tuple[str, Form]]


def outcome_of(done: Comparison) -> Outcome:
    """Put a comparison into words and tables."""
    question = done.question
    rtts = listed([f"{1000 * rtt:g}" for rtt in question.rtts_s])
    times = "round-trip times" if len(question.rtts_s) > 1 else "a round-trip time"
    path = (
        f"{quantity(question.rate_bps, 'bit/s')} with {times} of {rtts} ms and a buffer of "
        f"{question.buffer}"
    )
    beside = "" if question.others is None else f", beside {others_text(question)}"
    names = listed(list(question.compared))
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
        Section(heading="", tables=_tables(done), figures=lambda: [_figure(done)]),
        Section(heading="How it was measured", text=_how(done)),
        _deployment(done),
    ]


def _tables(done: Comparison) -> list[Table]:
    """Give a table of each controller alone, and of each beside other flows."""
    columns = _columns(done)
    tables = [_table("Alone, one flow per round-trip time", done, columns, "alone")]
    if done.question.others is not None:
        share: Columns = {"share": ("% of all goodput", plain(1, 100)), "harm": ("harm", plain(2))}
        title = f"Competing with {others_text(done.question)}"
        tables.append(_table(title, done, share | columns, "beside"))
    return tables


def _columns(done: Comparison) -> Columns:
    """Give the keys, headings and formats of both tables; `0.share` is a key of `flows[0]`."""
    rtts = [f"{rtt * 1000:g} ms" for rtt in done.question.rtts_s]
    size = size_text(done.question.size_bytes)
    columns: Columns = {"utilization": ("link used %", plain(1, 100))}
    if len(rtts) > 1:
        columns["jain"] = ("Jain", plain(3))
        columns |= {f"{i}.share": (f"% at {rtt}", plain(1, 100)) for i, rtt in enumerate(rtts)}
    columns |= {f"{i}.completion_s": (f"{size} at {rtt}", DURATION) for i, rtt in enumerate(rtts)}
    return columns


def _table(title: str, done: Comparison, columns: Columns, case: str) -> Table:
    results: list[tuple[str, Mapping[str, Any]]] = [
        (row["controller"], row[case])  # type: ignore[literal-required]
        for row in done.rows
    ]
    marks = {
        " *": ("too short: not ranked", is_short),
        " ?": ("length not judged without loss events: not ranked", is_not_known),
    }
    used = [mark for mark, (_, holds) in marks.items() if any(holds(of) for _, of in results)]
    rows = [
        [
            name + "".join(mark for mark in used if marks[mark][1](of)),
            *(cell(_at(of, key), form) for key, (_, form) in columns.items()),
            *([_stationary(of, done.seeds)] if used else []),
        ]
        for name, of in results
    ]
    header = [what(done.question), *(heading for heading, _ in columns.values())]
    header += ["stationary"] if used else []
    legends = "; ".join(f"{mark.strip()} {marks[mark][0]}" for mark in used)
    title = f"{title} ({legends})" if used else title
    shares = [heading for heading in header if heading.startswith("% at ")]
    least = ["% of all goodput", *shares, "link used %"]
    return Table(title=title, columns=header, rows=rows, least=least).condensed()


def _stationary(case: Mapping[str, Any], seeds: int) -> str:
    if is_not_known(case):
        return "not known"
    return f"{round(case['stationary_share'] * seeds)} of {seeds}"


def _at(case: Mapping[str, Any], key: str) -> Any:
    flow, dot, name = key.partition(".")
    return case["flows"][int(flow)][name] if dot else case[key]


def _how(done: Comparison) -> list[str]:
    question = done.question
    seeds = count_of(done.seeds, "seed")
    engine = "" if done.engine == "sim" else f", in {FACTS[done.engine].title}"
    length, warmup = duration_text(done.duration_s), duration_text(done.warmup_s)
    lines = [
        f"Each run lasts {length}; the first {warmup} are not measured; {seeds}{engine}. The share "
        f"of a flow is its part of the goodput of all flows of its {what(question)}."
        + ("" if done.seeds == 1 else f" {legend(done.seeds)}")
    ]
    hosts = bool(question.controllers) or question.others is not None
    if hosts and not FACTS[done.engine].kernel:
        lines.append(profile_line([question.profile]))
    lines += [_paced_line(question)] if hosts else []
    lines += [_stacks_line(question)] if question.stacks else []
    lines += [
        "A completion time is the size over the measured goodput, without slow start; a time "
        "longer than the run is extrapolated.",
    ]
    if question.others is not None:
        lines.append(f"harm = {done.values()['harm_is']} [WARE 2019, with another reference].")
    return lines


def _paced_line(question: Question) -> str:
    """Say how the hosts of the controllers paced, and those of the competing flows."""
    if question.pacing is None:
        return "No host paces: only controllers that pace themselves, such as bbr, are paced."
    beside = ""
    if question.others is not None:
        beside = (
            f", and so was {STANDARD}, which harm is compared with; the competing flows were not "
            "paced"
        )
    return (
        f'Every controller was simulated with pacing = "{question.pacing}" on its sender{beside}. '
        "Controllers that pace themselves, such as bbr, keep their own rate."
    )


def _stacks_line(question: Question) -> str:
    """Say what is a stack's own, and how the runs are judged."""
    one = len(question.stacks) == 1
    has = "is a transport stack, which has" if one else "are transport stacks, which have"
    return (
        f"{listed(list(question.stacks))} {has} senders, receivers and pacing of "
        f"{'its' if one else 'their'} own; the largest packet of all flows has "
        f"{question.packet_bytes} bytes. A stack states no cycle, so its runs are judged by its "
        "loss events alone."
    )


def _deployment(done: Comparison) -> Section:
    """Say which of the controllers the kernel of this host has, or can be given, and how.

    Controllers of which the runs were too short to judge have no commands.
    """
    from fairhaul.host.deployable import Way, has_kernel, install_command, pacing_command, ways
    from fairhaul.host.process import Refused
    from fairhaul.scenario.transport import controller_of

    if not has_kernel():
        none = "This host has no Linux kernel, so none of the controllers can be deployed here."
        return Section(heading="Deployment", text=[none])
    question, found, each, commands = done.question, ways(), {}, []
    cases = [(row["controller"], row[case]) for row in done.rows for case in ("alone", "beside")]
    short = {name for name, case in cases if case and not case["stationary"]}
    for text, transport in question.controllers.items():
        controller, name = transport.controller, controller_of(text)
        way = found.get(str(controller["kind"]), Way.NONE)
        has_keys = way is Way.KERNEL and len(controller) > 1
        each[name] = way.value + ", with its own parameters" * has_keys
        if way is Way.PORT:
            try:
                command = install_command(controller, question.profile)
                commands += [] if text in short else [f"sudo {command}"]
            except Refused as refused:
                each[name] = f"cannot be installed as simulated ({refused})"
    own = "A transport stack is part of a program, and is not installed on a host."
    if not each:
        return Section(heading="Deployment", text=[own])
    host = f"On this host: {', '.join(f'{name} {how}' for name, how in each.items())}."
    host += f" {own}" if question.stacks else ""
    if question.pacing is not None:
        try:
            command = pacing_command(question.pacing)
            if set(question.controllers) - short:
                commands += ["# the senders pace as simulated", f"sudo {command}"]
        except Refused as refused:
            host += f" Its senders cannot pace as simulated ({refused})."
    return Section(heading="Deployment", text=[host], commands=list(dict.fromkeys(commands)))


def _figure(done: Comparison) -> Figure:
    """Draw the figures of each controller with their intervals."""
    rows: list[Any] = list(done.rows)
    wanted = [("Link used (%)", "alone", "utilization", 100.0)]
    if len(done.question.rtts_s) > 1:
        wanted.append(("Jain's index", "alone", "jain", 1.0))
    if done.question.others is not None:
        wanted.append(("Harm to the competing flows", "beside", "harm", 1.0))
    ends = f"; {reach('lines', exact=done.seeds >= LEAST_RUNS)}" if done.seeds > 1 else ""
    return side_by_side(
        "controllers",
        "The controllers side by side",
        f"Means over the seeds{ends}.",
        [row["controller"] for row in rows],
        {title: ([row[case][key] for row in rows], by) for title, case, key, by in wanted},
    )

"""The verb `compare`: one line for people in a hurry, a table and a sentence back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import show
from fairhaul.cli.click_ext import Count, Verb
from fairhaul.cli.progress import progress
from fairhaul.cli.run import jobs_option, json_option

if TYPE_CHECKING:
    from fairhaul.comparison import Comparison


@click.command(
    cls=Verb,
    example="fairhaul compare fhstcp reno --rate 622Mbit/s --rtt 80ms,200ms --buffer 20ms",
)
@click.argument("controllers", nargs=-1, required=True, metavar="CC...")
@click.option("--rate", default="", metavar="RATE", help="Of the bottleneck, as 622Mbit/s.")
@click.option("--rtt", default="", metavar="TIME,...", help="One flow for each, as 80ms,200ms.")
@click.option("--buffer", default="", metavar="LIMIT", help="As 20ms, 1bdp or '100 packets'.")
@click.option("--size", default="1TB", show_default=True, help="How long does so much take?")
@click.option("--against", metavar="NxCC", help="Beside what else, as 4xreno.")
@click.option(
    "--seeds",
    type=Count(),
    default=1,
    metavar="N",
    help="Run with N seeds; give means and 95 % intervals.",
)
@jobs_option
@json_option
def compare(
    json_: bool, seeds: int, jobs: int | None, controllers: tuple[str, ...], **path: Any
) -> None:
    """Compare congestion controllers: shares, Jain's index, harm to others, completion time.

    A controller may carry parameters, fhstcp:c=20, or be parallel TCP, 4xreno. The runs last until
    the slowest flow saw 20 loss events, or as long as a minute on two cores allows; what saw fewer
    is too short to say, and is not ranked.
    """
    from fairhaul.comparison import compare_read
    from fairhaul.comparison.question import read_question

    question = read_question(controllers, **path)
    with progress() as on_progress:
        done = compare_read(question, seeds=seeds, jobs=jobs, on_progress=on_progress)
    if json_:
        show.as_json(done.to_dict())
    else:
        show_comparison(done)


def show_comparison(done: Comparison) -> None:
    """Print the tables of a comparison, its answer, and what is to be known of both."""
    from fairhaul.comparison.answer import duration_text, others_text

    screen = show.console()
    between = " " if screen.width >= show.ONE_LINE else "\n"
    columns = _columns(done)
    screen.print(_table("Alone, one flow per round trip", done, columns, "alone", between))
    if done.question.others is not None:
        share = {"share": ("share of all %", show.plain(1, 100))}
        harm = {"harm": ("harm", show.plain(2))}
        title = f"Beside {others_text(done.question)}"
        screen.print(_table(title, done, share | harm | columns, "beside", between))
    screen.print(done.answer)
    how = "one seed, so without intervals" if done.seeds == 1 else f"{done.seeds} seeds"
    lasts = f"{duration_text(done.duration_s)}, the first {duration_text(done.warmup_s)} left out"
    screen.print(f"Runs of {lasts}; {how}. Shares are of what the flows of one controller have.")
    question = done.question
    transports = list(question.controllers.values())
    if question.others is not None:
        transports.append(question.others.transport)
    if said := show.linux_sender_line(str(one.controller["kind"]) for one in transports):
        screen.print(said)
    screen.print(
        "Completion times are the size over the measured rate, without the start of a transfer; "
        "those longer than a run are extrapolated."
    )
    if done.question.others is not None:
        screen.print(f"harm = {done.to_dict()['harm_is']} [WARE 2019, with another reference].")


def _columns(done: Comparison) -> dict[str, tuple[str, show.Number]]:
    """Keys, headings and forms of what both tables show; a path into `flows` has a dot."""
    from fairhaul.comparison.answer import duration_text, size_text

    rtts = [f"{rtt * 1000:g} ms" for rtt in done.question.rtts_s]
    size = size_text(done.question.size_bytes)
    found = {"utilization": ("link used %", show.plain(1, 100))}
    if len(rtts) > 1:
        found["jain"] = ("Jain", show.plain(3))
        found |= {f"{i}.share": (f"% at {rtt}", show.plain(1, 100)) for i, rtt in enumerate(rtts)}
    found |= {
        f"{i}.completion_s": (f"{size} at {rtt}", duration_text) for i, rtt in enumerate(rtts)
    }
    return found


def _table(
    title: str,
    done: Comparison,
    columns: Mapping[str, tuple[str, show.Number]],
    case: str,
    between: str,
) -> Any:
    rows = [
        [
            row["controller"] + ("" if row[case]["stationary"] else " *"),
            *(show.cell(_at(row[case], k), form, between) for k, (_, form) in columns.items()),
        ]
        for row in done.rows
    ]
    marked = any(not row[case]["stationary"] for row in done.rows)
    header = ["controller", *(heading for heading, _ in columns.values())]
    return show.table(f"{title}{' (* too short to say)' if marked else ''}", header, rows)


def _at(case: Mapping[str, Any], key: str) -> Any:
    flow, dot, name = key.partition(".")
    return case["flows"][int(flow)][name] if dot else case[key]

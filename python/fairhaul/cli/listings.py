"""The commands `list` and `schema`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command, flag
from fairhaul.text.nearest import hint
from fairhaul.text.printable import NO_BREAK, wrapped

WHAT = ("controllers", "queues", "counters", "recoveries", "traffic", "papers")


@click.command("list", cls=Command, example="fairhaul list controllers")
@click.argument("what", metavar="WHAT", type=click.Choice(WHAT))
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=words.entries)
@flag("--parameters", "Print the parameters of each entry, too.")
@flag("--json", "Print one JSON object, with all parameters.", name="json_")
def list_(what: str, names: tuple[str, ...], parameters: bool, json_: bool) -> None:
    """List controllers, queues, traffic models, papers and others.

    WHAT is controllers, queues, counters (of flows), recoveries (from loss), traffic or papers.
    Each entry is a line with its source. With one NAME or more, only these are listed, with their
    parameters.
    """
    from fairhaul.scenario import listings
    from fairhaul.studies import papers

    lists: Mapping[str, Any] = listings.catalogue()
    entries = papers.catalogue() if what == "papers" else lists[what]
    if names:
        known = {entry["name"]: entry for entry in entries}
        for name in names:
            if name not in known:
                raise click.UsageError(f"unknown name {name!r}; {hint(name, known)}")
        entries = [known[name] for name in names]
    if json_:
        show.as_json({what: entries})
        return
    for entry in entries:
        source = f" [{entry['source']}]" if entry["source"] else ""
        entry_line(entry["name"], f"{entry['title']}{source}")
        if names or parameters:
            _details(entry)


def entry_line(name: str, text: str, column: int = 15, *, indent: int = 0) -> None:
    """Print an entry: its name, and its text broken at words, in lines that begin at `column`."""
    lead = f"{' ' * indent}{name}".ljust(column - 1) + " "
    line = lead.replace(" ", NO_BREAK) + text
    # Elsewhere than on a terminal, each entry is one line.
    click.echo(wrapped(line, show.console().width if sys.stdout.isatty() else len(line), column))


def _details(entry: Mapping[str, Any]) -> None:
    for key in entry.get("keys", []):
        default = f"default {key['default']}" if key["default"] else "required"
        entry_line(key["name"], f"{key['wanted']}, {default}", 23, indent=4)
        entry_line("", key["help"], 23)
    for gauge in entry.get("gauges", []):
        unit = f", in {gauge['unit']}" if gauge["unit"] else ""
        entry_line(gauge["name"], f"a gauge in the record{unit}", 23, indent=4)
        entry_line("", gauge["help"], 23)


@click.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    from fairhaul.scenario import listings

    show.as_json(listings.schema())

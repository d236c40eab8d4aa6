"""The verbs that look things up: `list` and `schema`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from fairhaul.cli.click_ext import Verb, Word
from fairhaul.cli.show import as_json
from fairhaul.nearest import hint

WHAT = ("controllers", "queues", "counters", "recoveries", "traffic", "papers")


@click.command("list", cls=Verb, example="fairhaul list controllers")
@click.argument("what", metavar="WHAT", type=Word(WHAT))
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--parameters", is_flag=True, help="Print the parameters of each, too.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object, parameters included.")
def list_(what: str, names: tuple[str, ...], parameters: bool, json_: bool) -> None:
    """Say what there is to choose from, a line for each, with its source.

    WHAT is controllers, queues, counters, recoveries, traffic or papers. With one NAME or more
    only those are listed, with their parameters.
    """
    from fairhaul import look, papers

    found = papers.catalogue() if what == "papers" else look.catalogue()[what]
    if names:
        known = {entry["name"]: entry for entry in found}
        for name in names:
            if name not in known:
                raise click.UsageError(f"{name!r} is not known; {hint(name, known)}")
        found = [known[name] for name in names]
    if json_:
        as_json({what: found})
        return
    for entry in found:
        source = f" [{entry['source']}]" if entry["source"] else ""
        click.echo(f"{entry['name']:14} {entry['title']}{source}")
        if names or parameters:
            _details(entry)


def _details(entry: Mapping[str, Any]) -> None:
    for key in entry.get("keys", []):
        default = f"default {key['default']}" if key["default"] else "required"
        click.echo(f"    {key['name']:18} {key['wanted']}, {default}")
        click.echo(f"    {'':18} {key['help']}")
    for gauge in entry.get("gauges", []):
        unit = f", in {gauge['unit']}" if gauge["unit"] else ""
        click.echo(f"    {gauge['name']:18} shown in the record{unit}")
        click.echo(f"    {'':18} {gauge['help']}")


@click.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    from fairhaul import look

    as_json(look.schema())

"""The verbs that look things up: `list` and `schema`."""

from __future__ import annotations

import click

from fairhaul.cli.manners import Verb, Word
from fairhaul.cli.show import as_json

WHAT = ("controllers", "queues", "recoveries", "traffic", "papers")


@click.command("list", cls=Verb, example="fairhaul list controllers")
@click.argument("what", metavar="WHAT", type=Word(WHAT))
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
def list_(what: str, json_: bool) -> None:
    """Say what there is to choose from, with parameters and sources.

    WHAT is controllers, queues, recoveries, traffic or papers.
    """
    from fairhaul import look, papers

    found = papers.catalogue() if what == "papers" else look.catalogue()[what]
    if json_:
        as_json({what: found})
        return
    for entry in found:
        source = f" [{entry['source']}]" if entry["source"] else ""
        click.echo(f"{entry['name']:14} {entry['title']}{source}")
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

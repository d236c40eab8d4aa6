"""The verbs that look things up: `list` and `schema`."""

from __future__ import annotations

from typing import Any

import click

from fairhaul.cli.show import as_json


@click.command("list")
@click.argument("what", type=click.Choice(["controllers", "queues", "papers", "traffic"]))
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
def list_(what: str, json_: bool) -> None:
    """Say what there is to choose from, with parameters and sources."""
    from fairhaul import look, papers

    found = papers.catalogue() if what == "papers" else look.catalogue()[what]
    if json_:
        as_json({what: found})
        return
    for entry in found:
        click.echo(f"{entry['name']:12} {entry['title']}{_source(entry)}")
        for parameter in entry.get("parameters", []):
            click.echo(f"    {parameter['name']:18} {_accepts(parameter)}; {parameter['help']}")


def _source(entry: dict[str, Any]) -> str:
    return f" [{entry['source']}]" if entry.get("source") else ""


def _accepts(parameter: dict[str, Any]) -> str:
    return f"{parameter['accepts']}, default {parameter['default']}"


@click.command()
def schema() -> None:
    """Print the JSON Schema of scenario files."""
    from fairhaul import look

    as_json(look.schema())

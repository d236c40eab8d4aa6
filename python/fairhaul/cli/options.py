"""The options of several commands, and the scenarios that files and options name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from fairhaul.scenario.read import Scenario

Overrides = list[tuple[str, str]]


def split(_ctx: click.Context, _option: click.Parameter, given: Sequence[str]) -> Overrides:
    """Split the `key=value` of `--set`."""
    pairs = []
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"{pair!r} does not have the form key=value")
        pairs.append((key.strip(), value.strip()))
    return pairs


set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    callback=split,
    help="Change a key of the scenario, e.g. duration='60 s' or flow.F1.controller.c=20.",
)
seeds_option = click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run each scenario with N seeds, counted up from its own; print means and 95 % intervals.",
)
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of runs at a time; by default one per core, and one in the lab.",
)
grain_option = click.option(
    "--grain",
    type=click.Choice(["packet", "auto"]),
    help="auto: simulate trains of packets as one where that changes little; several times as "
    "fast on fast paths. By default what the scenario says.",
)


def _known(context: click.Context, _option: click.Parameter, given: Sequence[str]) -> None:
    """Let the scenarios of a command know the controllers of `--controller`."""
    if given:
        from fairhaul.scenario import own

        context.with_resource(own.known(own.load("--controller", given)))


controller_option = click.option(
    "--controller",
    multiple=True,
    metavar="NAME=FILE",
    callback=_known,
    expose_value=False,
    help="Let the scenario use a controller of your own: FILE.py:CLASS, an eBPF object (.o) or a "
    "shared library (.so); may be repeated. Python files and libraries are run.",
)
json_option = click.option(
    "--json", "json_", is_flag=True, help="Print one JSON object instead of text."
)


def _profile(context: click.Context, _option: click.Parameter, given: str | None) -> None:
    """Let the scenarios of a command have this profile where their files name none."""
    if given is not None:
        from fairhaul.scenario.read import profile

        context.with_resource(profile(given))


profile_option = click.option(
    "--profile",
    metavar="plain|linux",
    callback=_profile,
    expose_value=False,
    help="Sender of all flows where a file does not name one.",
)


def read_all(files: Sequence[str], overrides: Overrides) -> list[Scenario]:
    """Read all files, and report the mistakes of all of them together."""
    from fairhaul.scenario.read import ScenarioError, read_as_typed

    scenarios: list[Scenario] = []
    mistakes: list[str] = []
    for file in files:
        try:
            scenarios += read_as_typed(Path(file), overrides)
        except ScenarioError as error:
            mistakes += error.args
    if mistakes:
        raise ScenarioError(*mistakes)
    return scenarios

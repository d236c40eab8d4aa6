"""The options of several commands, and the scenarios that files and options name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli.click_ext import flag, option
from fairhaul.scenario.profiles import SHOWN, TUNED, checked

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


set_option = option(
    "--set KEY=VALUE",
    "Change a key of the scenario, e.g. duration='60 s' or flow.F1.controller.c=20.",
    name="overrides",
    multiple=True,
    callback=split,
)
seeds_option = option(
    "--seeds N",
    "Run each scenario with N seeds, counted up from its own; print means and 95 % intervals.",
    type=click.IntRange(min=1),
)
jobs_option = option(
    "--jobs N",
    "Number of runs at a time; by default one per core, and one in the lab.",
    type=click.IntRange(min=1),
)
grain_option = option(
    "--grain",
    "packet: simulate each packet of a burst on its own, which takes longer. By default what the "
    "scenario says.",
    type=click.Choice(["auto", "packet"]),
)


def _known(context: click.Context, _option: click.Parameter, given: Sequence[str]) -> None:
    """Let the scenarios of a command know the controllers of `--controller`."""
    if given:
        from fairhaul.scenario import own

        context.with_resource(own.known(own.load("--controller", given)))


controller_option = option(
    "--controller NAME=FILE",
    "Let the scenario use a controller of your own: FILE.py:CLASS, an eBPF object (.o) or a "
    "shared library (.so); may be repeated. Python files and libraries are run.",
    multiple=True,
    callback=_known,
    expose_value=False,
)


def stacks_option(done: str, more: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give the option `--stack` of a command that takes several.

    `done` is what the command does to them, and `more` follows it.
    """
    return option(
        "--stack NAME|FILE",
        f"A transport stack that is {done} as well, perhaps with settings (quinn:controller=bbr); "
        f"may be repeated.{more}",
        name="stacks",
        multiple=True,
    )


def _programs(context: click.Context, _option: click.Parameter, given: bool) -> None:
    """Let the scenarios of a command start programs."""
    if given:
        from fairhaul.scenario.read import allow_programs

        context.with_resource(allow_programs())


programs_option = click.option(
    "--allow-programs",
    is_flag=True,
    help="Start the programs that scenarios name (docs/programs.md), as this user and without "
    "rights; without it such scenarios are refused.",
    callback=_programs,
    expose_value=False,
)
json_option = flag("--json", "Print one JSON object instead of text.", name="json_")


def _profile(context: click.Context, _option: click.Parameter, given: str | None) -> None:
    """Let the scenarios of a command have this profile where their files name none."""
    if given is not None:
        from fairhaul.scenario.read import profile

        context.with_resource(profile(given))


flows_profile_option = option(
    f"--profile {SHOWN}",
    "Senders and receivers of all flows (docs/profile.md).",
    default=TUNED,
    callback=lambda _context, _option, given: checked(given, "--profile"),
)
profile_option = option(
    f"--profile {SHOWN}",
    "Senders and receivers of all flows where a file does not name them (docs/profile.md).",
    callback=_profile,
    expose_value=False,
)


@contextmanager
def spooled(files: Sequence[str]) -> Iterator[list[str]]:
    """Give the names of the files, with a temporary one for the standard input."""
    if "-" not in files:
        yield list(files)
        return
    from shutil import copyfileobj
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile(prefix="fairhaul-") as kept:
        copyfileobj(sys.stdin.buffer, kept)
        kept.flush()
        yield [kept.name if name == "-" else name for name in files]


def view_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of what is drawn over swept keys, as its argument `view`."""

    @wraps(function)
    def inner(*args: Any, x: str | None, y: str | None, facet: str | None, **given: Any) -> Any:
        from fairhaul.figures.view import View

        return function(*args, view=View(x=x, y=y, facet=facet), **given)

    for add in (
        option("--facet KEY", "Swept key of which each value has a panel in the report."),
        option("--y FIGURE", "What the report draws: a column of the CSV file, or e.g. share."),
        option("--x KEY", "Swept key on the horizontal axis of the report, e.g. capacity."),
    ):
        inner = add(inner)
    return inner


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

"""The options that choose engines, and the kernel of the engine `linux`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fairhaul._core import ScenarioError
from fairhaul.cli.click_ext import option
from fairhaul.scenario.engines import ENGINES, FACTS, read_engines

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine

F = TypeVar("F", bound=Callable[..., Any])


def _known(_ctx: click.Context, _option: click.Parameter, given: str) -> tuple[Engine, ...]:
    """Read the list of `--engine`."""
    try:
        return read_engines(given)
    except ScenarioError as error:
        raise click.BadParameter(str(error)) from None


def engines_option(more: str, default: str = "sim") -> Callable[[F], F]:
    """Give the option `--engine` of a command that takes several; `more` ends its help."""
    return option(
        f"--engine {'|'.join([*ENGINES, ','.join(ENGINES)])}",
        f"{_help(ENGINES)} {more}",
        name="engines",
        default=default,
        callback=_known,
    )


def engine_option(engines: Sequence[Engine]) -> Callable[[F], F]:
    """Give the option `--engine` of a command that takes one of `engines`; the first by default."""
    return option("--engine", _help(engines), type=click.Choice(engines), default=engines[0])


def _help(engines: Sequence[Engine]) -> str:
    return " ".join(f"{engine}: {FACTS[engine].help}." for engine in engines)


def _using(context: click.Context, _option: click.Parameter, given: str | None) -> None:
    """Let the runs of a command use the program of `--kernel`."""
    if given is not None:
        from fairhaul.linux.run import using

        context.with_resource(using(given))


kernel_option = option(
    "--kernel VERSION",
    "With the engine linux: the kernel, such as 6.12; by default that of the environment variable "
    "FAIRHAUL_KERNEL, and without it the newest that `fairhaul linux build` has built.",
    callback=_using,
    expose_value=False,
)

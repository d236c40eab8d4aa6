"""What all studies share on the command line: how runs are run, and how the outcome is given.

Every command that answers a question by runs has the options of `SHARED`, unless `EXCEPTIONS` says
why not.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fairhaul.cli import show
from fairhaul.cli.click_ext import flag, option
from fairhaul.cli.options import jobs_option, json_option
from fairhaul.cli.progress import progress
from fairhaul.record.libraries import require_libraries

if TYPE_CHECKING:
    from fairhaul.jobs.values import RunOptions
    from fairhaul.report.outcome import Outcome, StudyResult

F = TypeVar("F", bound=Callable[..., Any])

NEXT = "the next runs depend on the results of the first"
RECORDS = "it writes whole records: `sweep` runs points on a cluster or in shards"
MEASURES = "it measures this host, and runs nothing"
OBSERVED = "it reads what was measured, and its runs of `--what-if` take seconds"
# The options that a study does not have, and why; docs/commands.md has the same table.
EXCEPTIONS: Mapping[str, Mapping[str, str]] = {
    "run": {"--dask": RECORDS, "--shard": RECORDS},
    "compare": {"--shard": NEXT},
    "advise": {
        "--shard": NEXT,
        "--seeds": "each candidate runs over 12 drawn settings",
        "--profile": "the commands set buffers and pacing as they are simulated",
    },
    "explain": {
        "--dask": OBSERVED,
        "--shard": OBSERVED,
        "--jobs": OBSERVED,
        "--seeds": OBSERVED,
        "--profile": OBSERVED,
    },
    "trial": dict.fromkeys(("--dask", "--shard", "--jobs", "--seeds", "--profile"), MEASURES),
    "score": {"--seeds": "each path is run once: --paths is their number, --draw another draw"},
    "attack": {"--shard": NEXT, "--seeds": "a weakness is checked with five seeds"},
    "reproduce": {"--report": "it always writes one"},
    "cells": {
        "--dask": "a cell in the lab takes the machine on which the command runs",
        "--shard": NEXT,
        "--profile": "a cell names it",
    },
}


class Shard(click.ParamType[tuple[int, int]]):
    """A part of the runs, as `i/N`."""

    name = "I/N"

    def convert(self, value: Any, _: object, ctx: click.Context | None) -> tuple[int, int]:
        """Read `i/N`."""
        number, slash, of = str(value).partition("/")
        if not (slash and number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
            self.fail(f"{value!r} is not a shard; wanted I/N, I from 1 to N, e.g. 3/10", None, ctx)
        return int(number), int(of)


def _usable(_ctx: click.Context, _option: click.Parameter, given: Path | None) -> Path | None:
    """Refuse a directory that cannot be written, before any run."""
    if given is not None:
        existing = next(p for p in (given.absolute(), *given.absolute().parents) if p.exists())
        if not existing.is_dir():
            raise click.BadParameter(f"{existing} exists and is not a directory")
        if not os.access(existing, os.W_OK):
            raise click.BadParameter(f"{existing} is not writable by this user")
    return given


def _out(default: str) -> Callable[[F], F]:
    usual = f" By default {default}." if default else ""
    return option(
        "--out DIR",
        f"Directory that keeps the runs: the same command goes on with them.{usual}",
        type=click.Path(path_type=Path),
        callback=_usable,
    )


dask_option = option(
    "--dask ADDRESS", "Run on the workers of this Dask scheduler, e.g. tcp://10.0.0.1:8786."
)
shard_option = option(
    "--shard I/N",
    "Run only every N-th run, from the I-th on: one part of a job array. The answer follows "
    "when all parts are in DIR.",
    type=Shard(),
)
report_option = flag(
    "--report", "Write report.html and its figures into DIR, without --out into out/NAME."
)
markdown_option = flag("--markdown", "Write report.md into DIR, without --out into out/NAME.")


@dataclass(frozen=True, kw_only=True)
class Work:
    """How a study runs here, and where its outcome goes."""

    name: str
    out: Path | None
    dask: str | None = None
    shard: tuple[int, int] | None = None
    jobs: int | None = None
    report: bool = False
    markdown: bool = False
    json_: bool = False

    def __post_init__(self) -> None:
        """Refuse files that cannot be written here, before any run."""
        if self.report or self.out is not None:
            require_libraries()

    def at(self, name: str) -> Work:
        """Name the study, and its directory in `out` if none is given."""
        name = re.sub(r"[^\w.-]+", "-", name)
        return replace(self, name=name, out=self.out or Path("out") / name)

    def within(self, name: str) -> Work:
        """Give the same for one of several studies, in a directory of its own."""
        return self if self.out is None else replace(self, name=name, out=self.out / name)

    @contextmanager
    def options(self) -> Iterator[RunOptions]:
        """Give the options of the runs; what is finished is kept if they are interrupted.

        A shard ends the command, because the answer requires the other shards.
        """
        from fairhaul.jobs.values import Partial

        with progress(self.name) as on_progress:
            try:
                yield {
                    "out": self.out,
                    "dask": self.dask,
                    "shard": self.shard,
                    "jobs": self.jobs,
                    "on_progress": on_progress,
                    "on_event": say,
                }
            except KeyboardInterrupt:
                if self.out is not None:
                    say(f"finished runs are kept in {self.out}; the same command goes on")
                raise
            except Partial as partial:
                say(str(partial))
                raise click.exceptions.Exit from None

    def give(self, result: StudyResult) -> dict[str, Any]:
        """Print the outcome, unless it is for JSON, and write it; gives the object of JSON."""
        return self._given(result, alone=False)

    def tell(self, result: StudyResult | Outcome) -> None:
        """Print the outcome, as text or as JSON, and write it."""
        self._given(result, alone=True)

    def _given(self, result: StudyResult | Outcome, *, alone: bool) -> dict[str, Any]:
        from fairhaul.report.outcome import Outcome

        of = result if isinstance(result, Outcome) else result.outcome()
        outcome = replace(of, command=command())
        found = dict(outcome.to_dict()) if self.json_ else {}
        if self.json_ and alone:
            show.as_json(found)
        elif not self.json_:
            show.console().print(outcome)
        sys.stdout.flush()
        for file in self._written(outcome):
            click.echo(f"Report: {file}", err=self.json_)
        return found

    def _written(self, outcome: Outcome) -> Iterator[Path]:
        from fairhaul.files.files import replace as write_file

        out = self.out or Path()
        if self.markdown:
            out.mkdir(parents=True, exist_ok=True)
            write_file(out / "report.md", outcome.markdown().encode())
            yield out / "report.md"
        if self.report:
            from fairhaul.report import write

            yield write(out / "report.html", outcome)


def command() -> str:
    """Give the command line that this process carries out."""
    return shlex.join(["fairhaul", *sys.argv[1:]])


def say(text: str) -> None:
    """Print a sentence to standard error."""
    click.echo(f"fairhaul: {text}", err=True)


SHARED = {
    "--dask": dask_option,
    "--shard": shard_option,
    "--jobs": jobs_option,
    "--report": report_option,
    "--markdown": markdown_option,
    "--json": json_option,
}


def study(
    name: str, out: str = "", *, out_option: Callable[..., Any] | None = None
) -> Callable[[F], F]:
    """Give a command the options that it shares with other studies, as its argument `work`.

    `out` describes the default of `--out`; without it nothing is kept by default. A command that
    chooses the directory itself gives its `out_option`.
    """
    shared = (of for key, of in SHARED.items() if key not in _lacks(name))
    options = [out_option or _out(out), *shared]

    at_name = not out and out_option is None

    def decorated(function: F) -> F:
        @wraps(function)
        def inner(*args: Any, **given: Any) -> Any:
            taken = {key: given.pop(key) for key in Work.__dataclass_fields__ if key in given}
            work = Work(name=name, **taken)
            written = work.report or work.markdown
            return function(*args, work=work.at(name) if at_name and written else work, **given)

        for add in reversed(options):
            inner = add(inner)
        return inner  # type: ignore[return-value]

    return decorated


def _lacks(name: str) -> Mapping[str, str]:
    return EXCEPTIONS.get(name, {})

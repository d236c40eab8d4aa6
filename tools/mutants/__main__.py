"""`python -m tools.mutants run`: judge the mutants that have no verdict yet, for a time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path

import click

from fairhaul.text.table import Table
from tools import ROOT, commit, publish, seconds
from tools.mutants import (
    CRATES,
    SENDER_FILES,
    Mutant,
    Verdict,
    chosen,
    judged_again,
    keep,
    kept,
    listed,
    shares,
    verdicts_of,
)

# The copy of the sources in which mutants are built, so that what is built stays from call to call.
TREE = ROOT / "target" / "mutants" / "tree"
OUT = TREE.parent
# Mutants in one call of cargo-mutants, which tries the tests without a mutant first. Version 27.1
# then tries every deleted field of the package, too, whatever was selected: batches are large.
BATCH = 200
# Tests of `cc` and `path` build in a fraction of the time with little optimisation, and of
# the crate alone.
QUICK = {
    "CARGO_PROFILE_TEST_OPT_LEVEL": "0",
    "CARGO_PROFILE_DEV_OPT_LEVEL": "0",
    "CARGO_PROFILE_TEST_DEBUG": "0",
}
# A mutant that never ends; seconds.
TIMEOUT = 300
SAME_RECORD = ("--test-package", "fairhaul-sim")
COLUMNS = ("crate", "mutants", "tried", "do not build", "killed", "survive", "killed of built")


@click.group()
def main() -> None:
    """Change the rules of the engine, and record which changes its tests find."""


@main.command()
@click.option("--time", "length", default="1h", help="For about how long, as in 90s, 10m or 8h.")
@click.option("--in-diff", type=click.Path(exists=True), help="Anew, what a diff changes.")
@click.option("--crate", type=click.Choice(CRATES), help="Only of this one.")
def run(length: str, in_diff: str | None, crate: str | None) -> None:
    """Judge mutants by the tests of their crate, and what survives by `same_record`."""
    end, done = time.monotonic() + seconds(length), [] if in_diff else kept()
    _copy()
    judged = {verdict.mutant.key for verdict in done}
    wanted = [one for one in _all(in_diff) if crate in (None, one.crate)]
    left = [one for one in wanted if one.key not in judged]
    by_crate = (_batches((one for one in left if one.crate == name), BATCH) for name in CRATES)
    for batches in zip_longest(*by_crate):
        for batch in filter(None, batches):
            _judge(batch, wanted, end, again=False)
    by_key = {one.key: one for one in wanted}
    survivors = [
        by_key[verdict.mutant.key]
        for verdict in kept()
        if verdict.outcome == "survived"
        and not verdict.same_record
        and verdict.mutant.key in by_key
    ]
    for batch in _batches(survivors, BATCH):
        _judge(batch, wanted, end, again=True)


@main.command()
def table() -> None:
    """Write the share of the mutants tried that the tests find, and what survives."""
    _copy()
    verdicts = kept()
    found = shares(verdicts, Counter(mutant.crate for mutant in _all(None)))
    lines = [*Table(columns=COLUMNS, rows=found, words=1).markdown(), ""]
    lines += [
        f"- `{verdict.mutant.file}`: {verdict.mutant.change} ({verdict.outcome})"
        for verdict in verdicts
        if verdict.outcome != "does not build" and not verdict.killed
    ]
    publish("mutants", "\n".join(lines).rstrip())


def _batches(mutants: Iterable[Mutant], size: int) -> list[list[Mutant]]:
    """Cut a list of mutants into batches."""
    all_ = list(mutants)
    return [all_[at : at + size] for at in range(0, len(all_), size)]


def _copy() -> None:
    """Bring the copy up to date; a file that is the same keeps its time, and is not rebuilt."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    for name in filter(None, listing.decode().split("\0")):
        source, copy = ROOT / name, TREE / name
        if not source.is_file():
            copy.unlink(missing_ok=True)
        elif not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)


def _cargo(*options: str) -> list[str]:
    return ["cargo", "mutants", "--dir", str(TREE), "--no-times", "--colors", "never", *options]


def _all(in_diff: str | None) -> list[Mutant]:
    """List the mutants that are to be tried, in their order."""
    found: list[Mutant] = []
    for crate in CRATES:
        options = ["--list", "--json", "--package", f"fairhaul-{crate}"]
        for file in SENDER_FILES if crate == "sim" else ():
            options += ["--file", file]
        done = subprocess.run(_cargo(*options), check=True, stdout=subprocess.PIPE, text=True)
        found += listed(done.stdout)
    order = chosen(found)
    if in_diff is None:
        return order
    command = _cargo("--list", "--json", "--in-diff", str(Path(in_diff).resolve()))
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    changed = {mutant["name"] for mutant in json.loads(done.stdout or "[]")}
    return [mutant for mutant in found if mutant.name in changed]


def _judge(mutants: Sequence[Mutant], wanted: Sequence[Mutant], end: float, *, again: bool) -> None:
    """Judge a batch by the tests of its crate, or again by `same_record`, and keep each verdict."""
    at = commit()
    if time.monotonic() > end or not mutants:
        return
    names = "|".join(re.escape(mutant.name) for mutant in mutants)
    where = OUT / "mutants.out" / "outcomes.json"
    where.unlink(missing_ok=True)
    options = ["--in-place", "--shuffle", "--output", str(OUT), "--re", f"^({names})$"]
    options += ["--timeout", str(TIMEOUT), "--package", f"fairhaul-{mutants[0].crate}"]
    for file in sorted({mutant.file for mutant in mutants}):
        options += ["--file", file]
    if again:
        options += [*SAME_RECORD, "--", "--test", "all", "same_record"]
    environment = os.environ | {"CARGO_TARGET_DIR": str(OUT / "build")}
    if mutants[0].crate != "sim" and not again:
        environment |= QUICK
        package = f"profile.test.package.fairhaul-{mutants[0].crate}.opt-level=1"
        options = [f"--cargo-arg=--config={package}", *options]
    process = subprocess.Popen(_cargo(*options), env=environment)
    while process.poll() is None:
        time.sleep(2)
        _keep(where, mutants if again else wanted, at, again=again)
        if time.monotonic() > end:
            process.terminate()
            process.wait()
    _keep(where, mutants if again else wanted, at, again=again)
    if process.returncode in (1, 4):
        raise click.ClickException(
            f"cargo mutants failed, perhaps because tests do: {where.parent}"
        )


def _keep(where: Path, mutants: Sequence[Mutant], at: str, *, again: bool) -> None:
    """Keep the verdicts that cargo-mutants has written so far."""
    try:
        outcomes = json.loads(where.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # not yet, or not whole yet
        return
    done = kept()
    found: list[Verdict] = verdicts_of(outcomes, mutants, at)
    if again:
        first = {verdict.mutant.key: verdict for verdict in done}
        found = [judged_again(first[verdict.mutant.key], verdict) for verdict in found]
    keep([*done, *found])


main(prog_name="python -m tools.mutants")

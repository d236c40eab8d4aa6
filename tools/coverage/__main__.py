"""`python -m tools.coverage`: run the tests of crates with counters, and keep what they reach."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import click

from fairhaul.files.files import csv_text
from fairhaul.files.files import replace as write_file
from fairhaul.text.table import Table
from tools import ROOT, commit, csv_rows, publish
from tools.coverage import (
    FILES,
    FILES_HEAD,
    UNREACHED,
    UNREACHED_HEAD,
    Reached,
    read_lcov,
    sources,
)

CRATES = ("cc", "path", "sim")
OUT = ROOT / "target" / "coverage"
# The stable compiler counts branches, except for the permission to ask for it.
COUNTING = {
    "RUSTC_BOOTSTRAP": "1",
    "RUSTFLAGS": "-C instrument-coverage -Z coverage-options=branch",
    "CARGO_TARGET_DIR": str(OUT),
}
# Builds in a fraction of the time; the tests of `sim` would take too long.
QUICK = {"CARGO_PROFILE_TEST_OPT_LEVEL": "0", "CARGO_PROFILE_DEV_OPT_LEVEL": "0"}
COLUMNS = ("crate", "lines", "reached", "sides of branches", "taken")


@click.command()
@click.option("--crate", "crates", multiple=True, type=click.Choice(CRATES), default=CRATES)
def main(crates: tuple[str, ...]) -> None:
    """Count lines and branches that the tests of each crate reach in it."""
    found: dict[str, Reached] = {}
    for crate in crates:
        found |= read_lcov(_lcov(crate), sources([crate]))
    _keep(found, crates)
    text = _table()
    click.echo(text)
    publish("coverage", text)


def _lcov(crate: str) -> str:
    """Run the tests of a crate, and give the report of what they reach."""
    profiles = OUT / "profiles" / crate
    shutil.rmtree(profiles, ignore_errors=True)
    environment = os.environ | COUNTING | ({} if crate == "sim" else QUICK)
    test = ["cargo", "test", "--locked", "--package", f"fairhaul-{crate}", "--lib", "--tests"]
    build = [*test, "--no-run", "--message-format=json"]
    built = subprocess.run(
        build, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    programs = [one["executable"] for one in messages if one.get("executable")]
    environment["LLVM_PROFILE_FILE"] = str(profiles / "%p-%m.profraw")
    subprocess.run([*test, "--quiet"], cwd=ROOT, env=environment, check=True)
    merged = profiles / "merged.profdata"
    raw = map(str, sorted(profiles.glob("*.profraw")))
    subprocess.run([_llvm("profdata"), "merge", "-sparse", *raw, "-o", merged], check=True)
    objects = [option for program in programs for option in ("--object", program)]
    export = [_llvm("cov"), "export", "-format=lcov", f"-instr-profile={merged}", *objects]
    return subprocess.run(export, check=True, stdout=subprocess.PIPE, text=True).stdout


def _llvm(name: str) -> str:
    """The tool of the compiler's version: from the component `llvm-tools`, or from Debian."""

    def ask(*options: str) -> str:
        done = subprocess.run(["rustc", *options], check=True, stdout=subprocess.PIPE, text=True)
        return done.stdout

    versions = dict(re.findall(r"^(host|LLVM version): (.*)$", ask("-vV"), re.MULTILINE))
    major = versions["LLVM version"].split(".")[0]
    root = Path(ask("--print", "sysroot").strip()) / "lib" / "rustlib" / versions["host"] / "bin"
    for tool in (str(root / f"llvm-{name}"), f"llvm-{name}-{major}"):
        if shutil.which(tool):
            return tool
    raise click.ClickException(
        f"llvm-{name} of LLVM {major} is missing: `rustup component add llvm-tools`, "
        f"or Debian's package llvm-{major}"
    )


def _keep(found: dict[str, Reached], crates: tuple[str, ...]) -> None:
    """Write the tables, in which other crates stay as they are."""
    at = commit()
    files, runs = [], []
    for name, reached in sorted(found.items()):
        file, lines = str(Path(name).relative_to(ROOT)), Path(name).read_text().splitlines()
        files.append([file, *map(str, reached.counts()), at])
        runs += [
            [file, str(first), str(count), lines[first - 1].strip()]
            for first, count in reached.unreached()
        ]
    for table, head, rows in ((FILES, FILES_HEAD, files), (UNREACHED, UNREACHED_HEAD, runs)):
        others = [row for row in _rows(table) if row[0].split("/")[1] not in crates]
        table.parent.mkdir(exist_ok=True)
        write_file(table, csv_text([head, *sorted([*others, *rows], key=_order)]).encode())


def _order(row: list[str]) -> tuple[str, int]:
    return row[0], int(row[1])


def _rows(table: Path) -> list[list[str]]:
    return [list(row.values()) for row in csv_rows(table)]


def _table() -> str:
    """The sums of the files that are kept, by crate."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0] * 4)
    for file, *counts, _ in _rows(FILES):
        crate = sums[file.split("/")[1]]
        crate[:] = [whole + int(part) for whole, part in zip(crate, counts, strict=True)]
    rows = [
        [f"`{crate}`", str(lines), _share(ran, lines), str(sides), _share(taken, sides)]
        for crate, (lines, ran, sides, taken) in sums.items()
    ]
    return "\n".join(Table(columns=COLUMNS, rows=rows, words=1).markdown())


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / max(whole, 1):.1f} %)"


main(prog_name="python -m tools.coverage")

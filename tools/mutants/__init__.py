"""Mutants of the engine's rules: which of them the tests find, kept in the project.

A row of `tests/search/mutants.csv` is a mutant and what judged it. A mutant is named by its file,
by what it changes, and by its place among the mutants of that file with the same change, so that a
row stays true when lines move.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairhaul.files.files import csv_text
from fairhaul.files.files import replace as write_file
from tools import ROOT, csv_rows

KEPT = ROOT / "tests" / "search" / "mutants.csv"
SEED, SENDERS = 44, 400
CRATES = ("cc", "path", "sim")
# Of `sim`, the senders; of these a sample.
SENDER_FILES = ("crates/sim/src/tcp/sender.rs", "crates/sim/src/tcp/sender/*.rs")
HEAD = ("file", "change", "number", "outcome", "same_record", "commit")
# What cargo-mutants calls its findings, and what they are called here.
OUTCOMES = {
    "CaughtMutant": "killed",
    "MissedMutant": "survived",
    "Unviable": "does not build",
    "Timeout": "timeout",
}


@dataclass(frozen=True, kw_only=True, order=True)
class Mutant:
    """A mutant, with the name by which cargo-mutants selects it."""

    file: str
    change: str
    number: int
    """Among the mutants of the file with the same change, from 1."""
    name: str = ""

    @property
    def key(self) -> tuple[str, str, int]:
        """What names it, wherever its line is."""
        return self.file, self.change, self.number

    @property
    def crate(self) -> str:
        """The crate that it is of."""
        return self.file.split("/")[1]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of a mutant: by the tests of its crate and, if it survived, by `same_record`."""

    mutant: Mutant
    outcome: str
    same_record: str = ""
    commit: str

    @property
    def killed(self) -> bool:
        """Whether a test failed for it; one that did not end in time is not counted."""
        return "killed" in (self.outcome, self.same_record)


def listed(text: str) -> list[Mutant]:
    """Read what `cargo mutants --list --json` prints."""
    found, count = [], Counter[tuple[str, str]]()
    for entry in json.loads(text):
        file, _, _, change = entry["name"].split(":", 3)
        at = file, change.strip()
        count[at] += 1
        found.append(Mutant(file=file, change=at[1], number=count[at], name=entry["name"]))
    return found


def chosen(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Order mutants at random, all of `cc` and `path` and a sample of the senders.

    What was tried so far is then a sample of all.
    """
    drawn = sorted(mutants)
    random.Random(SEED).shuffle(drawn)
    senders = [mutant for mutant in drawn if mutant.crate == "sim"][:SENDERS]
    return [mutant for mutant in drawn if mutant.crate != "sim" or mutant in senders]


def kept() -> list[Verdict]:
    """Give all verdicts that are kept."""
    return [_read(row) for row in csv_rows(KEPT)]


def _read(row: Mapping[str, str]) -> Verdict:
    mutant = Mutant(file=row["file"], change=row["change"], number=int(row["number"]))
    return Verdict(
        mutant=mutant,
        outcome=row["outcome"],
        same_record=row["same_record"],
        commit=row["commit"],
    )


def keep(verdicts: Iterable[Verdict]) -> None:
    """Write verdicts, of which a later one of the same mutant replaces an earlier one."""
    by_key = {verdict.mutant.key: verdict for verdict in verdicts}
    rows = (
        (*key, verdict.outcome, verdict.same_record, verdict.commit)
        for key, verdict in sorted(by_key.items())
    )
    KEPT.parent.mkdir(exist_ok=True)
    write_file(KEPT, csv_text([HEAD, *rows]).encode())


def verdicts_of(
    outcomes: Mapping[str, Any], mutants: Sequence[Mutant], commit: str
) -> list[Verdict]:
    """Read the outcomes that cargo-mutants has written so far."""
    by_name = {mutant.name: mutant for mutant in mutants}
    found = []
    for outcome in outcomes["outcomes"]:
        scenario = outcome["scenario"]
        mutant = by_name.get(scenario["Mutant"]["name"]) if isinstance(scenario, dict) else None
        word = OUTCOMES.get(outcome["summary"])
        if mutant is not None and word is not None:
            found.append(Verdict(mutant=mutant, outcome=word, commit=commit))
    return found


def judged_again(first: Verdict, again: Verdict) -> Verdict:
    """Add what `same_record` says of a survivor."""
    return replace(first, same_record=again.outcome)


def shares(verdicts: Iterable[Verdict], all_: Mapping[str, int]) -> list[list[str]]:
    """Give for each crate the numbers of mutants, of which `all_` are to be tried."""
    rows, of_all = [], list(verdicts)
    for crate in CRATES:
        of = [verdict for verdict in of_all if verdict.mutant.crate == crate]
        viable = [verdict for verdict in of if verdict.outcome != "does not build"]
        killed = sum(verdict.killed for verdict in viable)
        share = f"{100 * killed / len(viable):.0f} %" if viable else "-"
        counts = (all_[crate], len(of), len(of) - len(viable), killed, len(viable) - killed)
        rows.append([f"`{crate}`", *map(str, counts), share])
    return rows

"""`python -m tools.stacks.bbr`: the cases of BBR's draft with BBRv3 in noq, and with the built-in.

A packet of QUIC has at least 1228 B, so packets have 1500 B instead of 1000 B, and all rates are
half more: then every number of packets is that of the case. Stacks report no modes, timeouts and
undone reductions, so the expectations about these are not judged.
"""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from fairhaul.scenario.read import toml
from fairhaul.studies.expectations import MET, Judged
from fairhaul.studies.expectations.checking import Check, check
from tools import ROOT

CASES = ROOT / "scenarios" / "conformance" / "bbr"
SCALE = 1.5
# Packets of the largest size from the start, because the built-in sender has no other.
NOQ = {"kind": "noq", "initial_mtu": 1472, "mtu_discovery": False}
WITH: Mapping[str, Mapping[str, Any]] = {
    "built-in": {"controller": "bbr3"},
    "noq, fairhaul-bbr3": {"stack": NOQ | {"controller": "fairhaul-bbr3"}},
    "noq, bbr3": {"stack": NOQ | {"controller": "bbr3"}},
}
OF_A_SENDER = ("controller", "profile", "delayed_ack", "recovery")
NOT_REPORTED = ("modes.", "events.bbr.undone", "events.bbr.timeout")


def scaled(value: Any) -> Any:
    """Multiply the rates and sizes of a scenario."""
    match value:
        case str():
            of = r"\b(\d+(?:\.\d+)?)( (?:[kM]?bit/s|k?B)|e6)(?=$|\W)"
            return re.sub(of, lambda found: f"{float(found[1]) * SCALE:g}{found[2]}", value)
        case dict():
            return {key: scaled(of) for key, of in value.items()}
        case list():
            return [scaled(of) for of in value]
    return value


def adapted(file: Path, sender: Mapping[str, Any]) -> str:
    """Give a case in packets of 1500 B, with another sender; nothing if no expectation is left."""
    case = scaled(tomllib.loads(file.read_text()))
    (flow,) = case["flow"]
    unused = OF_A_SENDER if "stack" in sender else ("controller",)
    case["flow"] = [{key: of for key, of in flow.items() if key not in unused} | dict(sender)]
    case["expect"] = [
        of for of in case["expect"] if not any(word in of["number"] for word in NOT_REPORTED)
    ]
    return "".join(f"{key} = {toml(of)}\n" for key, of in case.items() if case["expect"])


def judged(sender: Mapping[str, Any], only: str) -> Check:
    """Judge the cases whose names have a part, with a sender."""
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(CASES.glob("*.toml")):
            text = adapted(file, sender)
            if only in file.stem and text:
                (Path(folder) / file.name).write_text(text)
        return check(folder, seeds=5)


def cells(of: Check) -> Iterator[tuple[str, str, Judged]]:
    """Give the case, the text and the verdict of each expectation."""
    for case in of.cases:
        for checked in case.expectations:
            yield Path(case.case.file).stem, checked.expectation.what, checked.by["sim"]


def text_of(found: Judged) -> str:
    """Give a number, and its verdict unless it is met."""
    mean = "none" if found.estimate is None else f"{found.estimate.mean:.3g}"
    return mean if found.verdict == MET else f"{mean}, **{found.verdict}**"


@click.command()
@click.option("--only", default="", help="Only cases whose names have this part.")
def main(only: str) -> None:
    """Print the means of five seeds, with the verdicts."""
    click.echo(f"| case | expectation | {' | '.join(WITH)} |\n|{'---|' * (2 + len(WITH))}")
    tables = [list(cells(judged(sender, only))) for sender in WITH.values()]
    for row in zip(*tables, strict=True):
        case, what, _ = row[0]
        click.echo(f"| {case} | {what} | {' | '.join(text_of(found) for *_, found in row)} |")
    met = [sum(found.verdict == MET for *_, found in table) for table in tables]
    click.echo(f"| | met, of {len(tables[0])} | {' | '.join(map(str, met))} |")


if __name__ == "__main__":
    main()

"""`python -m tools.soak`: draw at random for a time, and append to the ledger."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import click

from tools import ROOT, commit, publish, seconds
from tools.soak import ENGINES, PAUSES, Row, add, kept, next_seed, read_fuzz, table

LOGS = ROOT / "target" / "soak"
# The tests of `sim` that draw scenarios.
TESTS = {
    ENGINES: (
        "same_record::any_scenario_gives_the_same_record",
        "same_record::any_scenario_with_bursts_gives_the_same_record",
    ),
    PAUSES: (
        "paused::any_scenario_gives_the_same_record_when_it_is_paused_and_copied",
        "paused::bursts_give_the_same_record_when_a_run_is_paused_and_copied",
    ),
}
CASES = 256
# What `scripts/fuzz` does one after the other, each for the time that it is told.
FUZZ_PARTS = 5


@click.command()
@click.option("--time", "length", default="10m", help="For about how long, as in 90s, 10m or 8h.")
def main(length: str) -> None:
    """Half of the time scenarios in both engines, paused and copied; then `make fuzz`."""
    whole, failed = seconds(length), False
    command = ["cargo", "test", "--locked", "--package", "fairhaul-sim", "--test", "all"]
    subprocess.run([*command, "--no-run", "--quiet"], cwd=ROOT, check=True)
    begun = time.monotonic()
    while time.monotonic() - begun < whole / 2:
        seed = next_seed(kept())
        failed |= _engines(command, ENGINES, seed) | _engines(command, PAUSES, seed)
    failed |= _fuzz(max(1, int(whole / 2 / FUZZ_PARTS)), next_seed(kept()))
    publish("soak", table())
    sys.exit(failed)


def _engines(command: list[str], part: str, seed: int) -> bool:
    """Judge scenarios by both engines, or by pauses and copies; whether any failed."""
    begun = time.monotonic()
    environment = os.environ | {"FAIRHAUL_SOAK_SEED": str(seed), "PROPTEST_CASES": str(CASES)}
    done = subprocess.run(
        [*command, "--", "--exact", *TESTS[part]],
        cwd=ROOT,
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    passed = sum(f"test {name} ... ok" in done.stdout for name in TESTS[part])
    row = Row(
        part=part,
        seed=seed,
        inputs=CASES * passed,
        findings=len(TESTS[part]) - passed,
        seconds=round(time.monotonic() - begun),
        commit=commit(),
    )
    add([row])
    click.echo(f"{part}, seed {seed}: {row.inputs} scenarios, {row.findings} failed")
    if done.returncode:
        _write_log(f"{part}-{seed}.log", done.stdout)
    return bool(done.returncode)


def _fuzz(each_s: int, seed: int) -> bool:
    """Call `scripts/fuzz`; whether anything failed."""
    done = subprocess.run(
        [str(ROOT / "scripts/fuzz"), f"{each_s}s", str(seed)],
        cwd=ROOT,
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    click.echo(done.stdout, nl=False)
    _write_log(f"fuzz-{seed}.log", done.stdout)
    rows = [
        Row(
            part=part,
            seed=seed,
            inputs=inputs,
            findings=findings,
            seconds=each_s,
            commit=commit(),
        )
        for part, (inputs, findings) in read_fuzz(done.stdout).items()
    ]
    add(rows)
    return bool(done.returncode)


def _write_log(name: str, text: str) -> None:
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / name).write_text(text, encoding="utf-8")


main(prog_name="python -m tools.soak")

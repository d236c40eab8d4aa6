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
    """Call `scripts/fuzz`, and keep each part when the next begins; whether any failed."""
    command = [str(ROOT / "scripts/fuzz"), f"{each_s}s", str(seed)]
    printed, found = "", dict[str, tuple[int, int]]()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            click.echo(line, nl=False)
            printed += line
            found |= read_fuzz(line)
            if line.endswith(":\n"):
                _keep(found, each_s, seed)
                found.clear()
    _keep(found, each_s, seed)
    _write_log(f"fuzz-{seed}.log", printed)
    return bool(process.returncode)


def _keep(found: dict[str, tuple[int, int]], each_s: int, seed: int) -> None:
    """Append parts of `scripts/fuzz` to the ledger, each of which took the same time."""
    at = commit()
    add(
        Row(part=part, seed=seed, inputs=inputs, findings=findings, seconds=each_s, commit=at)
        for part, (inputs, findings) in found.items()
    )


def _write_log(name: str, text: str) -> None:
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / name).write_text(text, encoding="utf-8")


main(prog_name="python -m tools.soak")

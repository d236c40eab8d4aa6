"""Small questions, one for each command that simulates, and what the commands answer in JSON.

A change of form must not change a number: what the commands answered before is kept in a folder,
and compared with what they answer after. Times of the clock are omitted.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools import ROOT

EXAMPLES = ROOT / "scenarios" / "examples"

QUESTIONS: Mapping[str, str] = {
    "run": "run {examples}/two-flows.toml --seeds 3",
    "linux": "run {examples}/two-flows.toml --engine sim,linux --set duration='10 s'",
    "sweep": "sweep {examples}/queues.toml --seeds 2 --set duration='15 s' --out {out}",
    "compare": "compare cubic bbr 2xreno --rate 20Mbit/s --rtt 40ms,80ms --buffer 1bdp --seeds 3 "
    "--duration 20s --against 2xcubic",
    "advise": "advise --rate 50Mbit/s --rtt 40ms --buffer 1bdp --size 1GB --budget 20s "
    "--only cubic --only bbr --only 4xcubic",
    "score": "score highspeed --paths 8",
    "evaluate": "evaluate cubic --seeds 1 --out {out}",
    "check": "check {examples}/../conformance --seeds 2",
    "attack": "attack cubic --objective waste --budget 8s --out {out}",
    "suite": "evaluate cubic --suite tcpeval --quick --only impact --out {out}",
    "reproduce": "reproduce xcp-tcp --quick --seeds 2 --out {out}",
    "cells": "lab cells --engine sim --cells reno-20M-20ms-1bdp --out {out}",
}

# What differs between two runs of the same.
TIMES = frozenset({"cpu_s", "clock_s", "report", "command", "version"})


def answer(name: str, out: Path) -> Any:
    """Give what the command of a question prints.

    Raises:
        RuntimeError: it failed; 1 is the status of unmet expectations.
    """
    command = QUESTIONS[name].format(examples=EXAMPLES, out=out / name)
    words = [sys.executable, "-m", "fairhaul", *shlex.split(command), "--json"]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command}: {done.stderr}")
    return json.loads(done.stdout)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give each number and word of an answer with its place, times of the clock omitted."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key not in TIMES:
                yield from leaves(each, f"{path}.{key}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from leaves(each, f"{path}[{index}]")
    else:
        yield path, value


def differences(before: Any, after: Any, *, by_name: bool) -> list[str]:
    """Name what differs: by place, or only by the last name of the place, wherever it stands."""
    if by_name:

        def named(value: Any) -> Counter[str]:
            numbers = ((path, x) for path, x in leaves(value) if isinstance(x, int | float))
            return Counter(f"{path.rpartition('.')[2]} = {x!r}" for path, x in numbers)

        return [f"is missing: {item}" for item in (named(before) - named(after)).elements()]
    old, new = dict(leaves(before)), dict(leaves(after))
    return [
        f"{path}: {old.get(path)!r}, now {new.get(path)!r}"
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path) or (path in old) != (path in new)
    ]

"""Whether runs of transport stacks repeat: drawn scenarios in two processes, compared by packets.

The times, directions and sizes of all packets of the flow are compared, as its packet trace has
them. One process runs all scenarios of a stack and a controller.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from fairhaul import _core
from fairhaul.files import files
from fairhaul.scenario.read import read_one
from tools import ROOT

STACKS = (
    *(("quinn", controller) for controller in ("cubic", "newreno", "bbr", "fairhaul-bbr3")),
    *(("noq", controller) for controller in ("cubic", "newreno", "bbr3", "fairhaul-bbr3")),
    *(("smoltcp", controller) for controller in ("cubic", "reno", "none")),
)
COLUMNS = ("t_s", "what", "bytes")
# The functions of the C library by which a stack has time or chance of its own.
HIDDEN = frozenset(
    {"clock", "clock_gettime", "ftime", "gettimeofday", "time", "timespec_get"}
    | {"arc4random", "arc4random_buf", "arc4random_uniform", "getentropy", "getrandom"}
    | {"drand48", "lrand48", "mrand48", "rand", "rand_r", "random"}
)


class Case(NamedTuple):
    """A drawn scenario of a stack; `megabytes`: the size of its transfer, if it is not drawn."""

    stack: str
    settings: Mapping[str, Any]
    number: int
    megabytes: float | None = None


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The first packet in which two runs of a case differ."""

    case: Case
    first: Sequence[str]

    def __str__(self) -> str:
        """Say which packet it is, and what of the system a library calls that may be the cause."""
        one, other = self.first
        text = f"scenario {self.case.number}: {one} in one process, {other} in the other"
        hidden = hidden_in(Path(self.case.stack))
        return f"{text}; the library calls {', '.join(hidden)}" if hidden else text


def hidden_in(library: Path) -> list[str]:
    """Give the functions for time and chance that a library takes from the C library, by `nm`."""
    if not library.is_file():
        return []
    command = ["nm", "--dynamic", "--undefined-only", "--format=just-symbols", str(library)]
    symbols = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return sorted(HIDDEN & {symbol.partition("@")[0] for symbol in symbols})


def drawn(number: int, megabytes: float | None = None) -> dict[str, Any]:
    """Draw the overrides of a scenario; every tenth has a transfer of 60 MB."""
    random = Random(f"stacks {number}")
    rate = round(5 * 20 ** random.random(), 1)
    size = megabytes or (60 if number % 10 == 9 else random.choice((0.1, 1, 5)))
    link: dict[str, Any] = {
        "bottleneck.rate": f"{rate} Mbit/s",
        "bottleneck.queue.capacity": f"{random.uniform(0.3, 2):.2f} bdp",
        "flow.stack.rtt": f"{random.randint(12, 120)} ms",
        "flow.stack.traffic": f"{size} MB",
        "seed": number,
        "duration": f"{size * 8 / rate * 4 + 5:.1f} s",
    }
    if random.random() < 0.5:
        link["bottleneck.loss"] = round(10 ** random.uniform(-4, -2), 6)
    if random.random() < 0.3:
        link["bottleneck.jitter"] = f"uniform 0 s..{random.uniform(0.1, 5):.2f} ms"
    if random.random() < 0.2:
        link["bottleneck.reverse_loss"] = 0.01
    return link


BASE = """
warmup = "0 s"
duration = "1 s"
[bottleneck]
rate = "1 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", capacity = "1 bdp" }
[[flow]]
name = "stack"
packet = "1500 B"
stack = "quinn"
"""


def packets(overrides: Mapping[str, Any], stack: str) -> str:
    """Run a scenario, and give its packets as text, a line each."""
    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stack.toml"
        file.write_text(BASE)
        scenario = read_one(file, {"flow.stack.stack": stack} | dict(overrides))
        trace = _core.Run(scenario, 0).run().trace
    assert trace is not None, "a trace was requested"
    frame = pl.DataFrame(trace)
    return frame.select(COLUMNS).write_csv(include_header=False)


def differences(cases: Sequence[Case]) -> list[Difference]:
    """Run cases in two processes, and give the cases that differ."""
    asked = json.dumps([[*case] for case in cases])
    with tempfile.TemporaryDirectory() as folder:
        folders = [Path(folder) / name for name in ("one", "other")]
        for each in folders:
            each.mkdir()
            command = [sys.executable, "-m", "tools.stacks.repeat", str(each), asked]
            subprocess.run(command, check=True, cwd=ROOT)
        texts = [
            [(each / str(index)).read_text() for each in folders] for index in range(len(cases))
        ]
    return [
        Difference(case=case, first=_first(one, other))
        for case, (one, other) in zip(cases, texts, strict=True)
        if one != other
    ]


def _first(one: str, other: str) -> tuple[str, str]:
    lines = [text.splitlines() for text in (one, other)]
    same = (a == b for a, b in zip(*lines, strict=False))
    place = next((index for index, is_same in enumerate(same) if not is_same), -1)
    first, second = (text[place] if place >= 0 else f"{len(text)} packets" for text in lines)
    return first, second


def main(folder: str, asked: str) -> None:
    """Write the packets of each case into a file of its place."""
    for index, case in enumerate(Case(*values) for values in json.loads(asked)):
        own = {f"flow.stack.stack.{key}": value for key, value in case.settings.items()}
        text = packets(drawn(case.number, case.megabytes) | own, case.stack)
        files.replace(Path(folder) / str(index), text.encode())


if __name__ == "__main__":
    main(*sys.argv[1:])

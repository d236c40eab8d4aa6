"""Other simulators on the same workloads, by scripts of ours in `scripts/peers`.

Each gets the flows, round trips and links of the scenario, with starts evenly over the first
second, and reports the delivered packets and the processor time from then on.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools import ROOT
from tools.bench import Row
from tools.bench.loads import WORKLOADS, Load
from tools.bench.timing import ENGINE, best

SCRIPTS = ROOT / "scripts" / "peers"
PACKAGES = "Debian: ns2, libns3-dev, g++; `make bench-peers` installs them as root"
NS3_LIBRARIES = (
    *("applications", "internet", "point-to-point", "traffic-control"),
    *("network", "core"),
)
NS3_HEADER = Path("/usr/include/ns3/core-module.h")

# How far ns-3 runs a workload, in simulated seconds: all of it would take hours.
NS3_S: Mapping[str, float] = {"W1": 2, "W2": 3, "W3": 1.3, "W4": 3}

NOTE = """\
ns-3 is timed over its first seconds only, with slow start capped, which favours it. Its flows of
one controller and round trip share their hosts, which does, too.
ns-2 runs all of each workload. Both count from 1 s on, when all flows have started."""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A simulator: its name, what runs a dumbbell in it, and how long, if not all of it."""

    name: str
    command: tuple[str, ...]
    seconds: Mapping[str, float] = field(default_factory=dict)

    def rate(self, load: Load, folder: Path) -> tuple[float, float]:
        """Run `load`: million packets per second of processor time, and how far it was run.

        Raises:
            RuntimeError: It failed; with what it said.
        """
        text, whole_s = described(load)
        file = folder / f"{load.name}.flows"
        file.write_text(text, encoding="utf-8")
        until_s = self.seconds.get(load.name, whole_s)
        done = subprocess.run(
            [*self.command, str(file), str(until_s)], capture_output=True, text=True, check=False
        )
        match = re.search(r"^result (\d+) ([\d.]+)$", done.stdout, re.MULTILINE)
        if done.returncode != 0 or match is None:
            raise RuntimeError(f"{self.name} failed on {load.name}:\n{done.stderr}")
        return int(match[1]) / float(match[2]) / 1e6, until_s


def missing() -> list[str]:
    """Name what is not installed."""
    lacking = [program for program in ("ns", "g++") if shutil.which(program) is None]
    return lacking if NS3_HEADER.is_file() else [*lacking, "the headers of ns-3"]


def described(load: Load) -> tuple[str, float]:
    """Write `load` as the scripts read it; give its length, too."""
    scenario = load.described()
    link, flows = scenario["links"][0], scenario["flows"]
    access_bps = flows[0]["forward"][0]["rate_bps"]
    numbers = (link["rate_bps"], link["delay_s"], link["capacity_packets"], access_bps)
    lines: list[tuple[object, ...]] = [("link", *numbers, flows[0]["packet_bytes"])]
    for index, flow in enumerate(flows):
        start_s = (index + 0.5) / len(flows)
        own = (flow["controller"], flow["rtt_s"], start_s, flow["initial_ssthresh"])
        lines.append(("flow", *own))
    text = "".join(" ".join(map(str, line)) + "\n" for line in lines)
    return text, scenario["duration_s"]


def compare() -> Iterator[Row]:
    """Run every workload here and in both peers, and say how many times as fast this is.

    Raises:
        RuntimeError: A peer could not be built or run.
    """
    with tempfile.TemporaryDirectory() as folder:
        program = _ns3(Path(folder))
        ns2 = Peer(name="ns-2", command=("ns", str(SCRIPTS / "ns2.tcl")))
        ns3 = Peer(name="ns-3", command=(str(program),), seconds=NS3_S)
        for load in WORKLOADS:
            ours = best([ENGINE], [load], runs=3)[ENGINE, load.name].rate
            yield _row(load, "Fairhaul, all of it", ours, "M/s")
            for peer in (ns2, ns3):
                rate, until_s = peer.rate(load, Path(folder))
                yield _row(load, f"{peer.name}, seconds 1 to {until_s:g}", rate, "M/s")
                yield _row(load, f"Fairhaul over {peer.name}", ours / rate, "x")


def _row(load: Load, figure: str, measured: float, unit: str) -> Row:
    return Row(part="peers", load=load.name, figure=figure, measured=measured, unit=unit)


def _ns3(folder: Path) -> Path:
    """Build the dumbbell of ns-3."""
    program = folder / "ns3"
    libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
    source = str(SCRIPTS / "ns3.cc")
    done = subprocess.run(
        ["g++", "-O3", "-std=c++17", source, "-o", str(program), *libraries],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the dumbbell of ns-3 could not be built:\n{done.stderr}")
    return program

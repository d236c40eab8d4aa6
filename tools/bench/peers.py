"""Other simulators on the same workloads, by scripts of ours in `scripts/peers`.

Each gets the flows, round trips and links of the scenario, with starts evenly over the first
second, and reports the delivered packets and the processor time from then on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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

# It is in no distribution: a user who wants its column gets the source.
HTSIM_SOURCE = "https://github.com/Broadcom/csg-htsim"
# Parts of it that its library does not need, and files that a user has built.
HTSIM_REST = ("datacenter", "tests", "EXAMPLES", "*.o", "*.a")

# How far ns-3 runs a workload, in simulated seconds: all of it would take hours.
NS3_S: Mapping[str, float] = {"W1": 2, "W2": 3, "W3": 1.3, "W4": 3}

NOTE = """\
ns-3 is timed over its first seconds only, with slow start capped, which favours it. Its flows of
one controller and round trip share their hosts, which does, too.
ns-2 and htsim run all of each workload. All count from 1 s on, when all flows have started.
Every flow of htsim is NewReno without SACK. Its window does not grow beyond 1000 packets, so that
nothing is lost in W1 to W3, which favours it."""


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


def is_htsim(checkout: Path) -> bool:
    """Whether a folder has the source of htsim's library."""
    return all((checkout / "sim" / name).is_file() for name in ("Makefile", "tcp.h", "eventlist.h"))


def compare(htsim: Path | None) -> Iterator[Row]:
    """Run every workload here and in the peers, and say how many times as fast this is.

    Args:
        htsim: A checkout of htsim; without it htsim is not measured.

    Raises:
        RuntimeError: A peer could not be built or run.
    """
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        peers = [
            Peer(name="ns-2", command=("ns", str(SCRIPTS / "ns2.tcl"))),
            Peer(name="ns-3", command=(str(_ns3(folder)),), seconds=NS3_S),
        ]
        if htsim is not None:
            peers.append(htsim_peer(htsim, folder))
        for load in WORKLOADS:
            yield from beside(load, peers, folder)
            if htsim is None:
                yield Row(
                    part="peers",
                    load=load.name,
                    figure="htsim",
                    measured=None,
                    why="HTSIM names no folder",
                )


def beside(load: Load, peers: Sequence[Peer], folder: Path) -> Iterator[Row]:
    """Run one workload here and in some peers, one after the other."""

    def row(figure: str, measured: float, unit: str) -> Row:
        return Row(part="peers", load=load.name, figure=figure, measured=measured, unit=unit)

    ours = best([ENGINE], [load], runs=3)[ENGINE, load.name].rate
    yield row("Fairhaul, all of it", ours, "M/s")
    for peer in peers:
        rate, until_s = peer.rate(load, folder)
        yield row(f"{peer.name}, seconds 1 to {until_s:g}", rate, "M/s")
        yield row(f"Fairhaul over {peer.name}", ours / rate, "x")


def _ns3(folder: Path) -> Path:
    """Build the dumbbell of ns-3."""
    libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
    return _dumbbell("ns3", folder, libraries)


def htsim_peer(checkout: Path, folder: Path) -> Peer:
    """Build htsim's library from a copy of its source, and the dumbbell with it.

    Raises:
        RuntimeError: It could not be built; with what the compiler said.
    """
    source = folder / "htsim-source"
    shutil.copytree(checkout / "sim", source, ignore=shutil.ignore_patterns(*HTSIM_REST))
    make = ["make", "-C", str(source), f"-j{os.cpu_count() or 1}", "libhtsim.a"]
    _build("the library of htsim", make)
    program = _dumbbell("htsim", folder, [f"-I{source}", str(source / "libhtsim.a")])
    return Peer(name="htsim", command=(str(program),))


def _dumbbell(name: str, folder: Path, libraries: Sequence[str]) -> Path:
    """Build our program for a peer, and give its path."""
    program, source = folder / name, SCRIPTS / f"{name}.cc"
    compiler = ["g++", "-O3", "-std=c++17", str(source), "-o", str(program)]
    _build(f"the dumbbell of {name}", [*compiler, *libraries])
    return program


def _build(what: str, command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{what} could not be built:\n{done.stderr}")

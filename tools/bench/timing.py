"""Examples of the engine, run and timed: each in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tools.bench import cost
from tools.bench.loads import Load


@dataclass(frozen=True, kw_only=True)
class Use:
    """What a run took."""

    packets: int
    cpu_s: float
    peak_mb: float

    @property
    def rate(self) -> float:
        """Million packets per second of processor time."""
        return self.packets / self.cpu_s / 1e6

    @property
    def ns(self) -> float:
        """Processor time of a packet."""
        return self.cpu_s / self.packets * 1e9


# What runs: the example, and what it is called with before the scenario.
Program = tuple[str, ...]
ENGINE: Program = ("bench",)
CALENDAR: Program = ("floor", "calendar")
RINGS: Program = ("floor", "rings")


def once(program: Program, load: Load) -> Use:
    """Run `program` on `load`.

    Raises:
        RuntimeError: It could not be built, or it failed; with what it said.
    """
    example, *words = program
    command = [str(cost.built("sim", example)), *words, *load.arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(program)} failed on {load.name}:\n{done.stderr}")
    packets, cpu_s, peak_kb = done.stdout.split()
    return Use(packets=int(packets), cpu_s=float(cpu_s), peak_mb=int(peak_kb) / 1000)


def best(
    programs: Sequence[Program], loads: Sequence[Load], runs: int
) -> Mapping[tuple[Program, str], Use]:
    """Run every program on every load, in turns, so that a slow minute hits all of them.

    Returns:
        For each program and load the run that took least, with the largest of the peaks.
    """
    uses: dict[tuple[Program, str], Use] = {}
    for _ in range(runs):
        for load in loads:
            for program in programs:
                use = once(program, load)
                before = uses.get((program, load.name), use)
                uses[program, load.name] = Use(
                    packets=use.packets,
                    cpu_s=min(use.cpu_s, before.cpu_s),
                    peak_mb=max(use.peak_mb, before.peak_mb),
                )
    return uses

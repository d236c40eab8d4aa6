"""The files of traffic of a suite: each load is made once, for all controllers and buffers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fairhaul._core import ScenarioError
from fairhaul.studies.tcpeval.generator import connections_per_s, generate
from fairhaul.studies.tcpeval.load import Wanted, offer
from fairhaul.studies.tcpeval.vectors import Trace, read

FOLDER = "traffic"
# `rAsI` is the path of initiator I on the left and acceptor A on the right [TCPEVAL, 4.1].
PATHS = tuple(f"r{acceptor}s{initiator}" for acceptor in (4, 5, 6) for initiator in (1, 2, 3))


@dataclass(frozen=True, kw_only=True)
class Made:
    """Files of traffic, without their contents."""

    folder: str
    """As a scenario names it."""
    sizes: Mapping[str, Sequence[int]]
    """The sizes of packets of each path."""
    warmup_s: float
    length_s: float
    load: float
    wanted: float
    """The load that was requested."""


@dataclass
class Traffic:
    """Makes traffic in a directory, from the files of a user or generated."""

    out: Path
    given: Path | None
    """The directory of `r4s1.org` to `r6s3.org`."""
    made: dict[str, Made] = field(default_factory=dict)
    """What was made so far, by folder."""

    def make(self, name: str, wanted: Wanted, seed: int, paths: Sequence[str] = PATHS) -> Made:
        """Make the traffic of a name once."""
        folder = f"{FOLDER}/{name}-{seed}"
        if folder not in self.made:
            rng = np.random.default_rng([seed, *name.encode()])
            offered = offer(self._traces(wanted, paths, rng), wanted, rng)
            (self.out / folder).mkdir(parents=True, exist_ok=True)
            for path, trace in offered.paths.items():
                trace.write(self.out / folder, path)
            self.made[folder] = Made(
                folder=folder,
                sizes={path: trace.sizes() for path, trace in offered.paths.items()},
                warmup_s=offered.warmup_s,
                length_s=offered.length_s,
                load=offered.load,
                wanted=wanted.load,
            )
        return self.made[folder]

    def _traces(
        self, wanted: Wanted, paths: Sequence[str], rng: np.random.Generator
    ) -> Mapping[str, Trace]:
        if self.given is not None:
            return {path: read(self._file(path), rng) for path in paths}
        rate = connections_per_s(wanted.load * wanted.capacity_bps / len(paths))
        return {path: generate(rate, wanted.length_s, rng) for path in paths}

    def _file(self, path: str) -> Path:
        assert self.given is not None
        file = self.given / f"{path}.org"
        if not file.is_file():
            known = ", ".join(f"{name}.org" for name in PATHS)
            raise ScenarioError(f"--vectors: {file} is missing; wanted the nine files {known}")
        return file

"""The traffic of a suite: each load is made once, for all controllers and buffers.

The offered load of a run is scaled, shuffled and prefilled [TCPEVAL, 2.3, 3.2, 3.3].

Generated traffic stands for the traces of the suite, which are not distributed with it. Users open
connections as a Poisson process. In each, requests and responses alternate, with pauses of the
server and of the user; the sizes of responses are heavy-tailed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fairhaul._core import ScenarioError
from fairhaul.studies.tcpeval.vectors import SMALL_PART, US, Floats, Trace, read

FOLDER = "traffic"
# `rAsI` is the path of initiator I on the left and acceptor A on the right [TCPEVAL, 4.1].
PATHS = tuple(f"r{acceptor}s{initiator}" for acceptor in (4, 5, 6) for initiator in (1, 2, 3))

# Differs from [TCPEVAL, 2.2]: the traces of a campus are replaced by these laws.
EXCHANGES = 2.0
"""Mean number of requests of a connection (geometric)."""
REQUEST_BYTES = 800.0
"""Mean size of a request (exponential)."""
RESPONSE_BYTES = (1500.0, 1.2, 20e6)
"""Least size of a response, shape and greatest size (bounded Pareto)."""
SERVER_S, USER_S = 0.05, 1.0
"""Mean pauses before a response, and before the next request (exponential)."""

# Shuffled bins of so many bits of the bottleneck [TCPEVAL, 2.3.2.1].
BIN_BITS = 500e6
# How far the load of the second third of a run may be from that of the last [TCPEVAL, 3.2], and
# how far the load from what was asked for.
BALANCE = 0.05
NEAR = 0.02
ATTEMPTS = 40


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


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a run has to be offered."""

    capacity_bps: float
    load: float
    """As a part of the capacity."""
    both_directions: bool
    """Whether the load is that of both directions together, as on a shared medium."""
    warmup_s: float
    test_s: float
    prefill_s: float
    rtt_s: float
    """A typical round trip, from which durations of connections are estimated."""
    bin_s: float | None = None

    @property
    def length_s(self) -> float:
        """The length of the traffic: prefilled, warm-up and test."""
        return self.prefill_s + self.warmup_s + self.test_s


@dataclass(frozen=True, kw_only=True)
class Offered:
    """The traffic of a run."""

    paths: Mapping[str, Trace]
    warmup_s: float
    """From the start of the run, the prefilling included."""
    length_s: float
    load: float
    """The load that the connections offer after the prefilling."""
    imbalance: float
    """The difference of the loads of the second and the last third, over their mean."""


def offer(traces: Mapping[str, Trace], wanted: Wanted, rng: np.random.Generator) -> Offered:
    """Make the traffic of a run: the best of several shuffles, or the first that is good."""
    best = (math.inf, 0.0, 0.0, dict(traces))
    for _ in range(ATTEMPTS):
        paths = _shuffled(traces, wanted, rng)
        load, imbalance = _judged(paths, wanted)
        badness = max(abs(load / wanted.load - 1) / NEAR, imbalance / BALANCE)
        if badness < best[0]:
            best = badness, load, imbalance, paths
        if badness <= 1:
            break
    _, load, imbalance, paths = best
    filled, prefilled_s = _prefilled(paths, wanted)
    return Offered(
        paths=filled,
        warmup_s=prefilled_s + wanted.warmup_s,
        length_s=prefilled_s + wanted.warmup_s + wanted.test_s,
        load=load,
        imbalance=imbalance,
    )


def _bits(trace: Trace, wanted: Wanted) -> Floats:
    return trace.down_bits() + (trace.up_bits() if wanted.both_directions else 0.0)


def _shuffled(
    traces: Mapping[str, Trace], wanted: Wanted, rng: np.random.Generator
) -> dict[str, Trace]:
    """Scale the starts to the load, and shuffle bins of them, all paths alike."""
    span_s = max(trace.start_s[-1] for trace in traces.values())
    bits = sum(float(_bits(trace, wanted).sum()) for trace in traces.values())
    scale = bits / (wanted.load * wanted.capacity_bps * span_s)
    bin_s = wanted.bin_s or BIN_BITS / wanted.capacity_bps
    bins = max(int(span_s * scale / bin_s), 1)
    needed = int(np.ceil(wanted.length_s / bin_s))
    # A trace that is too short is shuffled more than once.
    order = np.concatenate([rng.permutation(bins) for _ in range(-(-needed // bins))])[:needed]
    return {
        name: _binned(trace, trace.start_s * scale, order, bin_s, wanted.length_s)
        for name, trace in traces.items()
    }


def _binned(
    trace: Trace, start_s: Floats, order: np.ndarray, bin_s: float, length_s: float
) -> Trace:
    """Put the bins of a trace in another order."""
    edges = np.searchsorted(start_s, np.arange(order.max() + 2) * bin_s)
    which, starts = [], []
    for place, chosen in enumerate(order):
        part = np.arange(edges[chosen], edges[chosen + 1])
        which.append(part)
        starts.append(start_s[part] + (place - chosen) * bin_s)
    index, moved = np.concatenate(which), np.concatenate(starts)
    within = moved < length_s
    return trace.taken(index[within], moved[within])


def _judged(paths: Mapping[str, Trace], wanted: Wanted) -> tuple[float, float]:
    """Give the load after the prefilling, and the imbalance of the last two thirds."""
    start = np.concatenate([trace.start_s for trace in paths.values()])
    bits = np.concatenate([_bits(trace, wanted) for trace in paths.values()])
    late = start >= wanted.prefill_s
    seconds = wanted.length_s - wanted.prefill_s
    load = float(bits[late].sum()) / (seconds * wanted.capacity_bps)
    thirds = np.linspace(wanted.prefill_s, wanted.length_s, 4)
    second = float(bits[(start >= thirds[1]) & (start < thirds[2])].sum())
    last = float(bits[start >= thirds[2]].sum())
    return load, 2 * abs(second - last) / max(second + last, 1.0)


def _prefilled(paths: Mapping[str, Trace], wanted: Wanted) -> tuple[dict[str, Trace], float]:
    """Start those connections early that last; give the time over which they start, too."""
    early = {name: trace.start_s < wanted.prefill_s for name, trace in paths.items()}
    lasts = {
        name: trace.start_s + trace.duration_s(wanted.rtt_s) > wanted.prefill_s / 2
        for name, trace in paths.items()
    }
    total = sum(
        float(_bits(trace, wanted)[early[name] & lasts[name]].sum())
        for name, trace in paths.items()
    )
    over_s = min(total / (wanted.capacity_bps * wanted.load), wanted.prefill_s)
    squeeze = over_s / wanted.prefill_s if wanted.prefill_s else 1.0
    filled = {}
    for name, trace in paths.items():
        later = trace.start_s - wanted.prefill_s + over_s
        moved = np.where(early[name], trace.start_s * squeeze, later)
        which = np.flatnonzero(~early[name] | lasts[name])
        filled[name] = trace.taken(which, moved[which])
    return filled, over_s


def mean_response_bytes() -> float:
    """Give the mean of the bounded Pareto distribution."""
    least, shape, most = RESPONSE_BYTES
    ratio = least / most
    norm = shape / (shape - 1) * least / (1 - ratio**shape)
    return float(norm * (1 - ratio ** (shape - 1)))


def connections_per_s(bits_per_s: float) -> float:
    """Give how many connections a second make a load in the direction of the responses."""
    return bits_per_s / (8 * EXCHANGES * mean_response_bytes())


def generate(rate: float, length_s: float, rng: np.random.Generator) -> Trace:
    """Draw the connections that open in `length_s` seconds, `rate` of them a second."""
    count = max(int(rng.poisson(rate * length_s)), 1)
    start_s = np.sort(rng.uniform(0.0, length_s, count))
    exchanges = rng.geometric(1 / EXCHANGES, count)
    total = int(exchanges.sum())
    requests = np.ceil(rng.exponential(REQUEST_BYTES, total))
    responses = _responses(total, rng)
    server_s, user_s = rng.exponential(SERVER_S, total), rng.exponential(USER_S, total)
    first = np.concatenate([[0], np.cumsum(exchanges)[:-1]])
    user_s[first] = 0.0  # nothing precedes the first request
    lines = [
        f"{'' if think < 1 else f't {think}' + chr(10)}> {request}\nt {wait}\n< {response}\n"
        for think, request, wait, response in zip(
            np.rint(user_s * US).astype(np.int64).tolist(),
            requests.astype(np.int64).tolist(),
            np.rint(server_s * US).astype(np.int64).tolist(),
            responses.astype(np.int64).tolist(),
            strict=True,
        )
    ]
    ends = (first + exchanges).tolist()
    return Trace(
        start_s=start_s,
        down_bytes=_sums(responses, first),
        up_bytes=_sums(requests, first),
        pauses_s=_sums(server_s + user_s, first),
        units=2 * exchanges.astype(np.int64),
        is_small=rng.random(count) < SMALL_PART,
        kind=["SEQ"] * count,
        body=["".join(lines[low:high]) for low, high in zip(first.tolist(), ends, strict=True)],
    )


def _sums(of: Floats, first: np.ndarray) -> Floats:
    return np.asarray(np.add.reduceat(of, first), dtype=np.float64)


def _responses(count: int, rng: np.random.Generator) -> Floats:
    least, shape, most = RESPONSE_BYTES
    unit = rng.random(count)
    tail = (least / most) ** shape
    sizes: Floats = np.ceil(least * (1 - unit * (1 - tail)) ** (-1 / shape))
    return sizes

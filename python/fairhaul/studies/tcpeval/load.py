"""The offered load of a run [TCPEVAL, 2.3, 3.2, 3.3]: scaled, shuffled and prefilled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairhaul.studies.tcpeval.vectors import Floats, Trace

# Shuffled bins of so many bits of the bottleneck [TCPEVAL, 2.3.2.1].
BIN_BITS = 500e6
# How far the load of the second third of a run may be from that of the last [TCPEVAL, 3.2], and
# how far the load from what was asked for.
BALANCE = 0.05
NEAR = 0.02
ATTEMPTS = 40


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
    found = (_shuffled(traces, wanted, rng) for _ in range(ATTEMPTS))
    best: tuple[float, dict[str, Trace]] | None = None
    for paths in found:
        load, imbalance = _judged(paths, wanted)
        badness = max(abs(load / wanted.load - 1) / NEAR, imbalance / BALANCE)
        if best is None or badness < best[0]:
            best = badness, paths
        if badness <= 1:
            break
    assert best is not None, "there is at least one attempt"
    load, imbalance = _judged(best[1], wanted)
    filled, prefilled_s = _prefilled(best[1], wanted)
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
    kept = {}
    total = 0.0
    for name, trace in paths.items():
        early = trace.start_s < wanted.prefill_s
        lasts = trace.start_s + trace.duration_s(wanted.rtt_s) > wanted.prefill_s / 2
        kept[name] = ~early | lasts
        total += float(_bits(trace, wanted)[early & lasts].sum())
    over_s = min(total / (wanted.capacity_bps * wanted.load), wanted.prefill_s)
    filled = {}
    for name, trace in paths.items():
        which = np.flatnonzero(kept[name])
        start_s = trace.start_s[which]
        early = start_s < wanted.prefill_s
        squeezed = start_s * (over_s / wanted.prefill_s) if wanted.prefill_s else start_s
        moved = np.where(early, squeezed, start_s - wanted.prefill_s + over_s)
        filled[name] = trace.taken(which, moved)
    return filled, over_s

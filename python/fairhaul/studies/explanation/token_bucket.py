"""Token buckets and queues, found by what they dropped.

A policer with the rate r and the burst s drops a packet that finds fewer tokens than it has bytes.
Its deficit d = s - tokens follows the recursion of a queue: it grows by the bytes that pass, falls
by r t, and is never below 0. So d needs no burst to be computed, only a rate, and with the right
rate all losses have nearly the same deficit, one packet below the burst, and what passed has a
smaller one. A drop-tail queue of the rate r and the size s drops exactly the same packets; but
there a packet that finds the backlog d waits for d / r, and at a policer it does not wait.

[POLICING] draws the line of tokens for each chunk of a connection alone; a bucket does not know of
chunks or connections. The fit needs all packets through the bottleneck, so the connections of two
hosts are fitted together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairhaul.studies.explanation.estimate import Estimate

if TYPE_CHECKING:
    from fairhaul.studies.explanation.trace import Column, Mask, Sent

# Fewer losses give no line.
LEAST_LOST = 5
# What the two rates of loss, above and below the threshold, must be worth in log likelihood beside
# one rate. A rate and a threshold are chosen to fit, so this is far above what chance gives.
LEAST_EVIDENCE = 15.0
# The least share of the losses above the threshold, and of losses among what is above it.
LEAST_COVERED, LEAST_ABOVE = 0.6, 0.3
# Losses this close together are one event, in round-trip times. With a single event there must be
# more losses, and packets that passed between them: else it may be an outage.
EVENT_RTTS = 1.0
ONE_EVENT_LOST, LEAST_PASSED = 15, 3
# A queue explains the round-trip times if it leaves at most this part of their deviations.
QUEUE_LEAVES = 0.85
# A queue with fewer packets than this explains no round-trip times: packets of one burst of a
# sender, and the acknowledgements of several packets, vary by as much at any bottleneck.
LEAST_QUEUE = 4
# Rates that are tried where the delay alone shows the rate of a queue.
DELAY_RATES = 200
# The least half width of the interval of such a rate, as a part of it.
DELAY_STEP = 0.01
# A policer adds no delay: round-trip times at its losses are at most this part above the smallest,
# and a queue with as many bytes as the deficit would let packets wait at least this much longer.
MOST_INFLATED, DRAINS = 0.5, 2.0
# Where other packets pass the policer, which the fit does not know, its deficit is not exact. Then
# the evidence, the losses and their events must be more, the share of losses above the threshold
# may be less, and round-trip times at losses are nearly the smallest ones: this part, or time (s).
UNSEEN_EVIDENCE, UNSEEN_LOST, UNSEEN_EVENTS, UNSEEN_ABOVE = 20.0, 10, 3, 0.1
UNSEEN_INFLATED, UNSEEN_S = 0.03, 0.002
# Transmissions that are fitted at most: those with most losses among each run of as many.
MOST_ROWS = 60_000

# Rates whose log likelihood is lower than the best by at most this much, or this part, are not
# excluded: the losses of one event are not independent.
NEAR, NEAR_PART = 8.0, 0.1
# A rate is known if its interval is at most this wide; otherwise only its lower end is given.
KNOWN_WITHIN = 0.05

# The search: times between losses over which the rate that passed is a candidate (s), its
# quantiles, and rates around the mean; then narrower and narrower grids around the best ones.
LAGS_S = (0.3, 1.0, 3.0, 10.0, 30.0)
QUANTILES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
AROUND_MEAN = (0.3, 12.0, 24)
GRIDS = ((0.05, 31, 3), (0.004, 25, 2), (0.0004, 17, 1))
STARTS, APART = 4, 0.02


@dataclass(frozen=True, kw_only=True)
class Split:
    """What a rate explains: the two rates of loss, and the threshold between them.

    `rate` is in bytes of frames per second, `threshold` in bytes. `evidence` is the log likelihood
    beside one rate of loss; `above` the share that was lost above the threshold, and `covered`
    the share of all losses that are there.
    """

    rate: float
    evidence: float
    threshold: float
    above: float
    covered: float


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A policer, or a queue, that explains the losses.

    `rate_bps` is in bits of Ethernet frames with their check sequence per second. `burst_bytes`
    is the burst of a policer, or that of a shaper before its queue, None where other packets pass
    it; `buffer_bytes` is the size of the queue, None of a policer. `explained` says which losses
    it explains.
    """

    rate_bps: Estimate
    burst_bytes: Estimate | None
    buffer_bytes: Estimate | None
    explained: Mask

    @property
    def is_policer(self) -> bool:
        """Whether it drops without delay."""
        return self.buffer_bytes is None

    @property
    def is_reached(self) -> bool:
        """Whether the rate is known, and not only a bound of it."""
        return self.rate_bps.high is not None


def bucket_of(sent: Sent, rtt_s: float) -> Bucket | None:
    """Find the policer or the queue that explains the losses of one or more connections.

    Args:
        sent: what was sent through the bottleneck, in the order of time.
        rtt_s: the smallest round-trip time, in seconds.
    """
    sent = _fitted(sent)
    # Without round-trip times a policer and a queue look alike.
    if sent.lost.sum() < LEAST_LOST or np.isnan(sent.rtt_s).all():
        return None
    times, wire = sent.time_s - sent.time_s[0], sent.wire
    best, tried = _search(times, wire, sent.lost)
    if best.evidence < LEAST_EVIDENCE or not _is_repeated(times, sent.lost, rtt_s):
        return None
    deficit = deficits(times, wire, sent.lost, best.rate)
    frame = float(np.median(sent.wire[sent.lost] / np.maximum(sent.packets[sent.lost], 1)))
    queue, inflation_s = _queueing(deficit, sent, best)
    if queue is not None and best.threshold - queue < LEAST_QUEUE * frame:
        queue = None
    if best.covered < LEAST_COVERED or best.above < LEAST_ABOVE:
        seems = queue is None and _seems_policed(sent, best, rtt_s)
        return _beside_others(sent) if seems else None
    explained = sent.lost & (deficit >= best.threshold)
    near = [of for of in tried if of.evidence >= best.evidence - _margin(best)]
    rate = _rate(best, near)
    burst = _burst(best, near, frame)
    if queue is None:
        waited_s = _waited_at_losses(sent)
        if max(inflation_s, waited_s) > MOST_INFLATED * rtt_s or not _drains(best, waited_s):
            return None
        return Bucket(rate_bps=rate, burst_bytes=burst, buffer_bytes=None, explained=explained)
    size = best.threshold - queue + frame
    buffer = Estimate(value=size, low=max(0.0, size - frame), high=size + frame)
    shaped = Estimate(value=queue, low=max(0.0, queue - frame), high=queue + frame)
    if rate.high is None:
        rate = _rate_by_delay(sent, near, queue)
    return Bucket(rate_bps=rate, burst_bytes=shaped, buffer_bytes=buffer, explained=explained)


def _seems_policed(sent: Sent, best: Split, rtt_s: float) -> bool:
    """Whether a policer drops the packets, though others that are not known pass it, too."""
    waited_s = _waited_at_losses(sent)
    return (
        best.evidence >= UNSEEN_EVIDENCE
        and int(sent.lost.sum()) >= UNSEEN_LOST
        and _events(sent.time_s[sent.lost], rtt_s) >= UNSEEN_EVENTS
        and best.above >= UNSEEN_ABOVE
        and waited_s <= max(UNSEEN_S, UNSEEN_INFLATED * rtt_s)
        and _drains(best, waited_s)
    )


def _beside_others(sent: Sent) -> Bucket:
    """Give a policer whose rate is at least what passed between the first and the last loss."""
    at = np.flatnonzero(sent.lost)
    between = slice(at[0], at[-1])
    passed = float(sent.wire[between][~sent.lost[between]].sum())
    rate = Estimate.at_least(
        8 * passed / max(1e-9, float(sent.time_s[at[-1]] - sent.time_s[at[0]]))
    )
    return Bucket(rate_bps=rate, burst_bytes=None, buffer_bytes=None, explained=sent.lost)


def _drains(best: Split, waited_s: float) -> bool:
    """Whether packets would have waited for longer behind a queue with as many bytes."""
    return best.threshold / best.rate >= DRAINS * waited_s


def _waited_at_losses(sent: Sent) -> float:
    """Give the median of the waiting time in the last round-trip sample before each loss."""
    known = np.flatnonzero(~np.isnan(sent.rtt_s))
    if not len(known):
        return 0.0
    rtts = sent.rtt_s[known]
    before = np.searchsorted(sent.time_s[known], sent.time_s[sent.lost]) - 1
    return float(np.median(rtts[np.maximum(before, 0)]) - rtts.min())


def deficits(times: Column, wire: Column, lost: Mask, rate: float) -> Column:
    """Give the deficit that each packet finds, in bytes; the bucket is full at the first packet.

    Args:
        times: when packets were sent, in seconds, not decreasing.
        wire: their bytes.
        lost: whether they were dropped, and so took no tokens.
        rate: the rate, in bytes per second.
    """
    passed = np.cumsum(np.where(lost, 0.0, wire))
    free = np.concatenate(([0.0], passed[:-1])) - rate * times
    return free - np.minimum.accumulate(free)


def _fitted(sent: Sent) -> Sent:
    """Give the run of at most `MOST_ROWS` transmissions that has most losses."""
    if len(sent) <= MOST_ROWS:
        return sent
    counted = np.concatenate(([0], np.cumsum(sent.lost)))
    begin = int(np.argmax(counted[MOST_ROWS:] - counted[:-MOST_ROWS]))
    return sent.part(slice(begin, begin + MOST_ROWS))


def _is_repeated(times: Column, lost: Mask, rtt_s: float) -> bool:
    """Whether the losses are more than one outage."""
    at = np.flatnonzero(lost)
    events = _events(times[at], rtt_s)
    passed = int((~lost[at[0] : at[-1]]).sum())
    return passed >= LEAST_PASSED and (events > 1 or len(at) >= ONE_EVENT_LOST)


def _events(times: Column, rtt_s: float) -> int:
    """Count losses that are more than a round trip apart."""
    return 1 + int((np.diff(times) > EVENT_RTTS * rtt_s).sum())


def _margin(best: Split) -> float:
    return max(NEAR, NEAR_PART * best.evidence)


def _rate(best: Split, near: list[Split]) -> Estimate:
    low, high = (8 * end(of.rate for of in near) for end in (min, max))
    if high > low * (1 + KNOWN_WITHIN):
        return Estimate.at_least(low)
    return Estimate(value=8 * best.rate, low=low, high=high)


def _rate_by_delay(sent: Sent, near: list[Split], burst: float) -> Estimate:
    """Find the rate at which packets that waited were served, among rates that are not excluded."""
    rates = sorted({of.rate for of in near})
    grid = np.geomspace(rates[0], rates[-1], DELAY_RATES) if len(rates) > 1 else np.array(rates)
    usable = ~np.isnan(sent.rtt_s)
    rtts = sent.rtt_s[usable]
    waited = rtts - rtts.min()
    left = []
    for rate in grid:
        backlog = deficits(sent.time_s - sent.time_s[0], sent.wire, sent.lost, float(rate))[usable]
        left.append(float(np.abs(waited - np.maximum(0, backlog - burst) / rate).sum()))
    best = min(left)
    value = 8 * float(grid[left.index(best)])
    good = [8 * float(rate) for rate, of in zip(grid, left, strict=True) if of <= 1.5 * best]
    low, high = min(good[0], (1 - DELAY_STEP) * value), max(good[-1], (1 + DELAY_STEP) * value)
    return Estimate(value=value, low=low, high=high)


def _burst(best: Split, near: list[Split], frame: float) -> Estimate:
    # A packet is dropped when less than its size is left.
    ends = [of.threshold for of in near]
    return Estimate(value=best.threshold + frame, low=min(ends), high=max(ends) + 2 * frame)


def _search(times: Column, wire: Column, lost: Mask) -> tuple[Split, list[Split]]:
    """Find the rate that explains most; also gives all that were tried."""
    tried = [_split(times, wire, lost, rate) for rate in _candidates(times, wire, lost)]
    ordered = sorted(tried, key=lambda of: -of.evidence)
    starts: list[float] = []
    for of in ordered:
        if all(abs(np.log(of.rate / other)) > APART for other in starts):
            starts.append(of.rate)
        if len(starts) == STARTS:
            break
    for width, count, kept in GRIDS:
        bests = []
        for start in starts:
            grid = start * (1 + np.linspace(-width, width, count))
            splits = [_split(times, wire, lost, float(rate)) for rate in grid]
            tried += splits
            bests.append(max(splits, key=lambda of: of.evidence))
        bests.sort(key=lambda of: -of.evidence)
        starts = [of.rate for of in bests[:kept]]
    return max(tried, key=lambda of: of.evidence), tried


def _candidates(times: Column, wire: Column, lost: Mask) -> Iterator[float]:
    """Give rates that passed between two losses, and rates around the mean."""
    passed = np.cumsum(np.where(lost, 0.0, wire))
    at = np.flatnonzero(lost)
    for lag in LAGS_S:
        later = np.searchsorted(times[at], times[at] + lag)
        has = later < len(at)
        first, last = at[has], at[later[has]]
        took = times[last] - times[first]
        close = took < 4 * lag
        if close.any():
            rates = (passed[last] - passed[first])[close] / took[close]
            yield from (float(rate) for rate in np.quantile(rates, QUANTILES) if rate > 0)
    mean = passed[-1] / max(times[-1], 1e-3)
    low, high, count = AROUND_MEAN
    yield from map(float, np.geomspace(low * mean, high * mean, count))


def _split(times: Column, wire: Column, lost: Mask, rate: float) -> Split:
    """Find the threshold of the deficit that separates losses best from what passed."""
    deficit = deficits(times, wire, lost, rate)
    order = np.argsort(deficit, kind="stable")
    hits = lost[order]
    count, total = len(hits), float(hits.sum())
    below = np.arange(count, dtype=float)
    below_lost = np.concatenate(([0.0], np.cumsum(hits)[:-1]))
    above, above_lost = count - below, total - below_lost
    gained = _likelihood(above_lost, above) + _likelihood(below_lost, below)
    gained[above_lost * below <= below_lost * above] = -np.inf
    best = int(np.argmax(gained))
    one = float(_likelihood(np.array([total]), np.array([float(count)]))[0])
    return Split(
        rate=rate,
        evidence=float(gained[best]) - one,
        threshold=float(deficit[order[best]]),
        above=float(above_lost[best] / above[best]),
        covered=float(above_lost[best] / total),
    )


def _likelihood(hits: Column, cases: Column) -> Column:
    """Give the largest log likelihood of `hits` among `cases` of one probability."""
    misses = cases - hits
    with np.errstate(divide="ignore", invalid="ignore"):
        of_hits = np.where(hits > 0, hits * np.log(hits / cases), 0.0)
        of_misses = np.where(misses > 0, misses * np.log(misses / cases), 0.0)
    return np.asarray(of_hits + of_misses)


def _queueing(deficit: Column, sent: Sent, best: Split) -> tuple[float | None, float]:
    """Say from which deficit on packets wait in a queue, if they do, and for how long at losses.

    The round-trip time of a queue is the smallest one and max(0, deficit - burst) / rate; all
    bursts up to the threshold are tried.
    """
    usable = ~np.isnan(sent.rtt_s)
    if not usable.any():
        return None, 0.0
    rtts, backlog = sent.rtt_s[usable], deficit[usable]
    waited = rtts - rtts.min()
    at_losses = waited[backlog > 0.85 * best.threshold]
    inflation_s = float(np.median(at_losses)) if len(at_losses) else 0.0
    whole = float(np.abs(waited).sum())
    if whole == 0 or best.threshold <= 0:
        return None, inflation_s
    bursts = [*np.linspace(0, 0.9, 19), *(1 - np.geomspace(0.08, 0.005, 8))]
    left = {
        float(part) * best.threshold: float(
            np.abs(waited - np.maximum(0, backlog - part * best.threshold) / best.rate).sum()
        )
        for part in bursts
    }
    burst = min(left, key=lambda of: left[of])
    return (burst if left[burst] < QUEUE_LEAVES * whole else None), inflation_s

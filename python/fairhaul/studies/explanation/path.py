"""The path of the connections of a capture, as numbers with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairhaul.studies.explanation.estimate import Estimate, share
from fairhaul.studies.explanation.results import Path, TokenBucket
from fairhaul.studies.explanation.token_bucket import Bucket, bucket_of, deficits
from fairhaul.studies.explanation.trace import HEADERS, Sent, Trace

if TYPE_CHECKING:
    from fairhaul.studies.explanation.trace import Column, Mask

# A shaper lets a burst of more than this many packets of 1500 bytes pass before packets wait.
SHAPED_FROM = 5 * (1448 + HEADERS)
# Rounds with a standing queue show the rate if there are at least this many, and the middle of
# their rates is within this part. A round takes at least this long (s).
LEAST_ROUNDS, STEADY, ROUND_S = 8, 0.25, 0.1
# The quantile of the rates of rounds that counts as the best of them.
BEST = 0.95
# A queue stands if the round-trip time is this part above the smallest one, and this long (s).
STANDS, STANDS_S = 0.3, 0.005
# A loss is without a queue if the last round-trip time before it was less than this part above the
# smallest one.
UNQUEUED = 0.1
NO_RTT = "the capture holds no acknowledgement of data that was sent once"


@dataclass(frozen=True, kw_only=True)
class Group:
    """The connections from one host to another, and what they show together."""

    traces: Sequence[Trace]
    bucket: Bucket | None


def groups_of(traces: Sequence[Trace]) -> list[Group]:
    """Group the connections of a capture by their hosts, and fit each group together."""
    hosts: dict[tuple[str, str], list[Trace]] = {}
    for trace in traces:
        hosts.setdefault((trace.sender, trace.receiver), []).append(trace)
    return [Group(traces=group, bucket=_fitted(group)) for group in hosts.values()]


def _fitted(traces: Sequence[Trace]) -> Bucket | None:
    """Find the bucket of all connections together, or of the largest one alone."""
    rtts = [of.rtt_s for of in traces if of.rtt_s is not None]
    if not rtts:
        return None
    found = bucket_of(merged([of.sent for of in traces]), min(rtts))
    if found is None and len(traces) > 1:
        largest = max(traces, key=lambda of: of.data_bytes)
        found = bucket_of(largest.sent, min(rtts))
    # Behind a queue packets arrive at its rate, so that only a line of losses that fits a single
    # rate shows a policer on the receiver's side.
    far = any(of.side == "receiver" for of in traces)
    return None if found is not None and far and not found.is_reached else found


def merged(parts: Sequence[Sent]) -> Sent:
    """Put the transmissions of several connections into the order of time."""
    columns = {
        name: np.concatenate([getattr(of, name) for of in parts])
        for name in Sent.__dataclass_fields__
    }
    return Sent(**columns).part(np.argsort(columns["time_s"], kind="stable"))


def path_of(trace: Trace, bucket: Bucket | None) -> tuple[Path, dict[str, str]]:
    """Estimate the path of a connection; also gives the reason for each key that is not known.

    Args:
        trace: the connection.
        bucket: the policer or the queue that explains its losses, found with the connections
            beside it.
    """
    unknown: dict[str, str] = {}
    rtt = _rtt(trace)
    if rtt is None:
        unknown["rtt_s"] = NO_RTT
    loss = _loss(trace, bucket, unknown)
    if bucket is not None and bucket.is_policer:
        unknown["rate_bps"] = "the policer drops what exceeds its rate before the link is full"
        unknown["buffer_bytes"] = "no queue overflows behind the policer"
        if not bucket.is_reached:
            unknown["policer.rate_bps"] = (
                "the connections never reached the rate of the policer: it is at least the value"
            )
        if bucket.burst_bytes is None:
            unknown["policer.rate_bps"] = (
                "other packets pass the policer, which the capture lacks: its rate is at least "
                "what passed"
            )
            unknown["policer.burst_bytes"] = "other packets, which the capture lacks, use it, too"
        policer = TokenBucket(rate_bps=bucket.rate_bps, burst_bytes=bucket.burst_bytes)
        return Path(rtt_s=rtt, loss=loss, policer=policer), unknown
    if bucket is None or not bucket.is_reached:
        rate, shaper, buffer = _standing(trace, unknown)
    else:
        rate, buffer = bucket.rate_bps, bucket.buffer_bytes
        burst = bucket.burst_bytes
        is_shaper = burst is not None and burst.value >= SHAPED_FROM
        shaper = TokenBucket(rate_bps=rate, burst_bytes=burst) if is_shaper else None
    path = Path(
        rate_bps=rate,
        rtt_s=rtt,
        buffer_bytes=buffer,
        loss=loss,
        shaper=shaper,
        cross_bps=_cross(trace, unknown),
    )
    return path, unknown


def _samples(trace: Trace) -> tuple[Column, Column]:
    """Give the times of round-trip samples and the samples, both in seconds."""
    sent = trace.sent
    known = ~np.isnan(sent.rtt_s)
    return sent.time_s[known], sent.rtt_s[known]


def _rtt(trace: Trace) -> Estimate | None:
    if trace.rtt_s is None:
        return None
    _, samples = _samples(trace)
    high = float(np.quantile(samples, 0.05)) if len(samples) else trace.rtt_s
    return Estimate(value=trace.rtt_s, low=trace.rtt_s, high=max(trace.rtt_s, high))


def _loss(trace: Trace, bucket: Bucket | None, unknown: dict[str, str]) -> Estimate | None:
    """Estimate the random loss: that at a small round-trip time, which no bucket explains."""
    sent = trace.sent
    packets = float(sent.packets.sum())
    lost = float(sent.packets[sent.lost].sum())
    if packets == 0:
        unknown["loss"] = "the connection sent no data"
        return None
    if bucket is not None and bucket.is_policer:
        unknown["loss"] = "the losses are those of the policer"
        return None
    if not lost:
        return share(0, packets)
    queued = queued_at_losses(trace)
    if queued is None:
        unknown["loss"] = NO_RTT
        return None
    unqueued = float(sent.packets[sent.lost][~queued].sum())
    if unqueued < 0.5 * lost:
        unknown["loss"] = "most losses came while a queue stood, so it may have been full"
        return Estimate(value=unqueued / packets, low=0.0, high=share(lost, packets).high)
    return share(unqueued, packets)


def queued_at_losses(trace: Trace) -> Mask | None:
    """Say of each loss whether a queue stood before it; None without a round-trip time."""
    times, rtts = _samples(trace)
    if trace.rtt_s is None or not len(times):
        return None
    before = np.searchsorted(times, trace.sent.time_s[trace.sent.lost] - trace.rtt_s) - 1
    near = rtts[np.clip(before, 0, len(rtts) - 1)]
    queued: Mask = near >= (1 + UNQUEUED) * trace.rtt_s
    return queued


def _standing(
    trace: Trace, unknown: dict[str, str]
) -> tuple[Estimate | None, TokenBucket | None, Estimate | None]:
    """Estimate rate, shaper and buffer from the time in which a queue stood."""
    unknown["buffer_bytes"] = "no overflow of a queue was observed"
    rounds = _rounds(trace)
    if rounds is None:
        has_no_rtt = trace.rtt_s is None
        unknown["rate_bps"] = NO_RTT if has_no_rtt else "too little data was acknowledged"
        return None, None, None
    rates, stands = rounds
    rate = _steady(rates[stands])
    if rate is not None:
        return rate, *_waited(trace, rate, unknown)
    unknown["rate_bps"] = (
        "what arrived varied while a queue stood: the rate is at least the value"
        if stands.sum() >= LEAST_ROUNDS
        else "no queue stood at the bottleneck: the rate is at least the value"
    )
    return Estimate.at_least(float(rates.max())), None, None


def _rounds(trace: Trace) -> tuple[Column, Mask] | None:
    """Give what arrived in each round, in bit/s of frames, and in which a queue stood."""
    rtt_s, sent = trace.rtt_s, trace.sent
    arrived = ~np.isnan(sent.acked_s)
    if rtt_s is None or arrived.sum() < LEAST_ROUNDS:
        return None
    times, wire, waits = sent.acked_s[arrived], sent.wire[arrived], sent.rtt_s[arrived]
    size = max(ROUND_S, 2 * rtt_s)
    place = ((times - times.min()) / size).astype(int)
    rates = 8 * np.bincount(place, wire) / size
    least = np.full(len(rates), np.inf)
    np.minimum.at(least, place[~np.isnan(waits)], waits[~np.isnan(waits)])
    return rates, np.isfinite(least) & (least > rtt_s + max(STANDS_S, STANDS * rtt_s))


def _steady(rates: Column) -> Estimate | None:
    """Give the rate that a standing queue had; None if it varied, or stood for too short a time."""
    if len(rates) < LEAST_ROUNDS:
        return None
    low, middle, high = (float(of) for of in np.quantile(rates, (0.25, 0.5, 0.75)))
    return Estimate(value=middle, low=low, high=high) if high - low < STEADY * middle else None


def _cross(trace: Trace, unknown: dict[str, str]) -> Estimate | None:
    """Say what others took while a queue stood: the rate, which then arrives, without the own part.

    The rate is at least what the connection had in its best rounds.

    Source: [IBOX].
    """
    rounds = _rounds(trace)
    if rounds is None or rounds[1].sum() < LEAST_ROUNDS:
        unknown["cross_bps"] = "no queue stood at the bottleneck for long enough"
        return None
    rates, stands = rounds
    if _steady(rates[stands]) is not None:
        unknown["cross_bps"] = (
            "what arrived was steady while a queue stood: no others, or such with a constant rate"
        )
        return None
    unknown["cross_bps"] = (
        f"a queue stood in {100 * stands.mean():.2g} % of the time, which says nothing of the rest"
    )
    own = rates[stands]
    return Estimate.at_least(max(0.0, float(np.quantile(own, BEST) - own.mean())))


def _waited(
    trace: Trace, rate: Estimate, unknown: dict[str, str]
) -> tuple[TokenBucket | None, Estimate | None]:
    """Say how much passed before packets waited, and the largest backlog, at a known rate."""
    sent = trace.sent.part(~np.isnan(trace.sent.rtt_s))
    bytes_s = rate.value / 8
    backlog = (sent.rtt_s - (trace.rtt_s or 0.0)) * bytes_s
    everything = trace.sent
    deficit = deficits(
        everything.time_s - everything.time_s[0], everything.wire, everything.lost, bytes_s
    )[~np.isnan(everything.rtt_s)]
    waits = backlog > SHAPED_FROM
    unknown["buffer_bytes"] = "no overflow of a queue was observed: it is at least the value"
    buffer = Estimate.at_least(float(backlog.max()))
    if not waits.any():
        return None, buffer
    passed = deficit[waits] - backlog[waits]
    low, burst, high = (float(of) for of in np.quantile(passed, (0.25, 0.5, 0.75)))
    if low < SHAPED_FROM or high - low > 0.5 * burst:
        return None, buffer
    estimate = Estimate(value=burst, low=low, high=high)
    return TokenBucket(rate_bps=rate, burst_bytes=estimate), buffer

"""The tables: the law of a small buffer, throughput over round trips, and completion times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, quantiles, stdev

from fairhaul.measures.types import RunFigures
from fairhaul.scenario.quantities import time_s
from fairhaul.statistics.estimate import FRACTION, estimate
from fairhaul.statistics.estimate import text as estimate_text
from fairhaul.text.digits import percent
from tools.orders.runs import Case

Runs = Mapping[Case, Sequence[RunFigures]]
# A part of the link that is lost from one round trip to the next, below which nothing is lost.
FLAT = 0.01


def law(streams: int, kept: float) -> float:
    """Give the utilisation of streams of which a loss cuts one, to the part `kept` [ALTMAN 2005].

    `1 - 1 / (1 + N (1 + k) / (1 - k))`
    """
    return 1 - 1 / (1 + streams * (1 + kept) / (1 - kept))


def of_law(runs: Runs) -> Iterator[str]:
    """Give the rows of the small buffer: part given up, streams, law, simulator."""
    yield "| part of the window that a loss leaves | streams | law | simulator |"
    yield "|---|---:|---:|---:|"
    for (given_up, streams), of in runs.items():
        kept = 1 - given_up
        used = estimate([run["links"][0]["utilization"] for run in of], FRACTION)
        yield (
            f"| {kept:g} | {streams} | {percent(1)(law(streams, kept))} | "
            f"{estimate_text(used, percent(1))} |"
        )


def of_streams(runs: Runs) -> Iterator[str]:
    """Give the rows of throughput over round-trip times, of each buffer and number of streams."""
    rtts = list(dict.fromkeys(rtt for _, _, rtt in runs))
    yield f"| buffer of a stream | streams | {' | '.join(rtts)} | concave up to | mean |"
    yield f"|---|---:|{'---:|' * len(rtts)}---:|---:|"
    for buffer, streams in dict.fromkeys((buffer, streams) for buffer, streams, _ in runs):
        used = [
            fmean(sum(flow["goodput_bps"] for flow in run["flows"]) for run in of) / 1e6
            for (own, count, _), of in runs.items()
            if (own, count) == (buffer, streams)
        ]
        cells = " | ".join(f"{rate:.0f}" for rate in used)
        end = rtts[concave_part([time_s("rtt", rtt) for rtt in rtts], used)]
        yield f"| {buffer} | {streams} | {cells} | {end} | {fmean(used):.0f} |"


def concave_part(rtts_s: Sequence[float], rates: Sequence[float]) -> int:
    """Give the place of the round-trip time up to which throughput is concave over it.

    It is concave as long as the chords from point to point become steeper downwards, except for
    what is less than a hundredth of the largest rate.
    """
    slopes = [
        (rates[i + 1] - rates[i]) / (rtts_s[i + 1] - rtts_s[i]) for i in range(len(rates) - 1)
    ]
    for i in range(1, len(slopes)):
        noise = FLAT * max(rates) / (rtts_s[i + 1] - rtts_s[i])
        if slopes[i] > slopes[i - 1] + noise:
            return i
    return len(rates) - 1


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The completion times of transfers, s, and the part of the packets that were retransmitted."""

    times_s: Sequence[float]
    incomplete: int
    retransmitted: float

    @property
    def deciles(self) -> list[float]:
        """The nine values that divide the times into ten equal parts."""
        return quantiles(self.times_s, n=10, method="inclusive")

    @property
    def variation(self) -> float:
        """The standard deviation as a part of the mean."""
        return stdev(self.times_s) / fmean(self.times_s)


def spread_of(runs: Sequence[RunFigures]) -> Spread:
    """Take the transfers of all flows and seeds together."""
    flows = [flow for run in runs for flow in run["flows"]]
    times = [flow["completion_s"] for flow in flows if flow["completion_s"] is not None]
    arrived = sum(run["packets"] for run in runs)
    return Spread(
        times_s=times,
        incomplete=len(flows) - len(times),
        retransmitted=sum(flow["retransmits"] or 0 for flow in flows) / arrived,
    )


def of_shaping(runs: Mapping[str, Runs]) -> Iterator[str]:
    """Give the rows of completion times, of each controller and way of shaping."""
    yield (
        "| controller | shaped by | median | 10 to 90 % | standard deviation / mean | "
        "retransmitted | not complete |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|"
    for way, of_way in runs.items():
        for (controller, *_), of in of_way.items():
            spread = spread_of(of)
            low, high = spread.deciles[0], spread.deciles[-1]
            yield (
                f"| {controller} | {way} | {median(spread.times_s):.2f} s | {low:.2f} to "
                f"{high:.2f} s | {percent(1)(spread.variation)} | "
                f"{percent(2)(spread.retransmitted)} | {spread.incomplete} |"
            )

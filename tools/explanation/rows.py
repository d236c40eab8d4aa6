"""The rows of the table: how many of each kind were found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tools.explanation.captures import CHUNKS, Judged
from tools.explanation.halves import Halves

# What counts as the same: rates, round-trip times, bursts (as a factor) and pauses (as a part, or
# in seconds, whichever is more).
RATE, RTT, BURST, PAUSE, PAUSE_S = 0.05, 0.02, 1.5, 0.1, 0.05


def rows(each: Sequence[Judged]) -> list[list[str]]:
    """Give all rows: what is counted, how many were found, of how many, in percent, the aim."""
    policed = [of for of in each if of.truth.policed_bps]
    one = [of for of in policed if of.truth.connections == 1]
    more = [of for of in policed if of.truth.connections > 1]
    others = [of for of in each if not of.truth.policed_bps]
    shaped = [of for of in others if not of.truth.loss]
    lossy = [of for of in others if of.truth.loss]
    reached = [of for of in policed if of.truth.reaches and of.is_policed]
    unreached = [of for of in policed if not of.truth.reaches and of.is_policed]
    named = [of for of in reached if of.truth.burst_bytes]
    paused = [of for of in each if of.pauses]
    return [
        _row("captures policed, one connection", one, _policed, "90"),
        _row("captures policed, two or three", more, _policed, "80"),
        *_chunk_rows("one connection, rate reached", (of for of in one if of.truth.reaches), "95"),
        *_chunk_rows("one, rate not reached", (of for of in one if not of.truth.reaches), "60"),
        *_chunk_rows("two or three, each chunk alone", more, "60"),
        _row("two or three, fitted together", more, _policed, "90"),
        _row("rate within 5 %, where reached", reached, _rate, "90"),
        _row("rate at least x and true, elsewhere", unreached, _bound, ""),
        _row("burst within a factor of 1.5", named, _burst, ""),
        _row("round-trip time within 2 %", each, _rtt, ""),
        _row("all pauses within 10 % or 50 ms", paused, _pauses, ""),
        _row("false alarms, captures shaped", shaped, _policed, ""),
        _row("false alarms, captures with random loss", lossy, _policed, ""),
        *_chunk_rows("false alarms, shaped", shaped, "at most 1.5"),
        *_chunk_rows("false alarms, random loss", lossy, "at most 0.3"),
        *half_rows([of.halves for of in each if of.truth.connections == 1]),
    ]


def half_rows(each: Sequence[Halves | None]) -> list[list[str]]:
    """Give the rows on the prediction of the second half by a model of the first one."""
    both = [of for of in each if of is not None]
    told = [of for of in both if of.declined is None]
    right, steady = (sum(map(holds, both)) for holds in (_is_right, _is_steady))
    return [
        counted("second half predicted within 10 %", right, len(both), "80"),
        counted("second half: nothing predicted", len(both) - len(told), len(both), "at most 10"),
        counted("second half within 10 %, where predicted", right, len(told), ""),
        counted("second half within 10 % of the first one", steady, len(both), ""),
    ]


def _is_right(of: Halves) -> bool:
    return of.is_right


def _is_steady(of: Halves) -> bool:
    return of.is_steady


def _row(what: str, of: Sequence[Judged], holds: Callable[[Judged], bool], aim: str) -> list[str]:
    return counted(what, sum(map(holds, of)), len(of), aim)


def _chunk_rows(what: str, each: Iterable[Judged], aim: str) -> list[list[str]]:
    chunks = [chunk for of in each for chunk in of.chunks]
    return [counted(f"chunks: {what}", sum(chunks), len(chunks), aim)]


def counted(what: str, found: int, count: int, aim: str) -> list[str]:
    """Give a row: what was counted, how many were found, of how many, in percent, and the aim."""
    share = f"{100 * found / count:.1f}" if count else ""
    return [what, str(found), str(count), share, aim]


def _policed(of: Judged) -> bool:
    return of.is_policed


def _rate(of: Judged) -> bool:
    assert of.bucket is not None, "it was found"
    rate = of.bucket.rate_bps
    return rate.high is not None and abs(rate.value / of.truth.policed_bps - 1) <= RATE


def _bound(of: Judged) -> bool:
    assert of.bucket is not None, "it was found"
    rate = of.bucket.rate_bps
    if rate.high is None:
        return rate.low <= of.truth.policed_bps * (1 + RATE)
    return abs(rate.value / of.truth.policed_bps - 1) <= RATE


def _burst(of: Judged) -> bool:
    assert of.bucket is not None, "it was found"
    if of.bucket.burst_bytes is None:
        return False
    ratio = of.bucket.burst_bytes.value / of.truth.burst_bytes
    return 1 / BURST <= ratio <= BURST


def _rtt(of: Judged) -> bool:
    return of.rtt_s is not None and abs(of.rtt_s / of.truth.rtt_s - 1) <= RTT


def _pauses(of: Judged) -> bool:
    return all(
        len(found) == CHUNKS - 1
        and all(abs(pause - wanted) <= max(PAUSE * wanted, PAUSE_S) for pause in found)
        for wanted, found in of.pauses
    )

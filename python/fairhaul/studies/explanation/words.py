"""An explanation in words: what limited the connections, in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fairhaul.report.outcome import Outcome
from fairhaul.studies.explanation.results import BELOW, with_largest
from fairhaul.studies.explanation.sections import goodput_text, sections_of
from fairhaul.studies.explanation.what_if_words import brings
from fairhaul.text.phrases import count_of, listed, quantity

if TYPE_CHECKING:
    from fairhaul.studies.explanation import Explained, Explanation

# From this share of the time on, what headers do not separate is said first.
MOSTLY = 0.5


def outcome_of(of: Explanation) -> Outcome:
    """Put an explanation into words and tables."""
    count = count_of(len(of.connections), "connection")
    return Outcome(
        study="explain",
        title=f"What limited {count}",
        question=f"What limited {count} in {listed(list(of.files))}?",
        answer=" ".join(filter(None, (answer(of.connections), brings(of.what_if)))),
        evidence=lambda: sections_of(of),
        beside=lambda: {"connections": [one.values() for one in of.connections]},
        values=lambda: {
            "notes": list(of.notes),
            "what_if": None if of.what_if is None else of.what_if.values(),
        },
    )


def answer(connections: Sequence[Explained]) -> str:
    """Say in one sentence what limited the largest connection, and those beside it."""
    if not connections:
        return "No connection carries data, so nothing can be said."
    largest = connections[0]
    beside = with_largest(connections)
    whom = f"{count_of(len(beside), 'connection')} from {largest.sender or 'a host'}"
    whom += f" to {largest.receiver or 'another'}"
    if largest.path.policer is not None:
        return _policed(largest, beside, whom)
    say: dict[str, Callable[[], str]] = {
        "application": lambda: (
            f"Not the network: the application wrote nothing for {_part(largest, 'application')} "
            f"of the time of {whom}."
        ),
        "receive_window": lambda: _windowed(largest, beside, whom),
        "send_buffer": lambda: (
            f"Not the controller: the send buffer limits {whom}; raise net.ipv4.tcp_wmem on the "
            "sender, or the buffer that it asks for."
        ),
        "congestion_window": lambda: _reduced(largest, whom),
        "pacing": lambda: (
            f"Not the path: {whom} sends evenly and without a queue, as with a pacing cap of "
            f"{goodput_text(largest)}."
        ),
        "path": lambda: _of_path(largest, beside, whom),
    }
    hidden = largest.not_separated or 0.0
    if hidden >= MOSTLY:
        return (
            f"Not the network: the application or the send buffer limits {whom} for "
            f"{100 * hidden:.3g} % of the time; the headers do not show which of "
            "them, and `ss -tinm` on the sender would."
        )
    if largest.main in say:
        return say[largest.main]()
    return f"What limits {whom} is not known from this: {largest.unknown.get('limits', 'unknown')}."


def _policed(largest: Explained, beside: Sequence[Explained], whom: str) -> str:
    policer = largest.path.policer
    assert policer is not None, "the caller has looked"
    least = "at least " if policer.rate_bps.high is None else ""
    burst = (
        ""
        if policer.burst_bytes is None
        else (f" with a burst of {quantity(policer.burst_bytes.value, 'B')}")
    )
    again = [of.retransmitted for of in beside if of.retransmitted is not None]
    lost = (
        f"{100 * max(again):.2g} % of the packets were retransmissions"
        if again
        else "packets are lost"
    )
    share = policer.rate_bps.value / len(beside)
    return (
        f"A policer of {least}{quantity(policer.rate_bps.value, 'bit/s')} (Ethernet frames){burst} "
        f"drops packets of {whom} without a queue: {lost}; pace "
        f"{'each of them' if len(beside) > 1 else 'it'} below {quantity(BELOW * share, 'bit/s')} "
        "(fq maxrate, SO_MAX_PACING_RATE), or ask for a larger burst or a shaper."
    )


def _windowed(largest: Explained, beside: Sequence[Explained], whom: str) -> str:
    rtt, window = largest.path.rtt_s, largest.window_bytes
    parts = [of.limits["receive_window"] for of in beside if of.main == "receive_window"]
    ends = sorted({f"{100 * end:.3g}" for end in (min(parts), max(parts))}, key=float)
    time = f"{' to '.join(ends)} % of the time"
    total = _sum_text(beside)
    what = f"Not the controller: the receiver's window limits these connections ({whom}) for {time}"
    if len(parts) < len(beside):
        what = (
            f"Not the controller: the receiver's window limits {len(parts)} of these connections "
            f"({whom}) for {time}"
        )
    if rtt is not None and window:
        allowed = 8 * window / rtt.value
        what = (
            f"Not the controller: the receiver's window of {quantity(window, 'B')} allows "
            f"{quantity(allowed, 'bit/s')} at {1000 * rtt.value:.3g} ms to {whom}, for {time}"
        )
    return (
        f"{what}{total}; raise net.ipv4.tcp_rmem on the receiver, or the buffer that it asks for."
    )


def _sum_text(beside: Sequence[Explained]) -> str:
    total = sum(of.goodput_bps or 0.0 for of in beside)
    return f"; together they have {quantity(total, 'bit/s')}" if len(beside) > 1 and total else ""


def _reduced(largest: Explained, whom: str) -> str:
    path = largest.path
    remedy = "a controller that reacts less to single losses, or several connections, would help"
    reason = "lost packets reduce it, and it limits"
    if not largest.retransmitted:
        reason, remedy = "it grows without a loss, and limits", "several connections would help"
    if path.shaper is not None:
        reason = f"a shaper of {quantity(path.shaper.rate_bps.value, 'bit/s')} drops packets of"
    elif path.buffer_bytes is not None and path.buffer_bytes.high is not None:
        reason = (
            f"a buffer of {quantity(path.buffer_bytes.value, 'B')} overflows, and the congestion "
            "window after it limits"
        )
    elif path.loss is not None and path.loss.low > 0:
        reason = (
            f"random loss of {100 * path.loss.value:.2g} % reduces the congestion window, which "
            "limits"
        )
    return (
        f"The congestion window: {reason} {whom}, for {_part(largest, 'congestion_window')} of the "
        f"time; {remedy}."
    )


def _of_path(largest: Explained, beside: Sequence[Explained], whom: str) -> str:
    rate = largest.path.rate_bps
    if rate is None:
        return f"The path limits {whom}: a queue stands at its bottleneck; its rate is not known."
    least = "at least " if rate.high is None else ""
    what = "a shaper on the path" if largest.path.shaper is not None else "the path"
    together = " together" if len(beside) > 1 else ""
    again = largest.retransmitted or 0.0
    lost = f", and {100 * again:.2g} % of the packets were retransmissions" if again > 0.01 else ""
    return (
        f"Not the hosts: {what} carries {least}{quantity(rate.value, 'bit/s')} (Ethernet frames), "
        f"and that limits {whom}{together} for {_part(largest, 'path')} of the time{lost}."
    )


def _part(of: Explained, limit: str) -> str:
    return f"{100 * of.limits[limit]:.3g} %"  # type: ignore[index]

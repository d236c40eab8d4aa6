"""What `ss -tin` and `iperf3 --json` show of connections, explained as far as it goes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.explanation.estimate import Estimate
from fairhaul.studies.explanation.limits import LIMITS, Limit, Shares, unknown
from fairhaul.studies.explanation.observed import Connection, connections
from fairhaul.studies.explanation.results import LEAST_PART, Explained, Path
from fairhaul.studies.explanation.trace import HEADERS
from fairhaul.text.phrases import quantity

# A host limits a connection if it does so for this part of the time.
HOST_LIMITS = 0.5
# BBR never waits for its window alone: what is not limited by the hosts is the path's rate.
PACED = ("bbr", "bbr2", "bbr3")
NO_CLOCKS = "the kernel's clocks do not say what limits a connection whose hosts do not"
NO_BUFFER = "the state of a socket does not show how large a queue can be; a packet capture would"
NO_LOSS = (
    "retransmissions do not show why packets were lost, because a full queue or a policer "
    "causes them, too; a packet capture would"
)


def of_ss(text: str) -> list[Explained]:
    """Explain connections that `ss -tin` printed, largest first.

    Raises:
        ScenarioError: the text has no connection with a round-trip time.
    """
    found = connections(text)
    explained = [of_socket(of, large, shares_of(of)) for of, large in beside(found)]
    return sorted(explained, key=lambda of: -of.data_bytes)


def beside(found: Sequence[Connection]) -> Iterator[tuple[Connection, Sequence[Connection]]]:
    """Give each connection with the large ones to its peer, which share the path."""
    peers: dict[str, list[Connection]] = {}
    for of in found:
        peers.setdefault(of.peer, []).append(of)
    for group in peers.values():
        most = max(of.sent_bytes for of in group)
        large = [of for of in group if of.sent_bytes >= LEAST_PART * most]
        yield from ((of, large if of in large else [of]) for of in group)


def of_socket(of: Connection, large: Sequence[Connection], shares: Shares) -> Explained:
    """Explain a connection by the state of its socket, with the large ones to its peer."""
    reasons = {"buffer_bytes": NO_BUFFER, "loss": NO_LOSS}
    rtt = Estimate(value=of.rtt_ms / 1000, low=0.0, high=of.rtt_ms / 1000)
    limited = any(_hosts(shares_of(one)) > HOST_LIMITS for one in large) or of.limit is not None
    rate = _rate(large, limited=limited)
    if rate is None or rate.high is None:
        reasons["rate_bps"] = _rate_reason(rate, limited=limited)
    if shares["unknown"]:
        reasons["limits"] = NO_CLOCKS
    return Explained(
        sender=of.local.rpartition(":")[0].strip("[]"),
        receiver=of.peer,
        ports=_ports(of.local, of.remote),
        data_bytes=max(0, of.sent_bytes - of.again * (of.mss or 0)),
        duration_s=of.busy_s,
        limits=shares,
        path=Path(rate_bps=rate, rtt_s=rtt),
        unknown=reasons,
        controller=of.controller,
        retransmitted=of.again / of.segments if of.segments else None,
        joint=len(large),
        source="ss",
    )


def _rate_reason(rate: Estimate | None, *, limited: bool) -> str:
    if rate is None:
        return "no rate was printed"
    why = "the hosts limit the connections" if limited else "nothing shows that they fill the path"
    return f"{why}: the rate of the path is at least the value"


def _hosts(shares: Shares) -> float:
    return shares["receive_window"] + shares["send_buffer"] + shares["application"]


def shares_of(of: Connection, rest: Limit | None = None) -> Shares:
    """Give the shares of the time in which data was outstanding.

    The clock of the receive window is right; that of the send buffer is a lower bound, and what
    neither counts is `rest`, or what the counters show (docs/explain.md).
    """
    window = of.shares.get("receive window", 0.0)
    buffer = min(of.shares.get("send buffer", 0.0), 1 - window)
    if of.busy_s == 0:
        return unknown()
    seconds = dict.fromkeys(LIMITS, 0.0)
    seconds["receive_window"], seconds["send_buffer"] = window, buffer
    seconds[rest or _rest(of)] += max(0.0, 1 - window - buffer)
    return seconds


def _rest(of: Connection) -> Limit:
    """Say what limits while the clocks of the hosts stand."""
    if of.limit == "application":
        return "application"
    return after_loss(of.controller) if of.again else "unknown"


def after_loss(controller: str | None) -> Limit:
    """Say what limits a connection that lost packets while its hosts do not limit it."""
    return "path" if controller in PACED else "congestion_window"


def _rate(large: Sequence[Connection], *, limited: bool) -> Estimate | None:
    """Estimate the rate of the path in frames from the connections to one peer together.

    The delivery rates are those of this moment; the rates that BBR believes in are the largest of
    ten round trips, and connections reach theirs at different times: their sum is an upper bound.
    """
    wire = 1 + HEADERS / (large[0].mss or 1448)
    means = [of.delivered_bytes * 8 / of.busy_s for of in large if of.busy_s and of.delivered_bytes]
    rates = [of.rate_bps for of in large if of.rate_bps]
    if not means and not rates:
        return None
    low, now = wire * sum(means or rates), wire * sum(rates or means)
    if limited:
        return Estimate.at_least(max(low, now))
    models = [of.model_bps for of in large if of.model_bps is not None]
    if len(models) < len(large):
        return Estimate.at_least(max(low, now))
    high = wire * sum(models)
    low, high = min(low, now, high), max(low, now, high)
    return Estimate(value=(max(low, now) + high) / 2 if now < high else now, low=low, high=high)


def _ports(local: str, remote: str) -> tuple[int, int] | None:
    here, far = local.rpartition(":")[2], remote.rpartition(":")[2]
    return (int(here), int(far)) if here.isdigit() and far.isdigit() else None


def is_iperf3(text: str) -> bool:
    """Whether a text is the JSON of iperf3, as a whole or as a line for each event."""
    head = text.lstrip()[:1]
    return head == "{" and ('"intervals"' in text or '"event"' in text)


def of_iperf3(text: str) -> list[Explained]:
    """Explain the streams of `iperf3 --json` or `--json-stream`.

    Raises:
        ScenarioError: the text is not what iperf3 prints.
    """
    try:
        start, intervals, end = _parts(text)
        if error := end.get("error"):
            raise ScenarioError(f"iperf3 ended with an error: {error}")
        return list(_streams(start, intervals, end))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise ScenarioError("the JSON is not that of `iperf3 --json` or `--json-stream`") from None


def _parts(text: str) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]], Mapping[str, Any]]:
    """Give the beginning, the intervals and the end of a test."""
    try:
        whole = json.loads(text)
    except ValueError:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    else:
        if "event" not in whole:
            return whole["start"], whole["intervals"], {**whole["end"], "error": whole.get("error")}
        lines = [whole]
    events: dict[str, list[Any]] = {}
    for line in lines:
        events.setdefault(line["event"], []).append(line["data"])
    ends = events.get("end", [{}])
    return events["start"][0], events.get("interval", []), ends[-1]


def _streams(
    start: Mapping[str, Any], intervals: Sequence[Mapping[str, Any]], end: Mapping[str, Any]
) -> Iterator[Explained]:
    ends = {of["socket"]: of for of in start["connected"]}
    rows: dict[int, list[Mapping[str, Any]]] = {number: [] for number in ends}
    for interval in intervals:
        for of in interval["streams"]:
            if not of.get("omitted"):
                rows.setdefault(of["socket"], []).append(of)
    sums = [_sum(of, _ended(end, number)) for number, of in rows.items()]
    total = sum(8 * sent / took for sent, took in sums if took)
    controller = end.get("sender_tcp_congestion")
    mss = start.get("tcp_mss") or start.get("tcp_mss_default") or 1448
    for (number, of), (sent, took) in zip(rows.items(), sums, strict=True):
        ends_of = ends.get(number, {})
        reverse = bool(start.get("test_start", {}).get("reverse"))
        here, far = ("remote", "local") if reverse else ("local", "remote")
        rtts = [row["rtt"] / 1e6 for row in of if row.get("rtt")]
        rate = (1 + HEADERS / mss) * total if total else None
        reasons = {
            "limits": _window_text(of),
            "rate_bps": "iperf3 does not say what limits: the rate is at least the value",
            "buffer_bytes": "iperf3 does not show a queue; a packet capture would",
            "loss": NO_LOSS,
        }
        if not rtts:
            reasons["rtt_s"] = "this side of iperf3 did not send, or its system has no TCP_INFO"
        yield Explained(
            sender=str(ends_of.get(f"{here}_host", "")),
            receiver=str(ends_of.get(f"{far}_host", "")),
            ports=(int(ends_of[f"{here}_port"]), int(ends_of[f"{far}_port"])) if ends_of else None,
            data_bytes=sent,
            duration_s=took,
            limits=unknown(),
            path=Path(
                rate_bps=None if rate is None else Estimate.at_least(rate),
                rtt_s=Estimate(value=min(rtts), low=0.0, high=min(rtts)) if rtts else None,
            ),
            unknown=reasons,
            controller=controller,
            retransmitted=_retransmitted(of, mss),
            joint=len(rows),
            source="iperf3",
        )


def _ended(end: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    """Give what iperf3 says of a stream at its end, as the sender measured it."""
    for of in end.get("streams", []):
        sender: Mapping[str, Any] = of.get("sender", {})
        if sender.get("socket") == number:
            return sender
    return {}


def _sum(rows: Sequence[Mapping[str, Any]], ended: Mapping[str, Any]) -> tuple[int, float]:
    """Give the bytes and the seconds of a stream; without its end, those of its intervals."""
    of = [ended] if "bytes" in ended and "seconds" in ended else rows
    return sum(int(row["bytes"]) for row in of), sum(float(row["seconds"]) for row in of)


def _retransmitted(rows: Sequence[Mapping[str, Any]], mss: float) -> float | None:
    counts = [int(row["retransmits"]) for row in rows if "retransmits" in row]
    packets = sum(int(row["bytes"]) for row in rows) / mss
    return sum(counts) / packets if counts and packets else None


def _window_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what the congestion window of the sender excludes."""
    last = next((row for row in reversed(rows) if row.get("snd_cwnd") and row.get("rtt")), None)
    if last is None:
        return "iperf3 printed neither the window nor the round-trip time of the sender"
    allowed = 8 * last["snd_cwnd"] / (last["rtt"] / 1e6)
    used = 8 * last["bytes"] / last["seconds"] if last["seconds"] else 0.0
    if used < 0.8 * allowed:
        return (
            f"the congestion window of {quantity(last['snd_cwnd'], 'B')} would allow "
            f"{quantity(allowed, 'bit/s')}, so something else limits: a window or buffer of a "
            "host, the application or the path"
        )
    return "iperf3 does not say whether the window is limited by losses or by the path"

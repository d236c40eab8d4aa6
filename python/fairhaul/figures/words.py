"""A report's question and answer: sentences about the scenario and the figures of its runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairhaul.measures.limits import is_limited_by_others
from fairhaul.results.figure_rows import limits_of, mean
from fairhaul.text.durations import duration_text
from fairhaul.text.phrases import listed, quantity

Object = Mapping[str, Any]

# Of more flows only the number is said.
MOST_NAMES = 4

TOO_SHORT = (
    "too short to say anything about the long term: a measured bulk flow had fewer than 20 cycles "
    "(loss events, or probes without a loss)"
)
NO_LOSS = "No measured flow had a loss event, so losses do not show whether the run is long enough."


def milliseconds(flow: Object) -> str:
    """Write a flow's round-trip propagation time."""
    return f"{flow['rtt_s'] * 1000:.4g} ms"


def question(scenario: Object, settings: Sequence[str]) -> str:
    """Write the question of `scenario`; `settings` name the variants of a sweep."""
    measured = [flow for flow in scenario["flows"] if flow["role"] == "measured"]
    others = len(scenario["flows"]) - len(measured)
    flows = measured or scenario["flows"]
    kinds = list(dict.fromkeys(flow["controller"] for flow in flows))
    trips = sorted({flow["rtt_s"] for flow in flows})
    between = " and " if len(trips) == 2 else " to "
    span = between.join(dict.fromkeys(f"{trip * 1000:.4g}" for trip in (trips[0], trips[-1])))
    who = "one flow" if len(flows) == 1 else f"{len(flows)} flows"
    kind = f" of {listed(kinds)}" if not settings or len(kinds) > 1 else ""
    rates = sorted({link["rate_bps"] for link in scenario["links"]}, reverse=True)
    link = quantity(rates[0], "bit/s") if len(rates) == 1 else "several links"
    trip = "a round-trip time" if len(trips) == 1 else "round-trip times"
    besides = f", competing with {others} background flows" if others and measured else ""
    if others == 1:
        besides = besides.replace("flows", "flow")
    if len(flows) == 1:
        return f"How much of {link} does {who}{kind} get with {trip} of {span} ms{besides}?"
    return f"How do {who}{kind} share {link} with {trip} of {span} ms{besides}?"


def answer(figures: Object) -> str:
    """Answer the question from the figures of one run, or from the means over several runs."""
    flows = [flow for flow in figures["flows"] if flow["role"] == "measured"] or figures["flows"]
    busy = max((mean(link["utilization"]) for link in figures["links"]), default=0.0)
    link = f"the busiest link was utilized to {100 * busy:.0f} %"
    ordered = sorted(flows, key=lambda flow: mean(flow["goodput_bps"]))
    low, high = ordered[0], ordered[-1]
    got = quantity(mean(high["goodput_bps"]), "bit/s")
    parts = [f"{high['name']} {_completed(high) or f'got {got}'}; {link}."]
    if len(flows) > 1:
        least, most = mean(low["goodput_bps"]), mean(high["goodput_bps"])
        if least <= 0:
            gap = f"{low['name']} got nothing"
        elif most / least < 1.05:
            gap = "all flows got the same to within 5 %"
        else:
            gap = f"{most / least:.3g} times the goodput of {low['name']}, which got the least"
        index = figures["fairness"]["jain"]
        jain = f"; Jain's index is {mean(index):.2f}" if index is not None else ""
        parts = [f"{high['name']} got the most, {got}: {gap}{jain}, and {link}."]
        if least > 0 and most / least < 1.05:
            parts = [f"All flows got the same to within 5 %, at most {got}{jain}, and {link}."]
    parts += _others(figures["flows"]) if flows != figures["flows"] else []
    if figures["stationary"] is False:
        wanted_s = figures["wanted_duration_s"]
        lossless = all(mean(flow["cycles"]) == 0 for flow in flows)
        wanted = mean(wanted_s) if wanted_s else None
        parts.append(NO_LOSS if lossless else too_short("The run is", wanted))
    parts += _limited(flows)
    if figures["completed"] is False:
        parts.append("A measured transfer was not completed.")
    parts += [f"Warning: {warning}." for warning in figures.get("warnings", ())]
    return " ".join(parts)


def _completed(flow: Object) -> str:
    """Say how long a transfer took, and its rate while it lasted; nothing of another flow."""
    if flow.get("transfer_bps") is None:
        return ""
    rate = quantity(mean(flow["transfer_bps"]), "bit/s")
    return f"was completed in {mean(flow['completion_s']):.3g} s, at {rate}"


def _others(flows: Sequence[Object]) -> list[str]:
    """Say what the background flows got."""
    others = [flow for flow in flows if flow["role"] != "measured"]
    got = quantity(sum(mean(flow["goodput_bps"]) for flow in others), "bit/s")
    who = "background flow" if len(others) == 1 else f"{len(others)} background flows"
    together = "" if len(others) == 1 else " together"
    return [f"The {who} got {got}{together}."]


def _limited(flows: Sequence[Object]) -> Iterator[str]:
    """Say which flows something else than the network limits, a sentence for each limit."""
    by_limit: dict[str, list[str]] = {}
    for flow in flows:
        parts = limits_of(flow)
        if is_limited_by_others(parts):
            by_limit.setdefault(max(parts, key=parts.__getitem__), []).append(flow["name"])
    for limit, names in by_limit.items():
        who = listed(names) if len(names) <= MOST_NAMES else f"{len(names)} flows"
        its = "its" if len(names) == 1 else "their"
        yield f"What limits {who} is {its} {limit}, not the congestion window."


def too_short(runs_are: str, wanted_s: float | None) -> str:
    """Say that runs are not stationary, and the duration that would suffice, if it is known."""
    enough = f"; a duration of about {duration_text(wanted_s)} would suffice" if wanted_s else ""
    return f"{runs_are} {TOO_SHORT}{enough}."


def reach(marks: str, *, exact: bool) -> str:
    """Say what the marks of a mean are: exact intervals, or the range of too few runs."""
    if exact:
        return f"{marks} are their 95 % intervals"
    return f"{marks} reach from the smallest to the largest run"


def _overlap(less: Any, more: Any) -> bool:
    """Whether two estimates have intervals or ranges, and these have a value in common."""
    both = isinstance(less, Mapping) and isinstance(more, Mapping)
    return both and less["interval"] is not None and less["high"] >= more["low"]


def comparison(labels: Sequence[str], measures: Sequence[Object]) -> str:
    """Answer for several scenarios: which is the fairest, and which is the least fair."""
    known = {
        label: figures["fairness"]["jain"]
        for label, figures in zip(labels, measures, strict=True)
        if figures["fairness"]["jain"] is not None
    }
    indices = [(mean(index), label) for label, index in known.items()]
    shared = any(sum(f["role"] == "measured" for f in figures["flows"]) > 1 for figures in measures)
    if not indices or not shared:
        busy = [max(mean(link["utilization"]) for link in figures["links"]) for figures in measures]
        pairs = list(zip(busy, labels, strict=True))
        best, worst = max(pairs), min(pairs)
        text = (
            f"The utilization of the busiest link was highest with {best[1]}, "
            f"{100 * best[0]:.0f} %, and lowest with {worst[1]}, {100 * worst[0]:.0f} %."
        )
    else:
        best, worst = max(indices), min(indices)
        text = (
            f"{best[1]} is the fairest, with a Jain's index of {best[0]:.2f}; {worst[1]} is the "
            f"least fair, with {worst[0]:.2f}."
        )
        if f"{best[0]:.2f}" == f"{worst[0]:.2f}":
            text = f"Jain's index is {best[0]:.2f} in every case."
        elif _overlap(known[worst[1]], known[best[1]]):
            exact = known[best[1]]["interval"] == "95 %"
            text = (
                f"Jain's index is {worst[0]:.2f} ({worst[1]}) to {best[0]:.2f} ({best[1]}), and "
                f"their {'intervals' if exact else 'ranges'} overlap."
            )
    short = [figures["stationary"] is False for figures in measures]
    if any(short):
        text += f" {too_short('All runs are' if all(short) else 'Some runs are', None)}"
    return text

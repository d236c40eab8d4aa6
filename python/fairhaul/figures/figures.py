"""The figures of one run, drawn from its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fairhaul.figures import charts, drop_curve, gauges, zoom
from fairhaul.figures.bins import Bins, level, points, rate, tidy, whole_run
from fairhaul.figures.charts import Lane, Look, Span, flow_look
from fairhaul.figures.charts.vega import Spec
from fairhaul.figures.figure import Figure
from fairhaul.figures.look import GREY
from fairhaul.figures.phases import RECOVERY, SLOW_START, phases
from fairhaul.figures.select import evenly, flows_between, part
from fairhaul.figures.words import milliseconds
from fairhaul.measures.losses import not_undone
from fairhaul.measures.measures import bottlenecks_of, varies
from fairhaul.record.record import Record
from fairhaul.record.series import Series
from fairhaul.text.phrases import quantity, rate_unit

# More lines than this cannot be told apart.
MOST_LINES = 12
MOST_LINKS = 3
# Shares are read from wider bins: what a window or two got is noise.
SHARE_BINS = 100
# A rate that is so many times the largest goodput is not drawn.
MOST_ABOVE = 2.5
STRIP_BINS = 370


def of_run(record: Record, prefix: str) -> list[Figure]:
    """Draw the series of one run; `prefix` begins the names of its files."""
    run = Run(record=record, prefix=prefix)
    inside = (run.gauges, run.drops, run.controllers)
    each = (run.shares, run.windows, run.queues, *inside, run.losses)
    return [figure for draw in each if (figure := draw()) is not None]


def looks_of(flows: Sequence[Mapping[str, Any]]) -> list[Look]:
    """Give measured flows a colour each, and those of the background grey."""
    looks, number = [], 0
    for flow in flows:
        measured = flow["role"] == "measured"
        looks.append(
            flow_look(flow["name"], number)
            if measured
            else Look(label=flow["name"], colour=GREY, thin=True)
        )
        number += measured
    return looks


def rates_of(scenario: Mapping[str, Any], most_bps: float) -> list[tuple[float, str]]:
    """Give what rates of flows are compared with: that of the link, and the fair share of it.

    There are none if the flows do not share one link, or its rate changes. The fair share is that
    of bulk flows. The rate of a link far above `most_bps` would only make the figure flat.
    """
    links, flows = scenario["links"], scenario["flows"]
    narrow = bottlenecks_of(scenario, [link["rate_bps"] for link in links])
    shared = {link for link, _ in narrow.values()}
    if len(shared) != 1 or len(narrow) < len(flows) or varies(links[min(shared)]):
        return []
    rate_bps = float(links[min(shared)]["rate_bps"])
    marks = [(rate_bps, f"link: {quantity(rate_bps, 'bit/s')}")]
    if len(flows) > 1 and all(flow["traffic"]["kind"] == "bulk" for flow in flows):
        fair_bps = rate_bps / len(flows)
        marks.append((fair_bps, f"fair share: {quantity(fair_bps, 'bit/s')}"))
    return [(value, name) for value, name in marks if value <= MOST_ABOVE * most_bps]


def released(most_bps: float, marks: Sequence[tuple[float, str]]) -> str:
    """Say why goodput is above the rate of the link, where it is."""
    if not marks or most_bps <= max(value for value, _ in marks):
        return ""
    return (
        " Where a retransmission fills a gap, what waited behind it arrives in order at once, so "
        "that a peak can exceed the rate of the link."
    )


def common_rates(
    scenarios: Sequence[Mapping[str, Any]], most_bps: float
) -> list[tuple[float, str]]:
    """Give what rates of flows are compared with, if it is the same in all scenarios."""
    each = [rates_of(scenario, most_bps) for scenario in scenarios]
    return each[0] if each and all(of == each[0] for of in each) else []


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run that is drawn: a method for each figure, which gives nothing without its data."""

    record: Record
    prefix: str

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The scenario, all of whose defaults are resolved."""
        scenario: Mapping[str, Any] = self.record.meta["scenario"]
        return scenario

    @cached_property
    def flows(self) -> Sequence[Mapping[str, Any]]:
        """All flows, in the order of the file."""
        flows: Sequence[Mapping[str, Any]] = self.scenario["flows"]
        return flows

    @cached_property
    def looks(self) -> list[Look]:
        """The colour of each flow."""
        return looks_of(self.flows)

    @cached_property
    def shown(self) -> list[int]:
        """The flows that are drawn."""
        return flows_between(self.flows, self.goodputs, MOST_LINES)

    @cached_property
    def goodputs(self) -> list[float]:
        """The payload of each flow in the measured time, by which flows are chosen."""
        begun = self.rows.starts_s >= self.span.warmup_s
        found: list[float] = self.rows.columns["goodput_bytes"][:, begun].sum(axis=1).tolist()
        return found

    def part(self, shown: Sequence[int], total: int | None = None) -> str:
        """Say in a title how many flows are drawn."""
        return part(len(shown), len(self.flows) if total is None else total, "flows")

    @cached_property
    def span(self) -> Span:
        """The time that is drawn."""
        return Span(end_s=self.scenario["duration_s"], warmup_s=self.scenario["warmup_s"])

    @cached_property
    def rows(self) -> Series:
        """The series of flows."""
        return whole_run(self.record.flow_series, len(self.flows), self.scenario)

    @cached_property
    def link_rows(self) -> Series:
        """The series of links."""
        return whole_run(self.record.link_series, len(self.scenario["links"]), self.scenario)

    @cached_property
    def changing(self) -> list[int]:
        """The links whose rate changes, one direction of each."""
        links = self.scenario["links"]
        return [i for i, link in enumerate(links) if varies(link)][::2][:MOST_LINKS]

    @cached_property
    def loaded(self) -> list[int]:
        """The links that are drawn; links that carry only acknowledgements are not."""
        busy = self.link_rows.total("busy_s")
        most = float(busy.max()) if len(busy) else 0.0
        loaded = [i for i in range(len(busy)) if busy[i] >= 0.25 * most]
        return sorted(sorted(loaded, key=lambda i: -busy[i])[:MOST_LINKS])

    def figure(
        self, name: str, title: str, caption: str, chart: Spec, raw: zoom.Raw | None = None
    ) -> Figure:
        """Give a figure of the run."""
        name = f"{self.prefix}{name}"
        return Figure(name=name, title=title, caption=caption, chart=chart, raw=raw)

    def shares(self) -> Figure:
        """Draw the goodput of flows, that of all of the background, and rates that change."""
        each = [i for i in self.shown if self.flows[i]["role"] == "measured"]
        rest = [i for i, flow in enumerate(self.flows) if flow["role"] != "measured"]
        lines = [self.looks[i] for i in each]
        if rest:
            name = self.looks[rest[0]].label if len(rest) == 1 else "background"
            lines.append(Look(label=name, colour=GREY, thin=True))
        names = [self.scenario["links"][i]["name"] for i in self.changing]
        lines += [Look(label=name, colour=GREY, dash=(4, 3), thin=True) for name in names]
        bins, values = self.rates(each, rest, SHARE_BINS)
        most = max(max((float(line.max()) for line in values), default=0), 1e3)
        marks = rates_of(self.scenario, most)
        top = 1.06 * max([most, *(value for value, _ in marks)])
        scale, unit = rate_unit(top)
        data = [
            {"t": tidy(t), **{f"v{k}": tidy(scale * line[b]) for k, line in enumerate(values)}}
            for b, t in enumerate(bins.middle_s)
        ]
        caption = f"New payload that arrived in order, averaged over {_s(bins.width_s)}."
        caption += released(most, marks)
        if len(rest) > 1:
            caption += f" Grey: the sum of the {len(rest)} background flows."
        if self.changing:
            caption += " Dashed grey: the rate of links whose rate changes, headers included."
        caption += _chosen(each, len(self.flows) - len(rest))
        finest, whole = self.rates(each, rest, zoom.most_bins(len(lines)))
        scaled_marks = [(scale * value, name) for value, name in marks]
        axis = f"Goodput ({unit})"
        chart = charts.lines(lines, data, self.span, axis, scale * top, scaled_marks)
        scaled = [scale * line for line in whole]
        raw = zoom.lines(finest, scaled, self.prefix, self.span, SHARE_BINS)
        title = f"Goodput over time{self.part(each, len(self.flows) - len(rest))}"
        return self.figure("shares", title, caption, chart, raw)

    def rates(self, each: Sequence[int], rest: Sequence[int], most: int) -> tuple[Bins, list[Any]]:
        """Give the lines of the figure of shares in at most `most` bins, bit/s."""
        bins = rate(self.rows, "goodput_bytes", most)
        values = [bins.mean[i] * 8 for i in each]
        if rest:
            values.append(bins.mean[rest].sum(axis=0) * 8)
        if self.changing:
            capacities = rate(self.link_rows, "capacity_bytes", most).mean[self.changing]
            values += [line * 8 for line in capacities]
        return bins, values

    def windows(self) -> Figure | None:
        """Draw the congestion windows that are known, and the phases of their senders."""
        shaded = phases(self.record, self.rows)
        bins = level(self.rows, "cwnd_packets")
        # A transport stack may not show its window.
        shown = [i for i in self.shown if not bins.has_gaps(i)]
        if not shown:
            return None
        tops: dict[str, float] = {}
        for i in shown:
            role = self.flows[i]["role"]
            tops[role] = max(tops.get(role, 1.0), float(bins.high[i].max()))
        lanes = [
            Lane(
                look=Look(label=self.looks[i].label, colour=self.looks[i].colour),
                rows=points(bins, i),
                top=tops[self.flows[i]["role"]],
                note=f"{self.flows[i]['controller']}, {milliseconds(self.flows[i])}",
                spans=shaded[self.flows[i]["name"]],
            )
            for i in shown
        ]
        caption = "All flows have the same scale."
        if len(tops) > 1:
            caption = "Measured flows have one scale, background flows another."
        caption += " " + _band(bins) + _shades(lanes) + _chosen(shown, len(self.flows))
        chart = charts.lanes(lanes, self.span, "cwnd (packets)")
        raw = self._zoomed(self.rows, "cwnd_packets", shown)
        title = f"Congestion window over time{self.part(shown)}"
        return self.figure("cwnd", title, caption, chart, raw)

    def _zoomed(self, rows: Series, name: str, parts: Sequence[int]) -> zoom.Raw | None:
        return zoom.lanes(lambda most: level(rows, name, most), parts, self.prefix, self.span)

    def queues(self) -> Figure:
        """Draw the packets in the queues, and the capacity of a queue where it is near."""
        links = self.scenario["links"]
        bins = level(self.link_rows, "backlog_packets")
        lanes = []
        for i in self.loaded:
            capacity = links[i]["capacity_packets"]
            peak = max(float(bins.high[i].max()), 1.0)
            near = capacity is not None and capacity <= 4 * peak
            lanes.append(
                Lane(
                    look=Look(label=links[i]["name"], colour="var(--c1)"),
                    rows=points(bins, i),
                    top=max(peak, capacity * 1.12) if near else peak,
                    note=_rate(links[i]),
                    limit=(capacity, f"capacity: {capacity} packets") if near else None,
                )
            )
        caption = f"Packets in the queue. {_band(bins)}"
        less = len(links) - len(self.loaded)
        if less:
            caption += f" {less} {'link' if less == 1 else 'links'} with less traffic not shown."
        chart = charts.lanes(lanes, self.span, "Queue (packets)")
        raw = self._zoomed(self.link_rows, "backlog_packets", self.loaded)
        return self.figure("queue", "Queue over time", caption, chart, raw)

    def gauges(self) -> Figure | None:
        """Draw the gauges of the links' queues; nothing if no queue has gauges."""
        names = [self.scenario["links"][i]["name"] for i in self.loaded]
        lanes = gauges.lanes(self.record, names, self.span)
        if not lanes:
            return None
        caption = f"The internal state of the queue.{_scaled(self.span)}"
        title = "Inside the queue" if len(names) == 1 else "Inside the queues"
        return self.figure("gauges", title, caption, charts.lanes(lanes, self.span))

    def drops(self) -> Figure | None:
        """Draw the drops of RED queues over their average length; nothing without such a queue."""
        chart = drop_curve.chart(self.record, self.link_rows, self.loaded)
        if chart is None:
            return None
        return self.figure("drops", "Drops over the average queue", drop_curve.CAPTION, chart)

    def controllers(self) -> Figure | None:
        """Draw the gauges of the flows' controllers; nothing if no controller has gauges."""
        counts = gauges.gauges_of_flows(self.record)
        having = [i for i in self.shown if self.looks[i].label in counts]
        # As many lanes as a figure has lines elsewhere, and at least those of one flow.
        chosen, most = having, len(having)
        while most > 1 and sum(counts[self.looks[i].label] for i in chosen) > MOST_LINES:
            most -= 1
            chosen = sorted(evenly(sorted(having, key=self.goodputs.__getitem__), most))
        lanes = gauges.flow_lanes(self.record, [self.looks[i] for i in chosen], self.span)
        if not lanes:
            return None
        missing = _chosen(chosen, len(counts))
        caption = f"What the controller of a flow holds.{_scaled(self.span)}{missing}"
        title = "Inside the controller" if len(chosen) == 1 else "Inside the controllers"
        title += self.part(chosen, len(counts))
        return self.figure("controllers", title, caption, charts.lanes(lanes, self.span))

    def losses(self) -> Figure:
        """Draw loss events; those of one flow and kind that fall on one pixel are one tick."""
        names = [self.looks[i].label for i in self.shown]
        width = self.span.end_s / STRIP_BINS
        events = not_undone(self.record)
        shown = [event for event in events if event.flow in names]
        ticks: dict[tuple[str, bool, int], list[float]] = {}
        for t, kind, flow, _ in shown:
            ticks.setdefault((flow, kind == "timeout", int(t / width)), []).append(t)
        data = [
            {
                "t": float(f"{times[0]:.6g}"),
                "of": flow,
                "timeout": timeout,
                "what": ("timeout" if timeout else "loss event")
                + (f", {len(times)} of them" if len(times) > 1 else ""),
            }
            for (flow, timeout, _), times in ticks.items()
        ]
        caption = (
            f"A tick is a loss event: one reduction of the window, however many packets were lost "
            f"or marked. A cross is a timeout. There are {len(shown)} in total, warm-up included; "
            f"events of a flow within {_s(width)} are drawn as one."
        )
        caption += _chosen(names, len(self.looks))
        chart = charts.strip([self.looks[i] for i in self.shown], data, self.span)
        raw = zoom.events(events, names, self.prefix, self.span)
        return self.figure("losses", f"Loss events{self.part(self.shown)}", caption, chart, raw)


def _shades(lanes: Sequence[Lane]) -> str:
    """Say what is shaded behind the lanes."""
    kinds = {str(row["what"]) for lane in lanes for row in lane.spans}
    named = {SLOW_START: "green: slow start", RECOVERY: "orange: recovery"}
    words = [named[kind] for kind in named if kind in kinds]
    return f" Background {', '.join(words)}." if words else ""


def _scaled(span: Span) -> str:
    if span.warmup_s == 0:
        return ""
    return " The scale is that of the measured time; larger values during the warm-up are cut off."


def _band(bins: Bins) -> str:
    if bins.width_s <= bins.tick_s * 1.01:
        return f"Averaged over {_s(bins.tick_s)}."
    return (
        f"Line: averaged over {_s(bins.width_s)}; band: the smallest and the largest average over "
        f"{_s(bins.tick_s)} within that time."
    )


def _chosen(shown: Sequence[object], total: int) -> str:
    """Say which flows are drawn, if not all are; the title has their number."""
    if len(shown) == total:
        return ""
    return " Drawn are the flows with the least and the most goodput, and quantiles between them."


def _s(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{seconds * 1000:.3g} ms"


def _rate(link: Mapping[str, Any]) -> str:
    return ("initially or on average " if varies(link) else "") + quantity(
        link["rate_bps"], "bit/s"
    )

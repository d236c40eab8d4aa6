//! The ledger of a run: what happened, counted in bins of the time at which it happened.
//!
//! Parts of the engine run ahead of the clock, so nothing is read at a tick. A counter is added to
//! the bin of its own event; what becomes of a packet (it is lost, dropped or marked) is added to the bin in
//! which that packet itself was counted, so that ratios are of the same packets. A level (the backlog of a
//! link, the windows of a flow) is recorded as its steps, in integers, so that the order of recording does not
//! matter and a level that stands costs nothing; what a step adds to the bins after its own is summed when
//! the ledger is closed. A flow's sender and its receiver each record in the order of their own time.

mod binned_series;
mod flow_counters;
mod limit_times;
mod link_counters;
mod ports;
mod sparse_series;

use crate::{Closure, EventRow, Grid, Limit, Record, TransferRow};
use binned_series::BinnedSeries;
use fairhaul_cc::Window;
use fairhaul_units::{Gauge, Histogram, Span, Time, real};
use flow_counters::{FlowCounters, close_flow, in_units};
use limit_times::LimitTimes;
use link_counters::{LinkCounters, close_delays, close_link};
use sparse_series::SparseSeries;

/// What stands for the window of a connection that is not open.
pub const NO_WINDOW: Window = Window { cwnd: 0.0, ssthresh: 0.0 };
/// What stands for the window of an open connection that does not show it.
pub const UNKNOWN_WINDOW: Window = Window { cwnd: 0.0, ssthresh: f64::NEG_INFINITY };

/// The window of a connection as the ledger has recorded it last.
#[derive(Clone, Copy, Debug)]
pub struct RecordedWindow {
    window: Window,
    /// Its cwnd, in the unit of the ledger.
    cwnd_units: i64,
}

impl RecordedWindow {
    #[inline(always)]
    fn new(window: Window) -> RecordedWindow {
        RecordedWindow { window, cwnd_units: in_units(window.cwnd) }
    }

    /// That window.
    #[inline(always)]
    pub fn window(&self) -> Window {
        self.window
    }
}

impl Default for RecordedWindow {
    /// That of a connection that is not open.
    fn default() -> RecordedWindow {
        RecordedWindow::new(NO_WINDOW)
    }
}

/// The counters of all flows and links; see the module.
#[derive(Clone, Debug)]
pub struct Ledger {
    grid: Grid,
    flows: Vec<FlowCounters>,
    /// By bin, and in a bin by flow: what its bottleneck has sent of its payload, bytes.
    carried: Vec<f64>,
    links: Vec<LinkCounters>,
    /// The gauges of each link's queue at the starts of bins.
    gauges: Vec<Vec<f64>>,
    /// The gauges of each flow's controller at the starts of bins.
    flow_gauges: Vec<Vec<f64>>,
    /// What keeps each flow back, and how long.
    limits: Vec<LimitTimes>,
    events: Vec<EventRow>,
    closures: Vec<Closure>,
    packets: u64,
}

/// With more links none has a histogram of its delays, each of which may take some kilobytes.
const MOST_LINKS_WITH_DELAYS: usize = 1000;

impl Ledger {
    /// Empty counters.
    pub fn new(grid: Grid, flows: usize, links: usize) -> Ledger {
        Ledger::new_while(grid, flows, links, || true).expect("nothing ends it")
    }

    /// The same while `goes_on` says so, which is asked of every flow and link; `None`: it did not.
    pub fn new_while(grid: Grid, flows: usize, links: usize, goes_on: impl Fn() -> bool) -> Option<Ledger> {
        assert!(i64::try_from(grid.end.as_ps()).is_ok(), "a run lasts 100 days at most");
        let bins = grid.len();
        let rare_events = SparseSeries::new(bins).into();
        let flow = FlowCounters {
            sending: BinnedSeries::new(&grid),
            arriving: BinnedSeries::new(&grid),
            rare_events,
        };
        let (arriving, leaving) = (BinnedSeries::new(&grid), BinnedSeries::new(&grid));
        let link = LinkCounters {
            arriving,
            leaving,
            rare_events: vec![[0; 2]; bins],
            work: vec![0; bins],
            delays: if links > MOST_LINKS_WITH_DELAYS {
                Histogram::that_counts_nothing()
            } else {
                Histogram::default()
            },
            delays_are_measured: grid.measured == Time::ZERO,
        };
        let flow_counters: Vec<FlowCounters> =
            (0..flows).map_while(|_| goes_on().then(|| flow.clone())).collect();
        let link_counters: Vec<LinkCounters> =
            (0..links).map_while(|_| goes_on().then(|| link.clone())).collect();
        (flow_counters.len() == flows && link_counters.len() == links).then(|| Ledger {
            grid,
            flows: flow_counters,
            carried: vec![0.0; bins * flows],
            links: link_counters,
            gauges: vec![Vec::new(); links],
            flow_gauges: vec![Vec::new(); flows],
            limits: vec![LimitTimes::default(); flows],
            events: Vec::new(),
            closures: Vec::new(),
            packets: 0,
        })
    }

    /// The end of the run: what happens at or after it is not counted.
    pub fn end(&self) -> Time {
        self.grid.end
    }

    /// A data packet leaves its sender, or a burst of `packets`.
    #[inline(always)]
    pub fn sent(&mut self, flow: u32, packets: u8, retransmitted: bool, now: Time) {
        if let Some(cell) = self.flows[flow as usize].sending.at(&self.grid, now) {
            cell.sent += u64::from(packets);
            if retransmitted {
                cell.retransmitted += 1;
            }
        }
    }

    /// A data packet arrives, or packets that were merged: their payload, how many are new, and the new payload in order;
    /// whether that is before the end.
    #[inline(always)]
    pub fn delivered(&mut self, flow: u32, payload: u64, fresh: u8, in_order: u64, now: Time) -> bool {
        let Some(cell) = self.flows[flow as usize].arriving.at(&self.grid, now) else { return false };
        cell.delivered += payload;
        cell.goodput += in_order;
        self.packets += u64::from(fresh);
        true
    }

    /// A data packet that left its sender at `sent` is dropped at `now`, by a queue or behind it.
    pub fn lost(&mut self, flow: u32, sent: Time, now: Time) {
        if now < self.grid.end {
            self.flows[flow as usize].rare_events.open(self.grid.bin(sent)).lost += 1;
        }
    }

    /// A link makes a second data packet of one that left its sender at `sent`; both are behind it at `now`.
    pub fn copied(&mut self, flow: u32, sent: Time, now: Time) {
        if now < self.grid.end {
            self.flows[flow as usize].rare_events.open(self.grid.bin(sent)).copied += 1;
        }
    }

    /// The window of a connection of `flow`, which was `standing`, becomes another at `now`; [`NO_WINDOW`]: it ends,
    /// [`UNKNOWN_WINDOW`]: it is not known.
    #[inline(always)]
    pub fn window(&mut self, flow: u32, recorded_window: &mut RecordedWindow, window: Window, now: Time) {
        let before = std::mem::replace(recorded_window, RecordedWindow::new(window));
        let FlowCounters { sending: series, rare_events, .. } = &mut self.flows[flow as usize];
        if series.at(&self.grid, now).is_none() {
            return;
        }
        let (bin, since) = (series.bin, now - series.from);
        if let Some(full) = series.open.cwnd.step(recorded_window.cwnd_units - before.cwnd_units, since) {
            rare_events.open(bin).more_cwnd += i128::from(full);
        }
        if before.window.ssthresh != window.ssthresh {
            self.threshold(flow, (before.window.ssthresh, window.ssthresh), bin, since);
        }
    }

    #[inline(never)]
    fn threshold(&mut self, flow: u32, (before, after): (f64, f64), bin: usize, since: Span) {
        let rare_events = self.flows[flow as usize].rare_events.open(bin);
        let finite = |ssthresh: f64| if ssthresh.is_finite() { in_units(ssthresh) } else { 0 };
        if let Some(full) = rare_events.ssthresh.step(finite(after) - finite(before), since) {
            rare_events.more_ssthresh += i128::from(full);
        }
        let step = |of: f64| i64::from(after == of) - i64::from(before == of);
        let endless = rare_events.endless.step(step(f64::INFINITY), since);
        let unknown = rare_events.unknown.step(step(UNKNOWN_WINDOW.ssthresh), since);
        debug_assert!(endless.is_none() && unknown.is_none(), "there are never as many connections");
    }

    /// Adds a window that had these values from `from` to `to` to the integrals of its bins.
    pub fn integrate_window(&mut self, flow: u32, cwnd: f64, ssthresh: f64, from: Time, to: Time) {
        let window = Window { cwnd, ssthresh };
        let mut recorded_window = RecordedWindow::default();
        self.window(flow, &mut recorded_window, window, from);
        self.window(flow, &mut recorded_window, NO_WINDOW, to);
    }

    /// An acknowledgement brings a sample.
    #[inline(always)]
    pub fn sampled(&mut self, flow: u32, rtt: Span, one_way: Span, now: Time) {
        if let Some(cell) = self.flows[flow as usize].sending.at(&self.grid, now) {
            cell.rtt_ps += real(rtt.as_ps());
            cell.one_way_ps += real(one_way.as_ps());
            cell.samples += 1;
        }
    }

    /// Something else keeps a connection of `flow` back from `now` on, or nothing does before it is open and after its
    /// end.
    pub fn limited(&mut self, flow: u32, before: Option<Limit>, after: Option<Limit>, now: Time) {
        let now = now.max(self.grid.measured).min(self.grid.end);
        self.limits[flow as usize].change(before, after, now);
    }

    /// Something has kept `flow` back for that long, in the measured time.
    pub fn limited_for(&mut self, flow: u32, by: Limit, span: Span) {
        self.limits[flow as usize].add(by, span);
    }

    /// Something happened to a flow.
    pub fn event(&mut self, kind: &'static str, flow: u32, value: f64, now: Time) {
        self.events.push(EventRow { t_s: now.as_secs(), kind, flow, value });
    }

    /// A transport stack closes a connection of `flow` before its end, for that reason.
    pub fn closed(&mut self, flow: u32, reason: String, now: Time) {
        self.event("closed", flow, f64::NAN, now);
        self.closures.push(Closure { t_s: now.as_secs(), flow, reason });
    }

    /// From when on figures are taken.
    pub fn measured(&self) -> Time {
        self.grid.measured
    }

    /// What has happened to flows so far.
    pub fn events(&self) -> &[EventRow] {
        &self.events
    }

    /// Where what the controller of `flow` shows at the start of a bin is recorded.
    pub fn flow_gauges(&mut self, flow: u32) -> &mut Vec<f64> {
        &mut self.flow_gauges[flow as usize]
    }

    /// The controller of `flow` is now another one, and `bins` starts of bins have been recorded: what it has shown so far
    /// stays where the other shows it, too.
    pub fn change_gauges(&mut self, flow: u32, before: &[Gauge], after: &[Gauge], bins: usize) {
        let shown = std::mem::take(&mut self.flow_gauges[flow as usize]);
        let places: Vec<Option<usize>> =
            after.iter().map(|gauge| before.iter().position(|known| known.name == gauge.name)).collect();
        let value =
            |bin: usize, place: Option<usize>| place.map_or(f64::NAN, |at| shown[bin * before.len() + at]);
        self.flow_gauges[flow as usize] = (0..bins)
            .flat_map(|bin| places.iter().map(move |&place| (bin, place)))
            .map(|(bin, place)| value(bin, place))
            .collect();
    }

    /// The start of the bin after that of `now`; never, if the run ends before.
    pub fn next_start(&self, now: Time) -> Time {
        let next = self.grid.start(self.grid.bin(now) + 1);
        if next < self.grid.end { next } else { Time::NEVER }
    }

    /// Memory that grows with what happens: that of the events, and of what controllers show, bytes.
    pub fn memory(&self) -> u64 {
        let shown: usize = self.flow_gauges.iter().map(Vec::capacity).sum();
        let delays: u64 = self.links.iter().map(|link| link.delays.memory()).sum();
        (self.events.capacity() * size_of::<EventRow>() + shown * size_of::<f64>()) as u64 + delays
    }

    /// Closes the ledger of a run of `engine` that made these transfers.
    pub fn close(self, engine: &'static str, transfers: Vec<TransferRow>) -> Record {
        self.close_while(engine, transfers, || true).expect("nothing ends it")
    }

    /// The same while `goes_on` says so, which is asked of every flow and link; `None`: it did not.
    pub fn close_while(
        mut self,
        engine: &'static str,
        transfers: Vec<TransferRow>,
        goes_on: impl Fn() -> bool,
    ) -> Option<Record> {
        let grid = self.grid;
        let length = |bin| grid.start(bin + 1) - grid.start(bin);
        let (count, carried) = (self.flows.len(), &self.carried);
        let carried = |flow: usize| carried.iter().skip(flow).step_by(count).copied();
        let close = |(flow, counters)| goes_on().then(|| close_flow(counters, carried(flow), &length));
        let flows = self.flows.into_iter().enumerate().map(close).collect::<Option<Vec<_>>>()?;
        self.links.iter_mut().for_each(|link| link.measure_delays(grid.end, grid.measured));
        let delays = self.links.iter().map(|link| close_delays(&link.delays)).collect();
        let close = |counters| goes_on().then(|| close_link(counters, &length));
        let links = self.links.into_iter().map(close).collect::<Option<Vec<_>>>()?;
        self.events.sort_by(|a, b| {
            let by_time = a.t_s.total_cmp(&b.t_s).then(a.flow.cmp(&b.flow));
            by_time.then(a.kind.cmp(b.kind)).then(a.value.total_cmp(&b.value))
        });
        Some(Record {
            engine,
            grid,
            flows,
            links,
            gauges: self.gauges,
            flow_gauges: self.flow_gauges,
            delays,
            limits: self.limits.iter().map(|times| times.close(grid.end)).collect(),
            transfers,
            events: self.events,
            closures: self.closures,
            packets: self.packets,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid;
    use fairhaul_path::{Departure, LinkLedger, LinkPacket, LinkRate, PacketKind, Schedule};
    use fairhaul_units::{Ecn, Rate, Sending};

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A packet leaves the queue of a link at `departs`; it was on its way out for the last `on_wire`.
    fn depart(ledger: &mut Ledger, departs: Time, on_wire: Span) {
        let packet = LinkPacket {
            connection: 0,
            size: 1000,
            ecn: Ecn::NotCapable,
            flow: 0,
            kind: PacketKind::Control,
            sending: Sending::First,
            counted: 0,
        };
        let departure = Departure { departs, arrives: departs, on_wire, marked: false, copies: 1 };
        let rate = Rate::from_bps(8_000_000).expect("not zero");
        let rate = LinkRate::new(rate, &Schedule::default());
        ledger.departed(0, &packet, departure.began(), departure, &rate);
    }

    #[test]
    fn a_level_is_split_between_bins_by_time() {
        // 10 s in bins of 10 ms. Window 4 from 5 to 25 ms: 2 in the first bin, 4, 2.
        let mut ledger = Ledger::new(grid(Span::from_s(10), Span::ZERO, 1, 1), 1, 1);
        ledger.integrate_window(0, 4.0, f64::INFINITY, at(5), at(25));
        ledger.enqueued(0, 1000, at(5));
        depart(&mut ledger, at(25), Span::from_ms(10));
        let Record { flows, links, .. } = ledger.close("sim", Vec::new());
        let cwnd: Vec<f64> = flows[0][..4].iter().map(|r| r.cwnd_packets).collect();
        assert_eq!(cwnd.iter().map(|c| (c * 1e9).round() / 1e9).collect::<Vec<_>>(), [2.0, 4.0, 2.0, 0.0]);
        assert!(flows[0][0].ssthresh_packets.is_nan());
        let busy: Vec<f64> = links[0][..4].iter().map(|r| r.busy_s).collect();
        assert_eq!(busy, [0.0, 0.005, 0.005, 0.0]);
        let backlog: Vec<(f64, f64)> =
            links[0].iter().map(|r| (r.backlog_packets, r.backlog_bytes)).collect();
        assert_eq!(backlog[..4], [(0.5, 500.0), (1.0, 1000.0), (0.5, 500.0), (0.0, 0.0)]);
    }

    /// A billion packets are some 2^54 units, of which a sum of 64 bits has room for 549.
    #[test]
    fn windows_of_a_billion_packets_add_up_for_thousands_of_connections() {
        let mut ledger = Ledger::new(grid(Span::from_s(1), Span::ZERO, 1, 1), 1, 1);
        for _ in 0..2000 {
            ledger.integrate_window(0, 1e9, 1e9, at(2), at(998));
        }
        let Record { flows, .. } = ledger.close("sim", Vec::new());
        for (bin, row) in flows[0].iter().enumerate() {
            if (2..998).contains(&bin) {
                assert_eq!((row.cwnd_packets, row.ssthresh_packets), (2e12, 2e12), "bin {bin}");
            } else {
                assert!(row.cwnd_packets == 0.0 && row.ssthresh_packets.is_nan(), "bin {bin}");
            }
        }
    }

    /// One connection shows its window from 0 to 4 ms, the other from 2 to 3 ms does not: the bin of 2 ms has no number.
    #[test]
    fn a_window_that_is_not_shown_is_missing_and_not_zero() {
        let mut ledger = Ledger::new(grid(Span::from_s(1), Span::ZERO, 1, 1), 1, 1);
        ledger.integrate_window(0, 5.0, 3.0, at(0), at(4));
        let mut recorded_window = RecordedWindow::default();
        ledger.window(0, &mut recorded_window, UNKNOWN_WINDOW, at(2));
        ledger.window(0, &mut recorded_window, NO_WINDOW, at(3));
        let Record { flows, .. } = ledger.close("sim", Vec::new());
        let cwnd: Vec<f64> = flows[0][..5].iter().map(|row| row.cwnd_packets).collect();
        assert_eq!(format!("{cwnd:?}"), "[5.0, 5.0, NaN, 5.0, 0.0]");
        let ssthresh: Vec<f64> = flows[0][..5].iter().map(|row| row.ssthresh_packets).collect();
        assert_eq!(format!("{ssthresh:?}"), "[3.0, 3.0, NaN, 3.0, NaN]");
    }

    #[test]
    fn another_controller_keeps_the_gauges_that_it_has_too() {
        let gauge = |name| Gauge { name, unit: "", help: "" };
        let mut ledger = Ledger::new(grid(Span::from_s(1), Span::ZERO, 1, 1), 1, 1);
        ledger.flow_gauges(0).extend([1.0, 2.0, 3.0, 4.0]);
        ledger.change_gauges(0, &[gauge("a"), gauge("b")], &[gauge("b"), gauge("c")], 2);
        let now = format!("{:?}", ledger.flow_gauges(0));
        assert_eq!(now, "[2.0, NaN, 4.0, NaN]");
        ledger.change_gauges(0, &[gauge("b"), gauge("c")], &[], 2);
        assert!(ledger.flow_gauges(0).is_empty());
    }

    /// A drop is the first thing that happens after the warm-up of 1 s.
    #[test]
    fn delays_are_those_of_the_packets_that_left_in_the_measured_time() {
        let mut ledger = Ledger::new(grid(Span::from_s(3), Span::from_s(1), 1, 1), 1, 1);
        for ms in [400, 500, 600, 700, 800] {
            ledger.enqueued(0, 1000, at(ms));
        }
        depart(&mut ledger, at(500), Span::from_ms(1));
        ledger.dropped(0, 1000, at(500), at(1000));
        for ms in [1001, 1002, 1500] {
            depart(&mut ledger, at(ms), Span::from_us(100));
        }
        let Record { delays, .. } = ledger.close("sim", Vec::new());
        assert_eq!(delays[0].iter().map(|row| row.packets).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn what_happens_at_the_end_or_later_is_not_booked() {
        let mut ledger = Ledger::new(grid(Span::from_s(1), Span::ZERO, 1, 1), 1, 1);
        ledger.sent(0, 1, false, at(1000));
        ledger.delivered(0, 960, 1, 960, at(1500));
        ledger.enqueued(0, 1000, at(999));
        depart(&mut ledger, at(2000), Span::from_ms(1));
        let Record { flows, links, packets, .. } = ledger.close("sim", Vec::new());
        assert!(flows[0].iter().all(|r| r.sent == 0 && r.delivered_bytes == 0) && packets == 0);
        assert_eq!(links[0].iter().map(|r| r.busy_s).sum::<f64>(), 0.0);
        // It stood in the queue for the last of 1000 bins of 1 ms.
        assert_eq!(links[0].iter().map(|r| r.backlog_packets).sum::<f64>(), 1.0);
    }
}

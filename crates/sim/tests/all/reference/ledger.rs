//! The ledger: a list of all that happened, sorted into bins when the run is over.

use std::collections::BTreeMap;

use fairhaul_cc::Window;
use fairhaul_experiment::{DelayRow, EventRow, FlowRow, Grid, Limit, LinkRow, Record, Scenario, TransferRow};
use fairhaul_path::LinkSpec;
use fairhaul_units::{Span, Time};

use super::host::Host;
use super::link::Link;

/// One thing that happened. A flow's means are sums of fractions, so the order of the list is part
/// of the record: it is the order of the clock.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    /// A data packet left its sender, or a train of so many.
    Sent { flow: u32, packets: u8, retransmitted: bool },
    /// A data packet reached its receiver.
    Delivered { flow: u32, payload: u64, in_order: u64, fresh: u8 },
    /// A data packet that was sent then was dropped.
    Lost { flow: u32, sent: Time },
    /// A link made two of a data packet that was sent then.
    Copied { flow: u32, sent: Time },
    /// The slowest link on the path of a flow sent a packet with this payload, from then until now.
    Carried { flow: u32, link: usize, payload: u64, began: Time },
    /// An acknowledgement reached its sender.
    Sampled { flow: u32, rtt: Span, one_way: Span },
    /// The window was this until now.
    Window { flow: u32, window: Window, since: Time },
    /// A row of the table of events.
    Event { flow: u32, kind: &'static str, value: f64 },
    /// A packet was offered to a link.
    Offered { link: usize, refused: bool },
    /// The queue of a link marked a packet that was offered then.
    Marked { link: usize, offered: Time },
    /// A link dropped a packet that it had accepted, and that was offered then.
    DroppedAfterQueue { link: usize, offered: Time },
    /// A link sent a packet from then until now.
    Occupied { link: usize, began: Time },
    /// A packet has left a link, and took so long until then.
    Left { link: usize, delay: Span },
    /// That kept a connection back from then until now.
    Limited { flow: u32, limit: Limit, since: Time },
    /// The backlog of a link until now.
    Backlog { link: usize, packets: u64, bytes: u64, since: Time },
}

/// See the module.
pub struct Ledger {
    grid: Grid,
    /// Edges of the bins, the end of the run last.
    edges: Vec<Time>,
    facts: Vec<(Time, Fact)>,
    /// The gauges of the queues, by link.
    gauges: Vec<Vec<f64>>,
    /// How many gauges the controller of each flow has, and what they showed.
    flow_gauges: Vec<(usize, Vec<f64>)>,
    /// How many starts of bins the clock has passed.
    bin_starts: usize,
    flows: usize,
    /// The link on whose account the payload of each flow is kept.
    slowest: Vec<Option<u32>>,
    /// The rate of each link from when on, in bits per second, and after which time that begins again.
    rates: Vec<Rates>,
    /// Whether the rate of a link changes, so that what links send is integrated.
    rates_change: bool,
}

/// From when on a link has which rate, in bits per second, and after which time that begins again.
type Rates = (Vec<(u64, u64)>, Option<u64>);

/// Sums over the time of a flow's bin, of windows in 2^24ths of a packet times picoseconds.
#[derive(Clone, Copy, Default)]
struct Windows {
    cwnd: i128,
    ssthresh: i128,
    endless: bool,
}

/// Sums over the time of a link's bin, in picoseconds.
#[derive(Clone, Copy, Default)]
struct Integrals {
    busy: u128,
    packets: u128,
    bytes: u128,
    /// Bits per second times picoseconds.
    work: u128,
}

/// The tables while they are filled.
struct Tables {
    flows: Vec<Vec<(FlowRow, Windows)>>,
    links: Vec<Vec<(LinkRow, Integrals)>>,
    /// How often which delay was, by link.
    delays: Vec<BTreeMap<u64, u64>>,
    /// Picoseconds.
    limits: Vec<[u64; Limit::WORDS.len()]>,
    events: Vec<EventRow>,
    packets: u64,
}

impl Ledger {
    pub fn new(scenario: &Scenario) -> Ledger {
        let grid = scenario.grid();
        let mut edges = vec![Time::ZERO];
        let mut edge = Time::ZERO + grid.first;
        while edge < grid.end {
            edges.push(edge);
            edge += grid.tick;
        }
        edges.push(grid.end);
        Ledger {
            grid,
            edges,
            facts: Vec::new(),
            gauges: vec![Vec::new(); scenario.links.len()],
            flow_gauges: scenario.flows.iter().map(|flow| (flow.gauges().len(), Vec::new())).collect(),
            bin_starts: 0,
            flows: scenario.flows.len(),
            slowest: scenario.bottlenecks(),
            rates: scenario.links.iter().map(rates).collect(),
            rates_change: scenario.links.iter().any(|link| link.schedule.rates.is_some()),
        }
    }

    pub fn end(&self) -> Time {
        self.grid.end
    }

    /// Before the clock advances to `now`: reads the gauges of links and flows at every start of a bin until then.
    pub fn read_gauges(&mut self, links: &[Link], hosts: &[Option<Host>], now: Time) {
        while self.bin_starts < self.edges.len() - 1 && self.edges[self.bin_starts] <= now {
            self.gauges.iter_mut().zip(links).for_each(|(gauges, link)| gauges.extend(link.gauges()));
            for (flow, (count, values)) in self.flow_gauges.iter_mut().enumerate() {
                let open = hosts.iter().flatten().filter(|host| host.flow() == flow as u32 && host.is_open());
                let newest = open.max_by_key(|host| host.age()).filter(|_| *count > 0);
                values.extend(newest.map_or(vec![f64::NAN; *count], Host::gauges));
            }
            self.bin_starts += 1;
        }
    }

    pub fn note(&mut self, time: Time, fact: Fact) {
        self.facts.push((time, fact));
    }

    /// Sorts everything into bins.
    pub fn close(self, transfers: Vec<TransferRow>) -> Record {
        let bins = self.edges.len() - 1;
        let mut tables = Tables {
            flows: vec![vec![Default::default(); bins]; self.flows],
            links: vec![vec![Default::default(); bins]; self.rates.len()],
            delays: vec![BTreeMap::new(); self.rates.len()],
            limits: vec![Default::default(); self.flows],
            events: Vec::new(),
            packets: 0,
        };
        for &(time, fact) in &self.facts {
            match fact {
                Fact::Window { .. } | Fact::Backlog { .. } | Fact::Carried { .. } | Fact::Occupied { .. } => {
                    self.add_level(time, fact, &mut tables)
                }
                Fact::Limited { flow, limit, since } => {
                    let within = |time: Time| time.max(self.grid.measured).min(self.end());
                    tables.limits[flow as usize][limit as usize] += (within(time) - within(since)).as_ps();
                }
                _ if time < self.end() => self.add_count(time, fact, &mut tables),
                _ => {} // a packet that a sender would have let go after the end
            }
        }
        let length = |edge: &[Time]| (edge[1] - edge[0]).as_ps() as f64;
        let lengths: Vec<f64> = self.edges.windows(2).map(length).collect();
        let mean_flow = |rows: Vec<_>| rows.into_iter().zip(&lengths).map(flow_means).collect();
        let mean_link = |rows: Vec<_>| rows.into_iter().zip(&lengths).map(link_means).collect();
        tables.events.sort_by(|a, b| {
            let key = |e: &EventRow| (e.t_s.to_bits(), e.flow, e.kind, e.value.to_bits());
            key(a).cmp(&key(b)) // none is negative
        });
        Record {
            engine: "sim",
            grid: self.grid,
            flows: tables.flows.into_iter().map(mean_flow).collect(),
            links: tables.links.into_iter().map(mean_link).collect(),
            gauges: self.gauges,
            flow_gauges: self.flow_gauges.into_iter().map(|(_, values)| values).collect(),
            delays: tables.delays.iter().map(buckets).collect(),
            limits: tables.limits.into_iter().map(|times| times.map(|ps| ps as f64 * 1e-12)).collect(),
            transfers,
            events: tables.events,
            closures: Vec::new(),
            packets: tables.packets,
        }
    }

    /// A link sends all packets of a burst, with that payload each, the first from `began` to `departs`.
    pub fn crossed_by_burst(
        &mut self,
        flow: u32,
        link: usize,
        (payload, packets): (u64, u8),
        began: Time,
        departs: Time,
    ) {
        let (packets, on_wire) = (u64::from(packets), departs - began);
        let last = departs + on_wire * (packets - 1);
        if self.bin(began) == self.bin(last) {
            return self.crossed(flow, link, payload * packets, began, last);
        }
        for place in 0..packets {
            let later = on_wire * place;
            self.crossed(flow, link, payload, began + later, departs + later);
        }
    }

    /// A link sends a packet of a flow.
    pub fn crossed(&mut self, flow: u32, link: usize, payload: u64, began: Time, departs: Time) {
        if self.slowest[flow as usize] == Some(link as u32) && departs != Time::NEVER {
            self.note(departs, Fact::Carried { flow, link, payload, began });
        }
    }

    /// What a link can do from `from` to `to`, in bits per second times picoseconds, piece by piece.
    fn work(&self, link: usize, from: Time, to: Time) -> u128 {
        let (steps, lap) = &self.rates[link];
        let (mut at, mut work) = (from.as_ps(), 0);
        while at < to.as_ps() {
            let bin_starts = lap.map_or(0, |lap| at / lap * lap);
            let (_, bps) =
                *steps.iter().rev().find(|step| bin_starts + step.0 <= at).expect("one is at zero");
            let next = steps.iter().map(|step| bin_starts + step.0).find(|&from| from > at);
            let ends = next.or(lap.map(|lap| bin_starts + lap)).unwrap_or(u64::MAX).min(to.as_ps());
            work += u128::from(bps) * u128::from(ends - at);
            at = ends;
        }
        work
    }

    fn bin(&self, time: Time) -> usize {
        self.edges.partition_point(|&edge| edge <= time) - 1
    }

    /// The bins that `from..to` overlaps, each with the length of the overlap.
    fn parts(&self, from: Time, to: Time) -> Vec<(usize, Span)> {
        let mut parts = Vec::new();
        let mut from = from;
        while from < to && from < self.end() {
            let bin = self.bin(from);
            let until = self.edges[bin + 1].min(to);
            parts.push((bin, until - from));
            from = until;
        }
        parts
    }

    fn add_count(&self, time: Time, fact: Fact, tables: &mut Tables) {
        let bin = self.bin(time);
        match fact {
            Fact::Sent { flow, packets, retransmitted } => {
                let row = &mut tables.flows[flow as usize][bin].0;
                row.sent += u64::from(packets);
                row.retransmitted += u64::from(retransmitted);
            }
            Fact::Delivered { flow, payload, in_order, fresh } => {
                let row = &mut tables.flows[flow as usize][bin].0;
                row.delivered_bytes += payload;
                row.goodput_bytes += in_order;
                tables.packets += u64::from(fresh);
            }
            Fact::Lost { flow, sent } => tables.flows[flow as usize][self.bin(sent)].0.lost += 1,
            Fact::Copied { flow, sent } => tables.flows[flow as usize][self.bin(sent)].0.copied += 1,
            Fact::Sampled { flow, rtt, one_way } => {
                let row = &mut tables.flows[flow as usize][bin].0;
                row.rtt_s += rtt.as_ps() as f64;
                row.one_way_s += one_way.as_ps() as f64;
                row.rtt_samples += 1;
            }
            Fact::Event { flow, kind, value } => {
                tables.events.push(EventRow { t_s: time.as_secs(), kind, flow, value });
            }
            Fact::Offered { link, refused } => {
                let row = &mut tables.links[link][bin].0;
                row.arrived += 1;
                row.dropped += u64::from(refused);
            }
            Fact::Marked { link, offered } => tables.links[link][self.bin(offered)].0.marked += 1,
            Fact::DroppedAfterQueue { link, offered } => tables.links[link][self.bin(offered)].0.dropped += 1,
            Fact::Left { link, delay } => {
                if time >= self.grid.measured {
                    *tables.delays[link].entry(delay.as_ps()).or_default() += 1;
                }
            }
            Fact::Window { .. }
            | Fact::Backlog { .. }
            | Fact::Carried { .. }
            | Fact::Occupied { .. }
            | Fact::Limited { .. } => unreachable!("these last"),
        }
    }

    fn add_level(&self, until: Time, fact: Fact, tables: &mut Tables) {
        match fact {
            Fact::Window { flow, window, since } => {
                for (bin, part) in self.parts(since, until) {
                    let row = &mut tables.flows[flow as usize][bin].1;
                    let part = i128::from(part.as_ps());
                    row.cwnd += (window.cwnd * 16_777_216.0) as i128 * part;
                    if window.ssthresh.is_finite() {
                        row.ssthresh += (window.ssthresh * 16_777_216.0) as i128 * part;
                    } else {
                        row.endless = true;
                    }
                }
            }
            Fact::Backlog { link, packets, bytes, since } => {
                for (bin, part) in self.parts(since, until) {
                    let part = u128::from(part.as_ps());
                    let integrals = &mut tables.links[link][bin].1;
                    integrals.packets += part * u128::from(packets);
                    integrals.bytes += part * u128::from(bytes);
                }
            }
            Fact::Occupied { link, began } => {
                let Some(rows) = tables.links.get_mut(link) else { return }; // a wire of a connection's own
                let mut from = began;
                for (bin, part) in self.parts(began, until) {
                    rows[bin].1.busy += u128::from(part.as_ps());
                    if self.rates_change {
                        rows[bin].1.work += self.work(link, from, from + part);
                    }
                    from += part;
                }
            }
            Fact::Carried { flow, link, payload, began } => {
                let (mut from, whole) = (began, self.work(link, began, until) as f64);
                for (bin, part) in self.parts(began, until) {
                    let share = self.work(link, from, from + part) as f64 / whole;
                    tables.flows[flow as usize][bin].0.carried_bytes += payload as f64 * share;
                    from += part;
                }
            }
            _ => unreachable!("only levels last"),
        }
    }
}

/// Sorts delays into buckets, of which a doubling has 64 and each begins at a whole number of picoseconds; the first
/// has 0 and 1.
fn buckets(delays: &BTreeMap<u64, u64>) -> Vec<DelayRow> {
    let mut rows: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for (ps, packets) in delays {
        let mut width = 1;
        while ps / width >= 128 {
            width *= 2;
        }
        let (from, below) = if *ps < 2 { (0, 2) } else { (ps / width * width, (ps / width + 1) * width) };
        *rows.entry((from, below)).or_default() += packets;
    }
    let seconds = |ps: u64| Span::from_ps(ps).as_secs();
    let row = |((from, below), packets)| DelayRow { from_s: seconds(from), below_s: seconds(below), packets };
    rows.into_iter().map(row).collect()
}

/// See [`Ledger::rates`].
fn rates(link: &LinkSpec) -> (Vec<(u64, u64)>, Option<u64>) {
    let Some(rates) = &link.schedule.rates else { return (vec![(0, link.rate.as_bps())], None) };
    (rates.steps().map(|(at, bps)| (at.as_ps(), bps)).collect(), rates.lap().map(Span::as_ps))
}

fn flow_means(((mut row, windows), length): ((FlowRow, Windows), &f64)) -> FlowRow {
    row.cwnd_packets = windows.cwnd as f64 / 16_777_216.0 / length;
    row.ssthresh_packets = windows.ssthresh as f64 / 16_777_216.0 / length;
    if windows.endless || row.cwnd_packets == 0.0 {
        row.ssthresh_packets = f64::NAN;
    }
    row.rtt_s *= 1e-12 / row.rtt_samples as f64;
    row.one_way_s *= 1e-12 / row.rtt_samples as f64;
    row
}

fn link_means(((mut row, sums), length): ((LinkRow, Integrals), &f64)) -> LinkRow {
    row.busy_s = Span::from_ps(sums.busy as u64).as_secs();
    row.sent_bytes = sums.work as f64 / 8e12;
    row.backlog_packets = sums.packets as f64 / length;
    row.backlog_bytes = sums.bytes as f64 / length;
    row
}

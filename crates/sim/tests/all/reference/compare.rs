//! The first difference between two records.

use std::fmt::Debug;

use fairhaul_experiment::{EventRow, FlowRow, LinkRow, Record, TransferRow};

/// The first difference, in words; `None` where the records are equal bit by bit (NaN equals NaN), except for the rounding of
/// gauges. Of two bins of the series the earlier is the nearer to
/// the cause.
pub fn difference(fast: &Record, plain: &Record) -> Option<String> {
    let whole = |r: &Record| (r.engine, r.grid, r.flows.len(), r.links.len());
    let series = || {
        (0..fast.grid.len()).find_map(|bin| {
            let flow = |f: usize| {
                row_difference(&format!("flow {f}, bin {bin}"), &fast.flows[f], &plain.flows[f], bin, flow)
            };
            let link = |l: usize| {
                row_difference(&format!("link {l}, bin {bin}"), &fast.links[l], &plain.links[l], bin, link)
            };
            (0..fast.flows.len()).find_map(flow).or_else(|| (0..fast.links.len()).find_map(link))
        })
    };
    let gauges = || {
        let (fast, plain) = (&fast.gauges, &plain.gauges);
        (0..fast.len().max(plain.len())).find_map(|l| match (fast.get(l), plain.get(l)) {
            (Some(fast), Some(plain)) => {
                list_difference(&format!("gauges of link {l},"), fast, plain, |&g| Gauge(g))
            }
            pair => Some(format!("gauges of link {l}: {pair:?}")),
        })
    };
    let flow_gauges = || {
        let (fast, plain) = (&fast.flow_gauges, &plain.flow_gauges);
        let of = |f: usize| {
            list_difference(&format!("gauges of flow {f},"), &fast[f], &plain[f], |&value| bits(value))
        };
        difference_of("flows with gauges", &fast.len(), &plain.len(), |&flows| flows)
            .or_else(|| (0..fast.len()).find_map(of))
    };
    let delays = || {
        let of = |l: usize| {
            list_difference(&format!("delays of link {l},"), &fast.delays[l], &plain.delays[l], |row| {
                (bits(row.from_s), bits(row.below_s), row.packets)
            })
        };
        difference_of("links with delays", &fast.delays.len(), &plain.delays.len(), |&links| links)
            .or_else(|| (0..fast.delays.len()).find_map(of))
    };
    let rest = || {
        list_difference("event", &fast.events, &plain.events, event)
            .or_else(|| list_difference("transfer", &fast.transfers, &plain.transfers, transfer))
            .or_else(|| {
                list_difference("limits of flow", &fast.limits, &plain.limits, |times| times.map(bits))
            })
            .or_else(|| difference_of("packets", &fast.packets, &plain.packets, |&n| n))
    };
    difference_of("shape", &whole(fast), &whole(plain), |&shape| shape)
        .or_else(series)
        .or_else(gauges)
        .or_else(flow_gauges)
        .or_else(delays)
        .or_else(rest)
}

/// The difference of two lists, if any.
fn list_difference<T: Debug, K: PartialEq>(
    name: &str,
    fast: &[T],
    plain: &[T],
    key: impl Fn(&T) -> K,
) -> Option<String> {
    let rows = fast.len().max(plain.len());
    (0..rows).find_map(|row| row_difference(&format!("{name} {row}"), fast, plain, row, &key))
}

fn row_difference<T: Debug, K: PartialEq>(
    name: &str,
    fast: &[T],
    plain: &[T],
    row: usize,
    key: impl Fn(&T) -> K,
) -> Option<String> {
    difference_of(name, &fast.get(row), &plain.get(row), |row| row.map(&key))
}

fn difference_of<T: Debug, K: PartialEq>(
    name: &str,
    fast: &T,
    plain: &T,
    key: impl Fn(&T) -> K,
) -> Option<String> {
    (key(fast) != key(plain)).then(|| format!("{name}:\n  fast  {fast:?}\n  plain {plain:?}"))
}

/// A reading of a gauge. `xcp_tcp` multiplies its drop probability by a power after a silence, and the plain engine
/// by one factor after the other, so the last digits may differ.
#[derive(Clone, Copy)]
struct Gauge(f64);

impl PartialEq for Gauge {
    fn eq(&self, other: &Gauge) -> bool {
        let close = (self.0 - other.0).abs() <= 1e-12 * self.0.abs();
        close || bits(self.0) == bits(other.0)
    }
}

/// The bits of a number, the same for all that are none.
fn bits(value: f64) -> u64 {
    if value.is_nan() { u64::MAX } else { value.to_bits() }
}

fn flow(row: &FlowRow) -> [u64; 12] {
    [
        row.delivered_bytes,
        row.goodput_bytes,
        bits(row.carried_bytes),
        row.sent,
        row.retransmitted,
        row.copied,
        row.lost,
        bits(row.cwnd_packets),
        bits(row.ssthresh_packets),
        bits(row.rtt_s),
        bits(row.one_way_s),
        row.rtt_samples,
    ]
}

fn link(row: &LinkRow) -> [u64; 7] {
    let backlog = [bits(row.backlog_packets), bits(row.backlog_bytes)];
    [bits(row.busy_s), row.arrived, row.dropped, row.marked, backlog[0], backlog[1], bits(row.sent_bytes)]
}

fn event(row: &EventRow) -> (u64, &'static str, u32, u64) {
    (bits(row.t_s), row.kind, row.flow, bits(row.value))
}

fn transfer(row: &TransferRow) -> (u32, u64, u64, u64) {
    (row.flow, bits(row.start_s), bits(row.end_s), row.bytes)
}

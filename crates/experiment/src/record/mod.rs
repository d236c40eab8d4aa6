//! The record of a run: plain columns, the same from every engine.
//!
//! Counters are binned by the time of their own event, and what became of a packet by the time at which that
//! packet was sent or offered; levels are integrals over a bin divided by
//! its length. Bins have the length of the tick and an edge at the end of the warm-up, so that
//! figures over [warmup, duration] need no bin to be split.

pub(crate) mod describe;
mod describe_hosts;
mod describe_sender;
pub(crate) mod ledger;
pub(crate) mod outlet;
pub(crate) mod packet_trace;
pub(crate) mod tables;

use fairhaul_units::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::json;

/// One of a few words; under a name of its own, since `serde` takes a plain reference for a part of the text
/// that it reads.
type Name = &'static str;

/// The bins of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    /// Length of a bin; the first and the last may be shorter.
    #[serde(with = "json::span")]
    pub tick: Span,
    /// Length of the first bin.
    #[serde(with = "json::span")]
    pub first: Span,
    /// From when on figures are taken: the end of the warm-up.
    #[serde(with = "json::time", default)]
    pub measured: Time,
    /// End of the run.
    #[serde(with = "json::time")]
    pub end: Time,
}

/// One flow during one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRow {
    /// Payload that arrived, new or not, bytes.
    pub delivered_bytes: u64,
    /// New payload in order, bytes.
    pub goodput_bytes: u64,
    /// Payload that the slowest link on the path of its data has sent, bytes; of a packet that is sent over the
    /// edge of a bin a part in each. Zero where there is no link.
    pub carried_bytes: f64,
    /// Data packets sent.
    pub sent: u64,
    /// Retransmitted data packets.
    pub retransmitted: u64,
    /// Copies that links made of the data packets sent in this bin.
    pub copied: u64,
    /// Of the data packets sent in this bin, and their copies, those dropped at any stage, whenever that was.
    pub lost: u64,
    /// Mean over time, packets; zero while no connection is open, not a number where an open one does not show it.
    #[serde(with = "json::maybe")]
    pub cwnd_packets: f64,
    /// Mean over time, packets; not a number where it was infinite or no connection was open.
    #[serde(with = "json::maybe")]
    pub ssthresh_packets: f64,
    /// Mean over samples, seconds; not a number without one.
    #[serde(with = "json::maybe")]
    pub rtt_s: f64,
    /// Mean over samples, seconds; not a number without one.
    #[serde(with = "json::maybe")]
    pub one_way_s: f64,
    /// Samples behind the two means.
    pub rtt_samples: u64,
}

/// One direction of a link during one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkRow {
    /// Time with a packet to send, seconds: spent sending, except for outages.
    pub busy_s: f64,
    /// Packets offered.
    pub arrived: u64,
    /// The packets offered in this bin that the queue dropped or that were lost behind it, at any time.
    pub dropped: u64,
    /// The packets offered in this bin that the queue marked.
    pub marked: u64,
    /// Mean over time.
    pub backlog_packets: f64,
    /// Mean over time.
    pub backlog_bytes: f64,
    /// What the link could send while it sent: the bytes that left, each at its time; counted only where the
    /// rate of some link changes.
    pub sent_bytes: f64,
}

/// How many packets took that long from when they were offered to a link until their last bit had left it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DelayRow {
    /// They took at least this, seconds.
    pub from_s: f64,
    /// And less than this, which is at most a 64th more, seconds.
    pub below_s: f64,
    /// How many.
    pub packets: u64,
}

/// What keeps a sender from sending more than it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The congestion window, or the pacing of its controller or host.
    CongestionWindow,
    /// The upper bound of its pacing rate.
    PacingCap,
    /// What the receiver can store, or `max_window`.
    ReceiveWindow,
    /// What the sending socket can store.
    SendBuffer,
    /// The application has no more to send.
    Application,
}

impl Limit {
    /// As readers know them, in the order of the variants.
    pub const WORDS: [&str; 5] =
        ["congestion window", "pacing cap", "receive window", "send buffer", "application"];
}

/// A transfer from its first request to its last acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransferRow {
    /// Index of the flow.
    pub flow: u32,
    /// When its sender opened the connection, seconds.
    pub start_s: f64,
    /// When all of it had been acknowledged, seconds; not a number while unfinished.
    #[serde(with = "json::maybe")]
    pub end_s: f64,
    /// Payload delivered in order, bytes.
    pub bytes: u64,
}

/// Something that happened to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRow {
    /// When, seconds.
    pub t_s: f64,
    /// `"reduction"` (a loss event; value: the window after it), `"marked"` (a reduction that the
    /// echo of a mark caused; the same value), `"timeout"` (value: the retransmission timeout,
    /// seconds), `"recovered"` (what was outstanding when a packet was found lost or the timer
    /// ran out is acknowledged; value: the window) `"undone"` (nothing was lost, and the window
    /// is again what it was; value: when the first of the reductions and timeouts was that this
    /// takes back, seconds), `"mode"` (the controller does something else from now on; value:
    /// the number that its page explains), `"closed"` (the transport stack of the flow has closed
    /// the connection before its end) or `"spurious"` (a retransmission of a transport stack, all
    /// bytes of which had arrived before, is at the receiver; only of stacks whose packets are
    /// those of TCP).
    #[serde(deserialize_with = "json::kind")]
    pub kind: Name,
    /// Index of the flow.
    pub flow: u32,
    /// See `kind`.
    pub value: f64,
}

/// Why a transport stack has closed a connection before its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Closure {
    /// When, seconds.
    pub t_s: f64,
    /// Index of the flow.
    pub flow: u32,
    /// In the words of the stack; empty if it has none.
    pub reason: String,
}

/// The answer of an engine to a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// `"sim"`, `"linux"` or `"lab"`.
    #[serde(deserialize_with = "json::engine")]
    pub engine: Name,
    /// The bins.
    pub grid: Grid,
    /// `flows[f][bin]`.
    pub flows: Vec<Vec<FlowRow>>,
    /// `links[l][bin]`.
    pub links: Vec<Vec<LinkRow>>,
    /// `gauges[l]`: the gauges of the queue of a link at the start of every bin, before anything
    /// happens then: bin by bin, the gauges of its entry in their order.
    #[serde(with = "json::gauges")]
    pub gauges: Vec<Vec<f64>>,
    /// `flow_gauges[f]`: the gauges of the controller of a flow, in the same way: that of its newest open
    /// connection, not a number where none is open. Empty where an engine does not know it.
    #[serde(with = "json::gauges", default)]
    pub flow_gauges: Vec<Vec<f64>>,
    /// `delays[l]`: the delays of the packets that left link `l` in the measured time, ascending. Empty with more than
    /// a thousand links.
    #[serde(default)]
    pub delays: Vec<Vec<DelayRow>>,
    /// `limits[f]`: how long each [`Limit`] has kept flow `f` back in the measured time, in their order, seconds; of
    /// several connections the sum.
    #[serde(default)]
    pub limits: Vec<[f64; Limit::WORDS.len()]>,
    /// By flow, then start.
    pub transfers: Vec<TransferRow>,
    /// By time, then flow.
    pub events: Vec<EventRow>,
    /// Connections that transport stacks have closed, by time.
    #[serde(default)]
    pub closures: Vec<Closure>,
    /// Distinct data packets delivered in the whole run.
    pub packets: u64,
}

impl Record {
    /// The record as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a record has no keys but strings")
    }

    /// The record that [`to_json`](Self::to_json) wrote; the error says what is wrong with the text.
    pub fn from_json(text: &[u8]) -> Result<Record, String> {
        serde_json::from_slice(text).map_err(|error| error.to_string())
    }
}

impl Grid {
    /// How many bins there are.
    pub fn len(&self) -> usize {
        self.bin(Time::from_ps(self.end.as_ps() - 1)) + 1
    }

    /// Whether there is no bin; never, since a run has a length.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The bin that holds `time`.
    pub fn bin(&self, time: Time) -> usize {
        match time.since(Time::ZERO + self.first) {
            _ if time < Time::ZERO + self.first => 0,
            past => (past / self.tick) as usize + 1,
        }
    }

    /// Where bin number `bin` starts; the end of the run for the number after the last.
    pub fn start(&self, bin: usize) -> Time {
        if bin == 0 {
            return Time::ZERO;
        }
        (Time::ZERO + self.first + self.tick * (bin as u64 - 1)).min(self.end)
    }

    /// The parts of `from..until` that lie in one bin each, up to the end of the run: the bin, and from when to
    /// when.
    pub fn parts(self, mut from: Time, until: Time) -> impl Iterator<Item = (usize, Time, Time)> {
        let until = until.min(self.end);
        std::iter::from_fn(move || {
            (from < until).then(|| {
                let bin = self.bin(from);
                let to = self.start(bin + 1).min(until);
                (bin, std::mem::replace(&mut from, to), to)
            })
        })
    }
}

/// The bins for a run of `duration` with `flows` flows and `links` links: 0.1 s, or a tenth of a per cent of
/// the run where that is less, unless that makes more than 250 000 rows of flows or of links (20 MB); above 1000
/// flows one bin for the warm-up and one for the rest.
pub fn grid(duration: Span, warmup: Span, flows: usize, links: usize) -> Grid {
    const MOST_ROWS: u64 = 250_000;
    let (measured, end) = (Time::ZERO + warmup, Time::ZERO + duration);
    if flows > 1000 {
        let tick = end - measured;
        let first = if warmup.is_zero() { tick } else { warmup };
        return Grid { tick, first, measured, end };
    }
    let most_bins = (MOST_ROWS / flows.max(links).max(1) as u64).saturating_sub(2).max(1);
    let least = Span::from_ps(duration.as_ps().div_ceil(most_bins));
    let tick = Span::from_ms(100).min(duration / 1000).max(least).max(Span::from_ps(1));
    let first = if (warmup % tick).is_zero() { tick.min(duration) } else { warmup % tick };
    Grid { tick, first, measured, end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_ends_where_the_warm_up_does() {
        let grid = grid(Span::from_s(600), Span::from_ms(100_050), 3, 1);
        let bin = grid.bin(Time::ZERO + Span::from_ms(100_050));
        assert_eq!(grid.start(bin), Time::ZERO + Span::from_ms(100_050));
        assert_eq!(grid.len(), 6001);
        assert_eq!(grid.start(grid.len()), grid.end);
    }

    #[test]
    fn a_thousand_flows_widen_the_tick_and_more_are_totals() {
        let wide = grid(Span::from_s(600), Span::from_s(100), 1000, 1);
        assert!(wide.len() <= 250 && wide.len() > 200);
        let totals = grid(Span::from_s(600), Span::from_s(100), 1001, 1);
        assert_eq!((totals.len(), totals.start(1)), (2, Time::ZERO + Span::from_s(100)));
    }

    #[test]
    fn rows_of_links_are_bounded_as_those_of_flows_are() {
        let day = |flows, links| grid(Span::from_s(86_400), Span::ZERO, flows, links).len();
        assert!(day(1, 1) > 200_000);
        assert!((12_000..=15_625).contains(&day(1, 16)), "{}", day(1, 16));
        assert_eq!(day(1, 16), day(16, 1));
        assert_eq!(day(1, 300_000), 1);
    }

    #[test]
    fn a_record_arrives_as_it_was_sent() {
        let record = Record {
            engine: "lab",
            grid: grid(Span::from_s(1), Span::from_ms(300), 1, 1),
            flows: vec![vec![FlowRow { sent: 7, rtt_s: f64::NAN, cwnd_packets: 0.1, ..FlowRow::default() }]],
            links: vec![vec![LinkRow { busy_s: 1.0 / 3.0, ..LinkRow::default() }]],
            gauges: vec![vec![0.25, f64::NAN]],
            flow_gauges: vec![vec![f64::NAN, 0.1]],
            delays: vec![vec![DelayRow { from_s: 0.1, below_s: 0.101, packets: 3 }]],
            limits: vec![[0.0, 0.25, 1.0 / 3.0, 0.0, 0.1]],
            transfers: vec![TransferRow { flow: 0, start_s: 0.125, end_s: f64::NAN, bytes: u64::MAX }],
            events: vec![EventRow { t_s: 0.7, kind: "timeout", flow: 0, value: 0.2 }],
            closures: vec![Closure { t_s: 0.8, flow: 0, reason: "too many gaps".into() }],
            packets: 7,
        };
        let back = Record::from_json(&record.to_json()).unwrap();
        // What is not a number equals nothing, so the texts are compared.
        assert_eq!(format!("{back:?}"), format!("{record:?}"));
    }

    /// The records of the lab, and those of earlier versions.
    #[test]
    fn a_record_without_what_came_later_is_read() {
        let empty = r#"{"engine":"lab","grid":{"tick":1,"first":1,"end":1},"flows":[[]],"links":[],"gauges":[],
            "transfers":[],"events":[],"packets":0}"#;
        let record = Record::from_json(empty.as_bytes()).unwrap();
        assert!(record.flow_gauges.is_empty() && record.delays.is_empty() && record.limits.is_empty());
    }

    #[test]
    fn a_word_that_is_none_is_an_error() {
        let text = r#"{"t_s":0.0,"kind":"luck","flow":0,"value":0.0}"#;
        let error = serde_json::from_str::<EventRow>(text).unwrap_err();
        assert!(error.to_string().contains("no such word: \"luck\""));
    }
}
